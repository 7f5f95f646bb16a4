"""Read trained weights: the files of a model or a run, their tensors, and the network that they
fit."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from math import inf, prod
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from .. import config as configuration
from ..audio.folder_path import open_source
from ..audio.held_folder import HeldFolder
from ..errors import QseError
from ..model_folder import CHECKPOINT, weights_of
from ..references import check_own, is_trusting, trusting
from . import Network, build_network

# what classes raise that are called with arguments, or of sizes, that are not theirs
UNFIT = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError)
LONGEST_HEADER = 1 << 24  # bytes, each of which takes several of memory; 100 for each tensor
MOST_NUMBERS = 100_000_000  # weights and buffers of a network that a foreign file describes


def load_tensors(
    path: Path, wanted: Callable[[str], bool] = bool, most: float = inf
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read the `wanted` tensors, told by their names, and the header of a checkpoint.

    Raises QseError naming the file when it is missing or damaged, or these tensors have more than
    `most` numbers.
    """
    with _opened(path) as file:
        names = list(filter(wanted, file.keys()))
        numbers = sum(prod(file.get_slice(name).get_shape()) for name in names)
        if numbers > most:
            raise QseError(
                f"{path}: holds {numbers:,} numbers, where at most {most:,} fit; name another file"
            )
        tensors = {name: file.get_tensor(name) for name in names}
        return tensors, file.metadata() or {}


def load_averaged(path: Path, most: float) -> tuple[Mapping[str, Tensor], dict[str, str]]:
    """Read the averaged weights of a run's checkpoint, or all weights of a model's file, and the
    header; raises as `load_tensors` does."""
    with _opened(path) as file:
        is_run = any(name.startswith("average.") for name in file.keys())  # noqa: SIM118
    read = load_tensors(path, lambda name: not is_run or name.startswith("average."), most)
    return averaged(read[0]), read[1]


def load_header(path: Path) -> dict[str, str]:
    """Read the header alone, without the tensors; raises as `load` does."""
    with _opened(path) as file:
        return file.metadata() or {}


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        if path.exists() and not path.is_file():
            raise OSError("it is no regular file")  # a pipe would wait for its other end
        with open(path, "rb", opener=open_source) as held:
            if int.from_bytes(held.read(8), "little") > LONGEST_HEADER:  # its size comes before it
                raise OSError(f"its header has more than {LONGEST_HEADER >> 20} MiB")
            own = HeldFolder(path.parent, None).path_to(path.name, held.fileno())
            with safe_open(own, framework="pt") as file:
                yield file
    except (OSError, RuntimeError, SafetensorError) as error:  # also one too large to be mapped
        raise QseError(
            f"{path}: cannot read the checkpoint ({error}); train again or name another one"
        ) from error


def pick(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors under `prefix.`, without it in their names."""
    picked = {}
    for name, tensor in tensors.items():
        if name.startswith(f"{prefix}."):
            picked[name.removeprefix(f"{prefix}.")] = tensor
    return picked


def averaged(tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Return the averaged weights of a run's checkpoint, or all weights of a model's file."""
    return pick(tensors, "average") or tensors


def model_table(path: Path) -> dict[str, Any]:
    """Read the `[model]` table of a configuration file.

    Raises QseError for a missing file, or one that is not TOML or has no such table.
    """
    table = configuration.read(path, open_source).get("model", {})
    if not isinstance(table, dict):
        raise QseError(f"{path}: model = {table!r}: expected a table")
    return table


def check_foreign(table: Mapping[str, Any], config: Path) -> None:
    """Raise QseError, unless `trusting`, if the `[model]` table of the file `config` names code
    outside qse or describes a network that would fill the memory: such a file may come from
    anywhere."""
    check_own(table, config)
    if is_trusting():
        return
    with torch.device("meta"):  # shapes without numbers
        size = _built(table, config).size
    if size > MOST_NUMBERS:
        raise QseError(
            f"{config}: a network of {size:,} numbers, above {MOST_NUMBERS:,}: "
            "use trust=True if you trust whoever wrote it"
        )


def network_of(config: Path) -> Network:
    """Build the network of a configuration in the folder of a run or a model.

    Raises QseError for one that is damaged and, unless `trusting`, as `check_foreign` does.
    """
    table = model_table(config)
    check_foreign(table, config)
    return _built(table, config)


def _built(table: Mapping[str, Any], config: Path) -> Network:
    try:
        return build_network(table)
    except (QseError, *UNFIT) as error:
        raise QseError(f"{config}: {error}") from error


def load_network(
    config: Path, weights: Path, trust: bool = False
) -> tuple[Network, dict[str, str]]:
    """Build the network of a configuration, load averaged or plain weights, and return it with
    their header. trust: import what the configuration names, whatever package it is in."""
    with trusting() if trust else nullcontext():
        network = network_of(config)
    tensors, header = load_averaged(weights, network.size)
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise QseError(
            f"{weights}: its weights do not fit the model in {config}; name the files of one run"
        ) from error
    return network.eval(), header


def weights_step(folder: Path) -> str:
    """Return the step of the weights of a run or a model: "400 of 1000" if training went on after
    the best validation; "" of converted weights, which have none.

    This shows outdated weights of a run that was resumed without validation.
    """
    steps = []
    for path in (weights_of(folder), folder / CHECKPOINT):
        if path.is_file():
            steps.append(load_header(path).get("step", ""))
    return " of ".join(filter(None, dict.fromkeys(steps)))
