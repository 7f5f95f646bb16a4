"""Write checkpoints: one safetensors file, renamed into place when complete, so that a crash leaves
no partial file.

Names: `model.*` weights and buffers, `average.*` their moving average,
`optimizer.<name>.<parameter>` the state of its optimiser, `carried.<share>.<path>` the states of
streams in each share of a step. The header holds numbers as text.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save as serialized
from torch import Tensor, nn

from ..audio.atomic_write import atomic_path
from ..audio.file_mode import Source
from ..errors import QseError
from ..networks import Network, weights
from .checkpoint_header import CURE, check_header
from .muon import QuaternionMuon

COPIES = 5  # of the weights, at most: themselves, their average, and what optimisers keep
STATE = {torch.optim.AdamW: ("step", "exp_avg", "exp_avg_sq"), QuaternionMuon: ("momentum",)}


def load_checkpoint(path: Path, network: Network) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read tensors and header of the checkpoint of a run of `network`.

    Raises QseError naming the file when it is missing or damaged, or holds far more numbers than
    that network, its average, its optimisers and its carried states have.
    """
    most = COPIES * network.size + weights.MOST_NUMBERS
    tensors, header = weights.load_tensors(path, most=most)
    check_header(path, header)
    names = weights.pick(tensors, "model").keys()
    updated = {name.partition(".")[2] for name in weights.pick(tensors, "optimizer")}
    if names != weights.pick(tensors, "average").keys() or updated - names:
        raise QseError(
            f"{path}: is damaged, its weights have other names than their average or optimizer; "
            f"{CURE}"
        )
    if _shapes_differ(tensors):
        raise QseError(
            f"{path}: is damaged, its weights have other shapes than their average or optimizer; "
            f"{CURE}"
        )
    return tensors, header


def _shapes_differ(tensors: Mapping[str, Tensor]) -> bool:
    """Return whether an average, or what an optimiser keeps besides single numbers, has another
    shape than its weight."""
    for name, tensor in tensors.items():
        kind, _, weight = name.partition(".")
        if kind == "optimizer" and tensor.ndim:
            weight = weight.partition(".")[2]
        elif kind != "average":
            continue
        if tensor.shape != tensors[f"model.{weight}"].shape:
            return True
    return False


def save(
    path: Path,
    tensors: Mapping[str, Tensor],
    header: Mapping[str, str],
    source: Source | None,
) -> None:
    """Write `path` atomically. source: a file whose permissions it does not exceed.

    Raises QseError when that fails; an earlier file of that name is then unchanged.
    """
    try:
        values = _separate(tensors)
        with atomic_path(path, source=source) as partial:
            # save_file would let only its owner read it
            partial.write_bytes(serialized(values, dict(header)))
    except (OSError, SafetensorError) as error:
        raise QseError(
            f"{path}: cannot write the checkpoint ({error}); free some space or name another folder"
        ) from error


def joined(parts: Mapping[str, Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the tensors of all parts, named PART.NAME."""
    tensors = {}
    for part, values in parts.items():
        for name, value in values.items():
            tensors[f"{part}.{name}"] = value
    return tensors


def _separate(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors on the CPU, none of which shares its memory with another, as tied weights
    do: safetensors refuses these."""
    values = {}
    taken = set()
    for name, tensor in tensors.items():
        value = tensor.detach().cpu().contiguous()
        place = value.untyped_storage().data_ptr()
        values[name] = value.clone() if place in taken else value
        taken.add(place)
    return values


def on_cpu(carried: Iterable[Mapping[str, Tensor]]) -> list[dict[str, Tensor]]:
    """Return the states of streams in each share, on the CPU."""
    found = []
    for states in carried:
        found.append({name: state.cpu() for name, state in states.items()})
    return found


def carried(
    tensors: dict[str, Tensor], shares: Iterable[int], device: torch.device
) -> list[dict[str, Tensor]]:
    """Return the states of streams in each of the shares, on a device; {} of one that has none."""
    found = []
    for share in shares:
        states = weights.pick(tensors, f"carried.{share}")
        found.append({name: value.to(device) for name, value in states.items()})
    return found


def optimizer_tensors(
    network: nn.Module, optimizers: Iterable[torch.optim.Optimizer]
) -> dict[str, Tensor]:
    """Return the states of the optimisers, by parameter name, without prefix."""
    names = {id(parameter): name for name, parameter in network.named_parameters()}
    tensors = {}
    for optimizer in optimizers:
        for parameter, state in optimizer.state.items():
            name = names[id(parameter)]
            for key, value in state.items():
                tensors[f"{key}.{name}"] = torch.as_tensor(value)
    return tensors


def restore_optimizers(
    network: nn.Module, optimizers: Iterable[torch.optim.Optimizer], tensors: Mapping[str, Tensor]
) -> None:
    """Restore the states of `optimizer_tensors`; a parameter that was never updated has none.

    States of another kind of optimiser are left out: a run may change its optimiser.
    """
    parameters = dict(network.named_parameters())
    owners: dict[Tensor, torch.optim.Optimizer] = {}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            owners.update(dict.fromkeys(group["params"], optimizer))
    for path, value in tensors.items():
        key, name = path.split(".", 1)
        parameter = parameters[name]
        optimizer = owners[parameter]
        if key in STATE[type(optimizer)]:
            optimizer.state[parameter][key] = value if key == "step" else value.to(parameter.device)
