"""Name the files in the folder of a model or a training run."""

from pathlib import Path

GRAPH = "model.onnx"
CHECKSUMS = "SHA256SUMS"
CONFIG = "config.toml"
CARD = "card.md"
# the same weights and the bands above 8 kHz; not every model has one
FULL_BAND_GRAPH = "model-48k.onnx"
# the graph of GRAPH for any number of streams in one call; not every model has one
STREAMS_GRAPH = "model-streams.onnx"
# makes the entries of a talker of the states of GRAPH; only models that keep one talker have it
TALKER_GRAPH = "talker.onnx"
GRAPHS = (GRAPH, FULL_BAND_GRAPH, STREAMS_GRAPH, TALKER_GRAPH)
CHECKPOINT = "checkpoint.safetensors"  # of the last step, optimisers included
WEIGHTS = ("weights.safetensors", "best.safetensors", CHECKPOINT)  # in order of preference


def weights_of(folder: Path) -> Path:
    """Return the preferred weights file in `folder`; if there is none, the path of the least
    preferred one."""
    for name in WEIGHTS:
        if (folder / name).is_file():
            return folder / name
    return folder / WEIGHTS[-1]
