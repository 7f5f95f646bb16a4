"""Start a run from the weights of another model: deeper, wider, with pruned branches, or for
another sample rate."""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from ..errors import QseError
from ..model_folder import CONFIG, weights_of
from ..networks import Network
from ..networks import weights as trained_weights
from ..nn.declared import layer_name
from ..runtime.zoo import available, find
from .checkpoint_header import check_header
from .new_ranges import fit_ranges
from .widen import stops_widening, widen


def start_from(network: Network, folder: str | Path) -> dict[str, str]:
    """Load the weights of a model or a run into `network`, and return the header of their file.

    `folder` is that of either, or the name of an installed model, which has precedence over a
    folder of that name.

    That model may have fewer channels (`widen`), fewer blocks and fewer branches in them, fewer or
    more ranges of bands on top (`new_ranges`), and layers that look ahead where `network` has none:
    until training changes it, `network` computes what that model does at the same sample rate and
    look-ahead, or nearly that, except for its pruned branches.

    Raises QseError where there are no weights, or weights that do not fit.
    """
    path = first_weights(folder)
    if not path.is_file():
        names = [name for name in available() if weights_of(find(name).parent).is_file()]
        raise QseError(
            f"{folder}: no weights to start from; name the folder of a run, or a model that is "
            f"installed with its weights: {', '.join(names) or 'none'}"
        )
    most = max(network.size, trained_weights.MOST_NUMBERS)
    tensors, header = trained_weights.load_averaged(path, most)
    check_header(path, header, whole=False)
    _check_ranges(network, path)
    try:
        grow(network, tensors)
    except RuntimeError as error:
        raise QseError(
            f"{path}: these weights do not fit: {error}; only blocks, their branches and channels "
            "may be fewer, upper ranges others, and layers that look ahead left out"
        ) from error
    return header


def first_weights(folder: str | Path) -> Path:
    """Return the path of the weights of a model or a run, which may be missing."""
    return weights_of(find(folder).parent if str(folder) in available() else Path(folder))


def grow(network: Network, weights: Mapping[str, Tensor]) -> None:
    """Load `weights`, fitted to `network`; let branches without weights add nothing. RuntimeError
    if they do not fit.

    A layer whose branches may be new, or left out, has `branches()`, the names of the parts of
    each, `make_identity_(branch)`, and for the latter `pruned_parts()`, the names of those that it
    has not.
    """
    new = list(_new_branches(network, weights))
    left_out: list[str] = []  # beginnings of the names of branches that `network` has not
    for name, part in network.named_modules():
        if hasattr(part, "pruned_parts"):
            left_out += [f"{name}.{branch}" for branch in part.pruned_parts()]

    kept = {}
    for name, weight in weights.items():
        if not name.startswith(tuple(left_out)):
            kept[name] = weight
    fitted = fit_ranges(network, widen(network, kept))
    _check_shapes(network, fitted)
    found = network.load_state_dict(fitted, strict=False)
    expected = tuple(chain.from_iterable(branch.parts for branch in new))
    lacking = [key for key in found.missing_keys if not key.startswith(expected)]
    if lacking:
        raise RuntimeError(f"{_of(network, lacking[0])} is not among them")
    if found.unexpected_keys:
        raise RuntimeError(f"the network has no {found.unexpected_keys[0]}")
    for branch in new:
        branch.layer.make_identity_(branch.name)


def _check_shapes(network: Network, weights: Mapping[str, Tensor]) -> None:
    """Raise RuntimeError, naming the layer, for the first weight of another shape, and the layer
    because of which it was not widened."""
    for name, own in network.state_dict().items():
        shape = weights[name].shape if name in weights else own.shape
        if shape == own.shape:
            continue
        found = f"{_of(network, name)} has the shape {tuple(own.shape)}, theirs {tuple(shape)}"
        stopped = stops_widening(network)
        because = f", and {stopped} cannot be widened" if stopped else ""
        raise RuntimeError(found + because)


def _of(network: Network, name: str) -> str:
    """Return a weight with its layer, for messages."""
    path, _, weight = name.rpartition(".")
    return f"{weight!r} of {layer_name(network.get_submodule(path), path)}"


class _Branch(NamedTuple):
    layer: Any
    name: str
    parts: tuple[str, ...]  # beginnings of the names of its weights in the network


def _new_branches(network: Network, weights: Mapping[str, Tensor]) -> Iterator[_Branch]:
    """Yield the branches of `network` for which there are no weights."""
    for path, layer in network.named_modules():
        if not hasattr(layer, "branches"):
            continue
        for name, parts in layer.branches().items():
            branch = _Branch(layer, name, tuple(f"{path}.{part}" for part in parts))
            if not any(key.startswith(branch.parts) for key in weights):
                yield branch


def _check_ranges(network: Network, weights: Path) -> None:
    """Raise QseError where the network of `weights`, by the configuration beside them, has other
    ranges of bands.

    The one with more ranges may have any on top.
    """
    own = list(map(list, getattr(network.config, "ranges", ())))
    config = weights.with_name(CONFIG)
    trained = trained_weights.model_table(config).get("ranges", []) if config.is_file() else []
    if not isinstance(trained, list):
        raise QseError(f"{config}: ranges = {trained!r}: expected a list")
    common = min(len(own), len(trained))
    if own[:common] != trained[:common]:
        ranges = f"they are for the ranges of bands {trained}, and this network has {own}"
        raise QseError(
            f"{weights}: these weights do not fit: {ranges}; only ranges on top may be others"
        )
