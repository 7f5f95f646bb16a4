"""Optimise quaternion weights with Muon: a step is the momentum with equalised singular values.

Jordan et al. 2024 ("Muon: An optimizer for hidden layers in neural networks"), with steps of the
size of Adam's (Liu et al. 2025, "Muon is scalable for LLM training", section 2.2). It works on the
real matrices of the weights (main paper, Eq. 28): sums, products and transposes keep that pattern,
so that the step is a quaternion weight again.
"""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ..nn.quaternion import gate_matrix

ROUNDS = 5
# of x, x^3, x^5: five rounds map singular values above 0.01 norm to about 1
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
SIZE = 0.2  # RMS of a step at learning rate 1


class QuaternionMuon(torch.optim.Optimizer):
    """Apply Muon to weights (4, out, in, *kernel), each as one matrix, and (gates, 4, out, in),
    each gate as one.

    Decoupled weight decay, Nesterov momentum. State: `momentum`, of the shape of the weight.
    """

    def __init__(
        self,
        weights: Iterable[nn.Parameter],
        gates: Iterable[nn.Parameter] = (),
        *,
        lr: float = 1e-3,
        momentum: float = 0.95,
        weight_decay: float = 0.01,
    ):
        groups = [{"params": list(weights), "gated": False}, {"params": list(gates), "gated": True}]
        super().__init__(groups, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            # weights of one shape are one batch, for few kernel launches
            shapes = defaultdict(list)
            for weight in group["params"]:
                if weight.grad is not None:
                    shapes[weight.shape].append(weight)
            for weights in shapes.values():
                directions = torch.stack(self._directions(weights, group["momentum"]))
                gated = directions.flatten(0, 1) if group["gated"] else directions
                steps = equalised(gated).view_as(directions).unbind()
                torch._foreach_mul_(weights, 1 - group["lr"] * group["weight_decay"])
                torch._foreach_sub_(weights, steps, alpha=group["lr"])

    def _directions(self, weights: list[nn.Parameter], momentum: float) -> list[Tensor]:
        """Update the momenta and return Nesterov's directions."""
        momenta = []
        for weight in weights:
            state = self.state[weight]
            if not state:
                state["momentum"] = torch.zeros_like(weight)
            momenta.append(state["momentum"])
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        torch._foreach_lerp_(momenta, gradients, 1 - momentum)
        return list(torch._foreach_lerp(gradients, momenta, momentum))


def equalised(weight: Tensor) -> Tensor:
    """Equalise the singular values of each of n weights, by Newton-Schulz iterations; the RMS is
    then near `SIZE`.

    (n, 4, out, in, *kernel) -> (n, 4, out, inputs of all positions): kernels count as further
    inputs. Zeros stay zeros.
    """
    weight = weight.flatten(3)
    n, _, out, into = weight.shape
    real = gate_matrix(weight).unflatten(0, (n, -1))  # n, 4 out, 4 in
    x = real.mT if out > into else real
    x = x / torch.linalg.matrix_norm(x, keepdim=True).clamp_min(1e-12)
    a, b, c = COEFFICIENTS
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    x = x.mT if out > into else x
    # the column of blocks that holds w0, w1, w2, w3 as they are
    first = x.unflatten(1, (4, out))[..., :into]
    return SIZE * max(real.shape[1:]) ** 0.5 * first
