"""Checkpoints: one safetensors file, written beside and then renamed, so that a crash never leaves half of one.

Names: `model.*` weights and buffers, `average.*` their moving average, `optimizer.<name>.<parameter>` the state of
its optimiser. The header holds the step and what the trainer wants to remember, as text.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save as serialized
from torch import Tensor, nn

from ..audio.atomic_write import atomic_path
from ..errors import QseError
from .muon import QuaternionMuon

STATE = {torch.optim.AdamW: ("step", "exp_avg", "exp_avg_sq"), QuaternionMuon: ("momentum",)}


def save(path: Path, tensors: Mapping[str, Tensor], header: Mapping[str, str]) -> None:
    """Writes `path` atomically. Raises QseError when there is no writing it: what was there before is still there."""
    try:
        held = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        with atomic_path(path) as beside:
            beside.write_bytes(serialized(held, dict(header)))  # save_file would leave it to its owner alone
    except (OSError, SafetensorError) as error:
        raise QseError(f"{path}: cannot write the checkpoint ({error}); make room or name another folder") from error


def optimizer_tensors(network: nn.Module, optimizers: Iterable[torch.optim.Optimizer]) -> dict[str, Tensor]:
    """What the optimisers remember, by parameter name, without prefix."""
    names = {id(parameter): name for name, parameter in network.named_parameters()}
    return {
        f"{key}.{names[id(parameter)]}": torch.as_tensor(value)
        for optimizer in optimizers
        for parameter, state in optimizer.state.items()
        for key, value in state.items()
    }


def restore_optimizers(
    network: nn.Module, optimizers: Iterable[torch.optim.Optimizer], tensors: Mapping[str, Tensor]
) -> None:
    """The inverse of `optimizer_tensors`; a parameter that was never updated has no state.

    What another kind of optimiser remembered of a parameter is left out: a run may change its optimiser.
    """
    parameters = dict(network.named_parameters())
    owners = {p: optimizer for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]}
    for path, value in tensors.items():
        key, name = path.split(".", 1)
        parameter = parameters[name]
        optimizer = owners[parameter]
        if key in STATE[type(optimizer)]:
            optimizer.state[parameter][key] = value if key == "step" else value.to(parameter.device)
