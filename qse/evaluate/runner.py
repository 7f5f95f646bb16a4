"""Score one system on all utterances of a set: one row each; a failure is named in its row.

Row: name, audio_s, process_s (seconds that the system took, waveform to waveform), one column per
metric of the enhanced signal, `noisy_` + metric for the noisy one, delay (samples by which the
output came late), drift (millionths by which its clock is slower, if it is), inverted (1 for
inverted polarity), trimmed (samples cut from the longest signal), stamp (of the files that it comes
from), damage (of files that were read all the same), error (of the utterance, or of metrics that
have no score for it).
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import __version__
from ..audio.held_file import last_change
from ..data.datasets import Pair
from ..data.recordings import damage_noticed
from ..errors import QseError
from ..extras import MissingExtra
from ..machine import cores
from .alignment import align
from .clocks import timing_of
from .metrics import FIRST_COLUMNS, LAST_COLUMNS, METRICS, NOISY, own_metrics, version_of
from .pool import spread
from .reading import read_pair
from .report import drifts
from .scoring import score_each
from .signals import SAMPLE_RATE
from .store import Row
from .system import Enhancer, System

CRASHED = "the scoring process died"
OF_PESQ = ", as PESQ does on recordings with more than about 50 separate stretches of speech"
PESQ = "pesq"  # the package whose code ends processes
PROBES = 20  # utterances from which the delay of a system is taken


@dataclass
class Scorer:
    """Return the row of a pair; the system is opened at the first call in each process.

    strict: refuse signals whose lengths differ. delay: in samples at `sample_rate`, removed from
    the system's output.
    """

    system: System
    metrics: tuple[str, ...]
    sample_rate: int = SAMPLE_RATE
    strict: bool = False
    delay: int = 0
    _enhance: Enhancer | None = field(default=None, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what another process opens for itself, and add metrics that it lacks."""
        return {**self.__dict__, "_enhance": None, "_own": own_metrics()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, metric in state.pop("_own").items():
            METRICS.setdefault(name, metric)
        self.__dict__.update(state)

    @property
    def columns(self) -> list[str]:
        """Return the columns of scores.csv."""
        noisy = [] if self.system.baseline else [f"{NOISY}{name}" for name in self.metrics]
        return [*FIRST_COLUMNS, *self.metrics, *noisy, *LAST_COLUMNS]

    def open(self) -> Enhancer:
        """Return the system's function, opened once. QseError if it cannot be opened."""
        self._enhance = self._enhance or self.system.open(self.sample_rate)
        return self._enhance

    def __call__(self, pair: Pair) -> Row:
        with damage_noticed() as damage:
            try:
                row = self._row(pair)
            except MissingExtra:
                raise
            except Exception as reason:  # files, models and metrics fail in many ways: go on
                row = {"name": pair.name, "error": _sentence(reason)}
        return {**row, "damage": "; ".join(dict.fromkeys(damage))} if damage else row

    def _row(self, pair: Pair) -> Row:
        clean, noisy = self._read(pair)
        enhanced, seconds = self.open()(pair, noisy)
        row: Row = {"name": pair.name, "audio_s": round(len(noisy) / self.sample_rate, 4)}
        if seconds is not None:
            row["process_s"] = round(seconds, 6)
        if not self.system.baseline:
            row |= self._timing(enhanced, clean, noisy)

        found = align(
            clean,
            noisy,
            enhanced,
            sample_rate=self.sample_rate,
            delay=self.delay,
            strict=self.strict,
        )
        if found.trimmed:
            row["trimmed"] = found.trimmed
        given = {"clean": found.clean, "noisy": found.noisy, "enhanced": found.enhanced}
        return row | self._scores(given)

    def _scores(self, given: dict[str, np.ndarray | None]) -> Row:
        """Return the scores of the enhanced and of the noisy signal, and the errors of metrics."""
        row, reasons = score_each(list(self.metrics), given, self.sample_rate)
        if not self.system.baseline:
            before = {**given, "enhanced": given["noisy"]}
            scores, others = score_each(list(self.metrics), before, self.sample_rate)
            for name, value in scores.items():
                row[f"{NOISY}{name}"] = value
            reasons = others | reasons
        return {**row, "error": _reasons(reasons)} if reasons else row

    def _read(self, pair: Pair) -> tuple[np.ndarray | None, np.ndarray]:
        needs_clean = any(METRICS[name].needs_clean for name in self.metrics)
        return read_pair(pair, needs_clean, self.sample_rate, self.strict)

    def constant_delay(self, pairs: list[Pair]) -> int:
        """Return the median delay of the system's output over PROBES of the pairs, in samples; 0 if
        most of them drift."""
        step = max(1, len(pairs) // PROBES)
        found = []
        for pair in pairs[::step]:
            try:
                clean, noisy = self._read(pair)
                enhanced, _ = self.open()(pair, noisy)
            except QseError:  # reported with the utterance
                continue
            found.append(self._timing(enhanced, clean, noisy))
        if not found or drifts(found):
            return 0
        return round(np.median([row["delay"] for row in found]))

    def _timing(self, enhanced: np.ndarray, clean: np.ndarray | None, noisy: np.ndarray) -> Row:
        """Return delay, drift and polarity of the output, compared with the clean signal, else
        with the noisy one."""
        reference = noisy if clean is None else clean
        found = timing_of(enhanced, reference, self.sample_rate)
        row: Row = {"delay": found.delay}
        if found.drift is not None:
            row["drift"] = round(found.drift, 1)
        return {**row, "inverted": 1} if found.is_inverted else row


def score_pairs(scorer: Scorer, pairs: list[Pair], jobs: int | None = None) -> Iterable[Row]:
    """Yield the rows of the pairs as they come, `jobs` processes at a time.

    jobs: None: all cores; 0: this process. Raises QseError for a system that cannot be opened; a
    failure with an utterance is the `error` of its row.
    """
    scorer.open()  # a model that cannot be opened is reported now, not once per utterance
    return run_tasks(scorer, pairs, jobs, lambda pair: _without_pesq(scorer, pair))


def run_tasks(function: Callable, tasks: list, jobs: int | None, crashed: Callable) -> Iterable:
    """Yield function(task) in the order of completion; jobs = 0: in this process."""
    if jobs == 0:
        return map(function, tasks)
    return spread(function, tasks, min(jobs or cores(), max(1, len(tasks))), crashed)


def stamps_of(system: System, metrics: Iterable[str], pairs: list[Pair]) -> dict[str, str]:
    """Return {utterance: hash of qse's version, of the model's file, of metrics of one's own and of
    the state of the files}."""
    fingerprint = system.fingerprint() + "".join(map(version_of, metrics))
    outputs = system.outputs()
    stamps = {}
    for pair in pairs:
        paths = (pair.noisy, pair.clean, outputs.get(pair.name), *pair.lead_in)
        states = []
        for path in filter(None, paths):
            found = path.stat()
            states.append((str(path), found.st_size, last_change(found)))
        described = repr((__version__, fingerprint, states))
        stamps[pair.name] = hashlib.sha256(described.encode()).hexdigest()[:16]
    return stamps


def _without_pesq(scorer: Scorer, pair: Pair) -> Row:
    """Return the row of an utterance that ended its process: that of the other metrics."""
    others = tuple(name for name in scorer.metrics if METRICS[name].package != PESQ)
    crashed = crash_of(scorer.metrics)
    row: Row = {"name": pair.name}
    if 0 < len(others) < len(scorer.metrics):
        rest = replace(scorer, metrics=others)
        (row,) = spread(rest, [pair], 1, lambda _: {"name": pair.name})
    error = row.get("error")
    return {**row, "error": f"{error}; {crashed}" if error else crashed}


def crash_of(metrics: Iterable[str]) -> str:
    """Return the message for an utterance whose process ended while it computed these metrics."""
    has_pesq = any(METRICS[name].package == PESQ for name in metrics)
    return CRASHED + (OF_PESQ if has_pesq else ": is there enough memory?")


def _sentence(reason: Exception) -> str:
    return " ".join(str(reason).split()) or type(reason).__name__


def _reasons(reasons: dict[str, Exception]) -> str:
    """Return one sentence for {metric: reason}: the metrics of each reason, and the reason."""
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(_sentence(reason), []).append(name)
    parts = []
    for sentence, found in names.items():
        parts.append(f"{', '.join(found)}: {sentence}")
    return "; ".join(parts)
