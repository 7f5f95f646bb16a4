"""Score one system on all utterances of a set: one row each; a failure is a row with its error.

Row: name, audio_s, process_s (seconds that the system took, waveform to waveform), one column per metric of the
enhanced signal, `noisy_` + metric for the noisy one, stamp (of the files that it comes from), error.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data.datasets import SAMPLE_RATE, Pair
from ..extras import MissingExtra
from ..machine import cores
from .metrics import METRICS, own_metrics, resolve, score_pair
from .pool import spread
from .reading import read_pair
from .store import Row, Store
from .systems import Enhancer, System

CRASHED = "the scoring process died, as PESQ does on recordings with more than about 50 separate stretches of speech"


@dataclass
class Scorer:
    """Return the row of a pair; the system is opened at the first call in each process."""

    system: System
    metrics: tuple[str, ...]
    sample_rate: int = SAMPLE_RATE
    _enhance: Enhancer | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "_enhance": None,
            "_own": own_metrics(),
        }  # another process opens it for itself

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, metric in state.pop("_own").items():
            METRICS.setdefault(name, metric)
        self.__dict__.update(state)

    def open(self) -> Enhancer:
        """Return the system's function, opened once. QseError if it cannot be opened."""
        self._enhance = self._enhance or self.system.open(self.sample_rate)
        return self._enhance

    def __call__(self, pair: Pair) -> Row:
        try:
            return self._row(pair)
        except MissingExtra:
            raise
        except (
            Exception
        ) as reason:  # files, models and metrics fail in many ways: keep the name, continue
            return {
                "name": pair.name,
                "error": " ".join(str(reason).split()) or type(reason).__name__,
            }

    def _row(self, pair: Pair) -> Row:
        clean, noisy = read_pair(
            pair, any(METRICS[name].needs_clean for name in self.metrics), self.sample_rate
        )
        enhanced, seconds = self.open()(pair, noisy)
        row = {"name": pair.name, "audio_s": round(len(noisy) / self.sample_rate, 4)}
        row |= {} if seconds is None else {"process_s": round(seconds, 6)}
        sides = {"": enhanced} if self.system.baseline else {"": enhanced, "noisy_": noisy}
        for side, audio in sides.items():
            scores = score_pair(
                clean=clean,
                enhanced=audio,
                noisy=noisy,
                sample_rate=self.sample_rate,
                metrics=self.metrics,
            )
            row |= {side + name: value for name, value in scores.items()}
        return row


def score_pairs(
    system: System,
    pairs: list[Pair],
    out: Path,
    *,
    metrics: Iterable[str],
    sample_rate: int = SAMPLE_RATE,
    jobs: int | None = None,
    settings: dict[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Return the rows of all pairs, in their order; each is appended to out/scores.csv as it comes.

    Rows that are in that file already are not computed again. Files are read, and systems run, at `sample_rate`.
    `jobs` processes, all cores if None; 0: this process. `settings` describes in words what is evaluated. `progress` is
    called with (done, all). Raises QseError and ValueError before any work; a failure with an utterance is the `error`
    of its row.
    """
    system = system.at(sample_rate)
    scorer = Scorer(system, tuple(resolve(metrics)), sample_rate)
    scorer.open()  # a model that cannot be opened is reported now, not once per utterance
    settings = {**(settings or {}), "system": system.name, "metrics": list(scorer.metrics)}
    settings |= {"sample_rate": sample_rate} if sample_rate != SAMPLE_RATE else {}
    stamps = stamps_of(system, pairs)
    store = Store(Path(out), columns(system, scorer.metrics), settings, stamps)
    done = {row["name"] for row in store.rows}
    for row in run_tasks(scorer, [pair for pair in pairs if pair.name not in done], jobs, crashed):
        store.add({**row, "stamp": stamps[row["name"]]})
        if progress:
            progress(len(store.rows), len(pairs))
    order = {pair.name: place for place, pair in enumerate(pairs)}
    rows = sorted(
        (row for row in store.rows if row["name"] in order), key=lambda row: order[row["name"]]
    )
    store.write(rows)
    return rows


def run_tasks(function: Callable, tasks: list, jobs: int | None, crashed: Callable) -> Iterable:
    """Yield function(task) in the order of completion; jobs = 0: in this process, else in separate ones."""
    if jobs == 0:
        return map(function, tasks)
    return spread(function, tasks, min(jobs or cores(), max(1, len(tasks))), crashed)


def columns(system: System, metrics: Iterable[str]) -> list[str]:
    """Return the columns of scores.csv."""
    metrics = list(metrics)
    noisy = [] if system.baseline else [f"noisy_{name}" for name in metrics]
    return ["name", "audio_s", "process_s", *metrics, *noisy, "stamp", "error"]


def stamps_of(system: System, pairs: list[Pair]) -> dict[str, str]:
    """Return {utterance: hash of the model's file and of the state of the utterance's files}."""
    fingerprint, outputs = system.fingerprint(), system.outputs()
    stamps = {}
    for pair in pairs:
        files = [
            path for path in (pair.noisy, pair.clean, outputs.get(pair.name), *pair.lead_in) if path
        ]
        states = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        stamps[pair.name] = hashlib.sha256(repr((fingerprint, states)).encode()).hexdigest()[:16]
    return stamps


def crashed(pair: Pair) -> Row:
    """Return the row of an utterance that ended its process."""
    return {"name": pair.name, "error": CRASHED}
