"""Find and load trained models by name or path, and check their checksums.

A model is a folder `NAME/model.onnx`. Folders are searched in this order: those in `QSE_MODELS` (separated as in PATH),
then the installed package `qse_models`. A model's folder may hold `SHA256SUMS`, with lines "<sha256>  <file name>" as
`sha256sum` writes them; a file that does not agree is refused.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import qse_models

from ..errors import QseError
from ..model_folder import CHECKSUMS, GRAPH
from .engine import Engine, NotStreaming
from .model import Model
from .offline import OfflineModel

DEFAULT_MODEL = "live-base"


def available() -> list[str]:
    """Return the names of the installed models, sorted."""
    return sorted(_models())


def load(model: str | Path = DEFAULT_MODEL, threads: int = 1, flush_to_zero: bool = False) -> Model:
    """Load `model`: a name of `available()`, the path of a model's folder, or that of an .onnx file.

    Return an Engine, or an OfflineModel for a graph that needs whole recordings: `denoise` takes either, Stream only an
    Engine. `threads` and `flush_to_zero` are those of Engine.
    Raises QseError for an unknown name, a missing file, or one that disagrees with its checksum.
    """
    path = find(model)
    _verify(path)
    try:
        return Engine(path, threads, flush_to_zero)
    except NotStreaming:
        return OfflineModel(path, threads)


def resolve(model: str | Path | Model) -> Model:
    """Load `model` if it is a name or a path; return what `load` returned as it is. TypeError for anything else."""
    if isinstance(model, str | Path):
        return load(model)
    if not hasattr(model, "open_channel"):
        raise TypeError(f"model must be a name, a path or what qse.load returns, not {type(model).__name__}")
    return model


def find(model: str | Path) -> Path:
    """Return the path of the graph of `model` (see `load`); a name is looked up before a path."""
    models, path = _models(), Path(model)
    if str(model) in models:
        return models[str(model)]
    with suppress(OSError):  # a name that is too long for a path
        if path.is_file():
            return path
        if (path / GRAPH).is_file():
            return path / GRAPH
    names = ", ".join(sorted(models)) or "none"
    raise QseError(f"no model called {model}: the installed ones are {names}; the path of an .onnx file works too")


def seal(folder: str | Path) -> None:
    """Write `SHA256SUMS` for the graph in a model's folder."""
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
            f"{path} is damaged (its checksum is not the one in {CHECKSUMS}): install qse again or copy it again"
        )


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
