"""Run the work of a GPU without one: tensors of the meta device stand for those of a GPU.

They have shapes and no numbers, so only what is computed can be checked, not its result.
"""

import traceback
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

PACKAGE = Path(__file__).parents[1] / "qse"
COPIES = ("copy_", "_to_copy")
# operators that return numbers, or as many as there are, for which a CPU waits
READS = ("_local_scalar_dense", "equal", "is_nonzero", "nonzero", "masked_select")
# without a kernel: they describe memory
VIEWS = (
    *("view", "_unsafe_view", "expand", "slice", "select", "unsqueeze", "squeeze", "permute"),
    *("transpose", "t", "as_strided", "detach", "alias", "split", "split_with_sizes", "narrow"),
    *("unsafe_split", "unbind", "unfold", "diagonal", "view_as_real", "view_as_complex", "_conj"),
    *("_reshape_alias", "lift_fresh"),
    *("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"),
)


class OneDevice(TorchDispatchMode):
    """Run operators, and raise AssertionError for one that mixes devices as a GPU would refuse to:
    tensors of another device with one number may meet."""

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        devices = set()
        for leaf in tree_leaves((args, kwargs)):
            if isinstance(leaf, Tensor) and leaf.ndim:
                devices.add(leaf.device.type)
        copies = operator.overloadpacket.__name__ in COPIES
        assert copies or len(devices) < 2, f"{operator}: {sorted(devices)}"
        return operator(*args, **(kwargs or {}))


class Accelerator(OneDevice):
    """Count what a step asks of a GPU: kernels, reads for which the CPU waits, and copies to the
    GPU, by the line of qse that asks for them. Numbers that are read are 1.

    Values are the counts; `waits`: the reads and the copies that the CPU waits for.
    """

    def __init__(self):
        super().__init__()
        self.kernels = 0
        self.reads = Counter()
        self.copies = Counter()
        self.blocking = Counter()

    @property
    def waits(self) -> Counter:
        return self.reads + self.blocking

    def __enter__(self):
        self._autocast = torch.autocast
        torch.autocast = self._autocast_but_here
        return super().__enter__()

    def __exit__(self, *error):
        torch.autocast = self._autocast
        return super().__exit__(*error)

    def _autocast_but_here(self, device, *args, **kwargs):
        """The meta device has no autocast."""
        return nullcontext() if device == "meta" else self._autocast(device, *args, **kwargs)

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = operator.overloadpacket.__name__
        devices = set()
        for leaf in tree_leaves((args, kwargs)):
            if isinstance(leaf, Tensor):
                devices.add(leaf.device.type)
        if "meta" not in devices and str(kwargs.get("device", "cpu")) != "meta":
            return super().__torch_dispatch__(operator, types, args, kwargs)
        if name in READS:
            self.reads[_line()] += 1
            return 1.0 if name == "_local_scalar_dense" else True
        if name in COPIES:
            return self._copy(operator, args, kwargs)
        self.kernels += name not in VIEWS
        return super().__torch_dispatch__(operator, types, args, kwargs)

    def _copy(self, operator, args, kwargs):
        to_new = operator.overloadpacket.__name__ == "_to_copy"
        source = args[0] if to_new else args[1]
        device = args[0].device.type
        if to_new:
            device = torch.device(kwargs.get("device") or device).type
        self.kernels += 1
        if device == source.device.type:
            return operator(*args, **kwargs)
        if device == "cpu":
            self.reads[_line()] += 1
            dtype = kwargs.get("dtype") or source.dtype
            return torch.ones(source.shape, dtype=dtype)
        self.copies[_line()] += 1
        if not kwargs.get("non_blocking") and source.ndim:
            self.blocking[_line()] += 1
        return operator(*args, **kwargs)


def _line() -> str:
    """Return the innermost line of qse that is running."""
    for frame in reversed(traceback.extract_stack()):
        path = Path(frame.filename)
        if path.is_relative_to(PACKAGE):
            return f"{path.relative_to(PACKAGE)}:{frame.lineno} {frame.line}"
    return "tests"
