"""Scale the loss, so that small gradients in float16 do not become zero."""

FIRST = 2.0**16
GROWS_AFTER = 2000  # steps without an overflow, after which the scale doubles


class LossScale:
    """A factor of the loss: halved when a gradient is not finite, doubled when none was for long.

    It is 1, and stays so, unless the precision is float16. steps: without an overflow.
    """

    def __init__(self, precision: str):
        self.changes = precision == "float16"
        self.value = FIRST if self.changes else 1.0
        self.steps = 0

    def update(self, finite: bool) -> None:
        """Adapt the scale after a step; finite: whether its gradient was."""
        if not self.changes:
            return
        self.steps = self.steps + 1 if finite else 0
        if not finite:
            self.value = max(1.0, self.value / 2)
        elif self.steps == GROWS_AFTER:
            self.value *= 2
            self.steps = 0

    def header(self) -> dict[str, str]:
        """Return what a checkpoint holds of this, as text."""
        if not self.changes:
            return {}
        return {"loss_scale": str(self.value), "scaled_steps": str(self.steps)}

    def restore(self, header: dict[str, str]) -> None:
        """Continue from the header of a checkpoint; one of another precision has no scale."""
        if self.changes and "loss_scale" in header:
            self.value = float(header["loss_scale"])
            self.steps = int(header["scaled_steps"])
