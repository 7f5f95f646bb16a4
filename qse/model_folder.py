"""The files in the folder of a model or a training run."""

from pathlib import Path

GRAPH, CHECKSUMS, CONFIG, CARD = "model.onnx", "SHA256SUMS", "config.toml", "card.md"
CHECKPOINT = "checkpoint.safetensors"  # of the last step, optimisers included
WEIGHTS = ("weights.safetensors", "best.safetensors", CHECKPOINT)  # in order of preference


def weights_of(folder: Path) -> Path:
    """Return the preferred file of weights in `folder`; where there is none, the path that is missing."""
    return next((folder / name for name in WEIGHTS if (folder / name).is_file()), folder / WEIGHTS[-1])
