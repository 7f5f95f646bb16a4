"""Compare an exported model with the one that its training began with."""

from pathlib import Path

from ..errors import QseError
from ..model_folder import FULL_BAND_GRAPH, weights_of
from ..networks.weights import load_header
from ..runtime.zoo import available, find, load


def lacking(run: Path, folder: Path) -> list[str]:
    """Return sentences on what the model `folder` lacks of the model that `run` began with, as far
    as that is installed."""
    origin = load_header(weights_of(run)).get("origin", "")
    if origin not in available():  # no path: a foreign run may name any
        return []
    try:
        first = find(origin)
        before = load(first)
        after = load(find(folder))
    except QseError:
        return []
    sentences = []
    if getattr(before, "second_grid", 0) and not getattr(after, "second_grid", 0):
        sentences.append(
            f"{folder} runs on one grid of frames and {origin}, with which its training began, "
            "on two: it is better with two_grids=True"
        )
    if (first.parent / FULL_BAND_GRAPH).is_file() and not (folder / FULL_BAND_GRAPH).is_file():
        sentences.append(
            f"{folder} ends at 8 kHz and {origin}, with which its training began, at 24 kHz: "
            "train a network at 48 kHz, as the recipe fine-tune does"
        )
    return sentences
