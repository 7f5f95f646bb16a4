"""Find and load trained models by name or path, and check their checksums.

A model is a folder `NAME/model.onnx`, with `model-48k.onnx` beside it for audio above 16 kHz, if
there is such a graph. Folders are searched in this order: those in `QSE_MODELS` (separated as in
PATH), then the installed package `qse_models`. A model's folder may hold `SHA256SUMS`, with lines
"<sha256>  <file name>" as `sha256sum` writes them; a graph that does not agree, or is not listed,
is refused before it is loaded.
"""

import os
from contextlib import suppress
from numbers import Integral, Real
from pathlib import Path
from weakref import WeakKeyDictionary

import qse_models

from ..errors import QseError
from ..model_folder import FULL_BAND_GRAPH, GRAPH
from .checksums import verify
from .engine import Engine, NotStreaming
from .enrolment import Talker, keeping
from .offline import OfflineModel
from .voice import Voice

DEFAULT_MODEL = "live-base"  # for streams
RECORDING_MODEL = "studio-large"  # for whole signals, which may look ahead
TALKER_MODEL = "live-talker"  # keeps one talker
WIDE_BAND = 16000  # Hz: audio at a higher sample rate is for the full-band graph

Model = Engine | OfflineModel

_sisters: WeakKeyDictionary[Model, Model] = WeakKeyDictionary()  # see resolve


def available() -> list[str]:
    """Return the names of the installed models, sorted."""
    return sorted(_models())


def load(
    model: str | Path = DEFAULT_MODEL,
    threads: int = 1,
    flush_to_zero: bool = False,
    sample_rate: float | None = None,
    fast: bool = False,
    talker: Talker | None = None,
) -> Model:
    """Load `model`: a name of `available()`, the path of a model's folder, or that of an .onnx
    file.

    Return an Engine, or an OfflineModel for a graph that needs complete recordings: `denoise` takes
    either, Stream only an Engine. `threads` and `flush_to_zero` are those of Engine. `sample_rate`:
    that of the audio, in Hz. Above 16 kHz the model's full-band graph, for 48 kHz, is loaded if
    there is one; the attribute `sample_rate` of the result tells. `fast`: run a model for
    recordings, which averages two grids of frames, on one of them: half the time, slightly worse.
    `talker`: whose voice is kept while other voices are removed; "near": whoever is near, or the
    path of a voice (.voice, see `qse enroll`) or of a recording of this talker.

    Raises QseError for an unknown name, a missing file, or one that disagrees with its checksum,
    for `fast` with a model that has no faster form, for `talker` with one that cannot keep one
    talker, and for a voice of another model; TypeError or ValueError for `threads` or a
    `sample_rate` of another type or range.
    """
    if not isinstance(threads, Integral) or not isinstance(sample_rate, Real | None):
        given = f"{threads!r} and {sample_rate!r}"
        raise TypeError(f"threads must be an int and sample_rate a number in Hz, not {given}")
    if threads < 1 or not (sample_rate is None or sample_rate > 0):
        raise ValueError(
            f"threads and sample_rate must be above 0, not {threads} and {sample_rate}"
        )
    path = find(model, sample_rate)
    loaded = _open(path, threads, flush_to_zero, fast)
    if path != Path(model):
        loaded.folder = path.parent.absolute()
    return loaded if talker is None else keeping(loaded, talker)


def resolve(
    model: str | Path | Model, sample_rate: float | None = None, fast: bool = False
) -> Model:
    """Return the graph of `model` for audio at `sample_rate` in Hz, loaded.

    `model`: a name, a path, or what `load` returned; `fast` goes with a name or path. Of what
    `load` returned for a name or a folder, the other graph of that folder is taken where it is the
    one for `sample_rate`: it is loaded once, with the same options, and kept. Without
    `sample_rate`, or without such a graph, the model is returned as it is. Raises TypeError for
    anything else, ValueError for `fast` with a model that was loaded without it, QseError as `load`
    does.
    """
    if isinstance(model, str | Path):
        return load(model, sample_rate=sample_rate, fast=fast)
    if not isinstance(model, Engine) and not hasattr(model, "open_channel"):
        kind = type(model).__name__
        raise TypeError(f"model must be a name, a path or what qse.load returns, not {kind}")
    if fast and not getattr(model, "options", {}).get("fast"):
        raise ValueError(
            "fast=True goes with a model's name: else load it by qse.load(name, fast=True)"
        )
    folder = getattr(model, "folder", None)  # a model of one's own need not have one
    if sample_rate is None or folder is None:
        return model

    wanted = _graph(folder, sample_rate)
    if wanted.name == model.path.name or not wanted.is_file():
        return model
    if model not in _sisters:
        _sisters[model] = _open(wanted, **model.options)
    return _sisters[model]


def streaming(model: Model) -> Engine:
    """Return `model` itself. Raises QseError for one that needs complete recordings."""
    if not isinstance(model, Engine):
        raise QseError(
            f"{model.name} needs whole recordings and cannot stream; choose another model"
        )
    return model


def _open(
    path: Path,
    threads: int = 1,
    flush_to_zero: bool = False,
    fast: bool = False,
    voice: Voice | None = None,
) -> Model:
    verify(path)
    try:
        return Engine(path, threads, flush_to_zero, fast, voice)
    except NotStreaming:
        model = OfflineModel(path, threads)
    if fast:
        raise QseError(f"{model.name} has no faster form: leave fast=True out")
    return model


def find(model: str | Path, sample_rate: float | None = None) -> Path:
    """Return the path of the graph of `model` for audio at `sample_rate` (see `load`).

    A name is looked up before a path.
    """
    models = _models()
    path = Path(model)
    if str(model) in models:
        return _graph(models[str(model)].parent, sample_rate)
    with suppress(OSError):  # a name that is too long for a path
        if path.is_file():
            return path
        if (path / GRAPH).is_file():
            return _graph(path, sample_rate)
    names = ", ".join(sorted(models)) or "none"
    cure = "the path of an .onnx file works too"
    raise QseError(f"no model called {model}: the installed ones are {names}; {cure}")


def _graph(folder: Path, sample_rate: float | None) -> Path:
    full_band = folder / FULL_BAND_GRAPH
    if sample_rate is not None and sample_rate > WIDE_BAND and full_band.is_file():
        return full_band
    return folder / GRAPH


def _models() -> dict[str, Path]:
    own = os.environ.get("QSE_MODELS", "").split(os.pathsep)
    found: dict[str, Path] = {}
    for folder in (*filter(None, own), *qse_models.__path__):
        for graph in Path(folder).glob(f"*/{GRAPH}"):
            found.setdefault(graph.parent.name, graph)
    return found
