"""The trained models: a name, or a path, to the exported graph on disk, checked against its checksum.

A model is a folder `NAME/model.onnx`. The registry is the folders themselves: those in `QSE_MODELS` (several are
separated as in PATH), then the package `qse_models` that is installed with this one. A folder may hold `SHA256SUMS`, a
text of lines "<sha256>  <file name>" as `sha256sum` writes it; then a file that does not agree is refused.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import qse_models

from ..errors import QseError
from ..model_folder import CHECKSUMS, GRAPH
from .engine import Engine, NotStreaming
from .offline import Model, OfflineModel

DEFAULT_MODEL = "live-base"


def available() -> list[str]:
    """Names of the models that `load` knows, sorted."""
    return sorted(_models())


def load(model: str | Path = DEFAULT_MODEL, threads: int = 1, flush_to_zero: bool = False) -> Model:
    """An Engine from a name of `available()`, the path of a model's folder, or that of an .onnx file.

    An OfflineModel if it needs whole recordings: `denoise` takes either, a Stream does not.
    `threads` and `flush_to_zero` are those of Engine.
    Raises QseError for an unknown name, a missing file, or one that disagrees with its checksum.
    """
    path = find(model)
    _verify(path)
    try:
        return Engine(path, threads, flush_to_zero)
    except NotStreaming:
        return OfflineModel(path, threads)


def streaming(model: Model) -> Engine:
    """The model itself. Raises QseError for one that needs whole recordings."""
    if isinstance(model, OfflineModel):
        raise QseError(f"{model.name} needs whole recordings and cannot stream; choose another model")
    return model


def find(model: str | Path) -> Path:
    """The path of the exported graph of `model` (see `load`); a name goes before a path."""
    models, path = _models(), Path(model)
    if str(model) in models:
        return models[str(model)]
    with suppress(OSError):  # a name that is too long for a path
        if path.is_file():
            return path
        if (path / GRAPH).is_file():
            return path / GRAPH
    names = ", ".join(sorted(models)) or "none"
    raise QseError(f"no model called {model}: the installed ones are {names}; a path to an .onnx file works too")


def seal(folder: str | Path) -> None:
    """Write `SHA256SUMS` into a model's folder, for the graph in it."""
    folder = Path(folder)
    (folder / CHECKSUMS).write_text(f"{_sha256(folder / GRAPH)}  {GRAPH}\n", encoding="utf-8")


def _models() -> dict[str, Path]:
    folders = [Path(folder) for folder in os.environ.get("QSE_MODELS", "").split(os.pathsep) if folder]
    folders += [Path(place) for place in qse_models.__path__]
    found: dict[str, Path] = {}
    for folder in folders:
        for graph in folder.glob(f"*/{GRAPH}"):
            found.setdefault(graph.parent.name, graph)
    return found


def _verify(path: Path) -> None:
    sums = path.parent / CHECKSUMS
    if not sums.is_file():
        return
    try:
        lines = [line.split() for line in sums.read_text(encoding="utf-8", errors="replace").splitlines()]
        wanted = {line[0].lower() for line in lines if line[1:] in ([path.name], [f"*{path.name}"])}
        damaged = not wanted <= {_sha256(path)}
    except OSError as error:
        raise QseError(f"{error.filename} cannot be read: {error.strerror}") from error
    if damaged:
        raise QseError(
            f"{path} is damaged (its checksum is not the one in {CHECKSUMS}): install qse again or copy it anew"
        )


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
