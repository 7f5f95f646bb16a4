"""Gradients of a loss with respect to attention scores.

Yamauchi et al. 2026, Theorem C.3, Eqs. 65-67. q, k, v and outputs O are (N, H, L, 4, d): heads,
tokens, components, quaternion channels of a head. Scores of shared-score attention are
(N, H, L, L), those of Hamilton attention (N, H, 4, L, L). `scale` multiplies both.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from .nn.hamilton import component_scores

Loss = Callable[[Tensor], Tensor]  # of the outputs O

LOSSES: dict[str, Loss] = {
    "mean_square": lambda y: y.square().mean(),
    "target": lambda y: (y - torch.randn_like(y)).square().mean(),
    "sum": lambda y: y.sum(),
}


@dataclass(frozen=True)
class ScoreGradients:
    """dL/dS by automatic differentiation, and the relative deviation of the closed form."""

    gradient: Tensor
    deviation: float


def shared_score_gradients(
    q: Tensor, k: Tensor, v: Tensor, loss: Loss, scale: float = 1.0
) -> ScoreGradients:
    """Return dL/dS of shared scores; closed form: Eq. 66, summed over the components."""
    scores = scale * q.flatten(-2) @ k.flatten(-2).mT / math.sqrt(4 * q.shape[-1])
    scores = scores.detach().requires_grad_()
    weights = scores.softmax(-1)
    output = torch.einsum("nhst,nhtcd->nhscd", weights, v)
    of_scores, of_output = torch.autograd.grad(loss(output), (scores, output))
    of_weights = torch.einsum("nhscd,nhtcd->nhst", of_output, v)  # Eq. 65: the sum over components
    return _compared(of_scores, softmax_gradient(weights, of_weights))


def component_score_gradients(
    q: Tensor, k: Tensor, v: Tensor, loss: Loss, scale: float = 1.0
) -> ScoreGradients:
    """Return dL/dS_a of Hamilton attention; closed form: Eq. 67, by its own component."""
    scores = (scale * component_scores(q, k)).detach().requires_grad_()
    weights = scores.softmax(-1)
    output = torch.einsum("nhcst,nhtcd->nhscd", weights, v)
    of_scores, of_output = torch.autograd.grad(loss(output), (scores, output))
    of_weights = torch.einsum("nhscd,nhtcd->nhcst", of_output, v)
    return _compared(of_scores, softmax_gradient(weights, of_weights))


def softmax_gradient(weights: Tensor, of_weights: Tensor) -> Tensor:
    """Return J^T g of the row-wise softmax with output `weights`, for its gradient g."""
    return weights * (of_weights - (weights * of_weights).sum(-1, keepdim=True))


def _compared(gradient: Tensor, closed_form: Tensor) -> ScoreGradients:
    difference = (gradient - closed_form.detach()).abs().max()
    deviation = difference / gradient.abs().max().clamp_min(1e-30)
    return ScoreGradients(gradient, deviation.item())
