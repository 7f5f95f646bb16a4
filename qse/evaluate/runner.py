"""Runner room: one system over all utterances of a set -> one row each, and what goes wrong with its name.

Row: name, audio_s, process_s (seconds that the system took, waveform to waveform), one column per metric of the
enhanced signal, `noisy_` + metric for the noisy one, stamp (of the files that it comes from), error. Everything is
judged at 16 kHz; files at another rate are converted first.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..data.datasets import SAMPLE_RATE, Pair, length_and_rate, read_mono
from ..errors import QseError
from ..extras import MissingExtra
from ..runtime.batch import cores
from .metrics import METRICS, check_names, score_pair
from .pool import spread
from .store import Row, Store
from .systems import System, enhanced_files, forget, opened

LOST = "the scoring process died, as PESQ does on recordings with more than about 50 separate stretches of speech"


@dataclass(frozen=True)
class Task:
    """All that a process needs to score one utterance."""

    pair: Pair
    system: System
    metrics: tuple[str, ...]
    threads: int = 1


def evaluate(
    system: System,
    pairs: list[Pair],
    out: Path,
    *,
    metrics: Iterable[str],
    jobs: int | None = None,
    threads: int = 1,
    settings: dict[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Rows of all pairs, in their order; written to out/scores.csv as they come, rows found there are not done again.

    `jobs` processes (all cores if None; 0: this process) with `threads` threads each. `settings` says in words what is
    evaluated. `progress` is called with (done, all). Raises QseError and ValueError before any work is done;
    later, what goes wrong with an utterance is the `error` of its row.
    """
    metrics = tuple(metrics)
    check_names(metrics)
    forget()
    opened(system, threads)  # a model that cannot be opened shows now, not once per utterance
    settings = {
        **(settings or {}),
        "system": system.name,
        "metrics": list(metrics),
    }
    stamps = stamps_of(system, pairs)
    store = Store(Path(out), columns(system, metrics), settings, stamps)
    done = {row["name"] for row in store.rows}
    tasks = [Task(pair, system, metrics, threads) for pair in pairs if pair.name not in done]
    for row in run_tasks(score_utterance, tasks, jobs, lost_utterance):
        store.add({**row, "stamp": stamps[row["name"]]})
        if progress:
            progress(len(store.rows), len(pairs))
    order = {pair.name: place for place, pair in enumerate(pairs)}
    rows = sorted((row for row in store.rows if row["name"] in order), key=lambda row: order[row["name"]])
    store.write(rows)
    return rows


def run_tasks(function: Callable, tasks: list, jobs: int | None, lost: Callable) -> Iterable:
    """Results in the order in which they come: in this process for jobs = 0, else in processes of their own."""
    if jobs == 0:
        return map(function, tasks)
    return spread(function, tasks, min(jobs or cores(), max(1, len(tasks))), lost)


def columns(system: System, metrics: Iterable[str]) -> list[str]:
    """Columns of scores.csv."""
    metrics = list(metrics)
    noisy = [f"noisy_{name}" for name in metrics] if system.kind != "noisy" else []
    return ["name", "audio_s", "process_s", *metrics, *noisy, "stamp", "error"]


def stamps_of(system: System, pairs: list[Pair]) -> dict[str, str]:
    """{utterance: what tells this state of the model and of the utterance's files from any other}."""
    fingerprint, outputs = system.fingerprint(), enhanced_files(system.path) if system.kind == "folder" else {}
    stamps = {}
    for pair in pairs:
        files = [path for path in (pair.noisy, pair.clean, outputs.get(pair.name), *pair.lead_in) if path]
        states = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        stamps[pair.name] = hashlib.sha256(repr((fingerprint, states)).encode()).hexdigest()[:16]
    return stamps


def score_utterance(task: Task) -> Row:
    """The row of one utterance; whatever is wrong with its files is the row's `error`."""
    try:
        clean, noisy = read_pair(task.pair, any(METRICS[name].needs_clean for name in task.metrics))
        enhanced, seconds = enhance(task, noisy)
        row = {"name": task.pair.name, "audio_s": round(len(noisy) / SAMPLE_RATE, 4)}
        row |= {} if seconds is None else {"process_s": round(seconds, 6)}
        sides = {"": enhanced} if task.system.kind == "noisy" else {"": enhanced, "noisy_": noisy}
        for side, audio in sides.items():
            scores = score_pair(clean=clean, enhanced=audio, sample_rate=SAMPLE_RATE, metrics=task.metrics)
            row |= {side + name: value for name, value in scores.items()}
        return row
    except MissingExtra:
        raise
    except Exception as reason:  # a file, a model or a metric may fail in ways of its own: name the utterance, go on
        return {"name": task.pair.name, "error": " ".join(str(reason).split()) or type(reason).__name__}


def lost_utterance(task: Task) -> Row:
    """The row of an utterance that killed its process."""
    return {"name": task.pair.name, "error": LOST}


def read_pair(pair: Pair, needs_clean: bool) -> tuple[np.ndarray | None, np.ndarray]:
    """clean (or None if not needed) and noisy, float64 (samples,) at 16 kHz. QseError if they do not fit together."""
    noisy, clean = pair.noisy, pair.clean
    if noisy is None or (clean is None and needs_clean):
        side = "clean" if noisy else "noisy"
        raise QseError(f"{noisy or clean}: there is no {side} file of this name")
    return read_like(clean, noisy) if clean and needs_clean else None, at_16khz(*read_mono(noisy))


def read_like(path: Path, other: Path) -> np.ndarray:
    """The audio of `path` at 16 kHz; QseError unless it is as long as `other` and of the same rate."""
    (audio, rate), (samples, other_rate) = read_mono(path), length_and_rate(other)
    if rate != other_rate:
        raise QseError(f"{path} has {rate} Hz, but {other} has {other_rate} Hz: convert one of them")
    if len(audio) != samples:
        raise QseError(
            f"{path} has {len(audio)} samples, but {other} has {samples}: align and cut them to equal length"
        )
    return at_16khz(audio, rate)


def enhance(task: Task, noisy: np.ndarray) -> tuple[np.ndarray, float | None]:
    """The system's output for the noisy signal at 16 kHz, and the seconds it took (None if nothing was computed).

    Of what comes before the utterance neither the output is kept nor the time.
    """
    process = opened(task.system, task.threads)
    if process is None:
        return noisy if task.system.kind == "noisy" else enhanced_file(task.system, task.pair), None
    heard = np.concatenate([*(at_16khz(*read_mono(path)) for path in task.pair.lead_in), noisy])
    start = perf_counter()
    enhanced = process(heard, SAMPLE_RATE)
    share = len(noisy) / max(1, len(heard))
    return enhanced[len(heard) - len(noisy) :], share * (perf_counter() - start)


def enhanced_file(system: System, pair: Pair) -> np.ndarray:
    """What the folder `system` holds for this pair, at 16 kHz."""
    path = enhanced_files(system.path).get(pair.name)
    if path is None or pair.noisy is None:
        raise QseError(f"{system.path} has no file called {pair.name}")
    return read_like(path, pair.noisy)


def at_16khz(audio: np.ndarray, sample_rate: int) -> np.ndarray:
    """(samples,) at `sample_rate` -> at 16 kHz."""
    import soxr

    return audio if sample_rate == SAMPLE_RATE else soxr.resample(audio, sample_rate, SAMPLE_RATE, "VHQ")
