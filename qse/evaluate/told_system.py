"""Evaluate a model that keeps one talker, who is told by a recording for each utterance."""

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..data.datasets import Pair, by_name
from ..data.recordings import notice
from ..errors import UsageError
from ..runtime.checksums import sha256_of
from ..runtime.enrolment import enroll, keeping
from ..runtime.zoo import load
from .computing_systems import ModelSystem, enhancing, timed
from .system import Enhanced, Enhancer, System, file_of, matched


@dataclass(frozen=True)
class ToldSystem(ModelSystem):
    """A model whose talker is that of a recording in the folder `talkers`, named like the noisy
    one. files: {utterance: recording}, found by `prepared`."""

    talkers: Path = Path()
    files: dict[str, Path] = field(default_factory=dict)

    def fingerprint(self) -> str:
        digest = hashlib.sha256(super().fingerprint().encode())
        for name, path in sorted(self.files.items()):
            digest.update(name.encode(errors="surrogateescape") + b"\0" + sha256_of(path).encode())
        return digest.hexdigest()

    def prepared(self, pairs: list[Pair]) -> "ToldSystem":
        names = [pair.name for pair in pairs]
        return replace(self, files=matched(by_name(self.talkers), names))

    def files_for(self, name: str) -> list[Path]:
        return [self.files[name]] if name in self.files else []

    def open(self, sample_rate: int) -> Enhancer:
        engine = load(self.path, self.threads)
        # the first run costs more
        enhancing(engine)(np.zeros(sample_rate, np.float32), sample_rate)

        def enhance(pair: Pair, noisy: np.ndarray) -> Enhanced:
            told = enroll(file_of(pair, self.files, self.talkers), engine.path.parent)
            notice(told.damage)
            kept = keeping(engine, told.voice)
            return timed(enhancing(kept), pair, noisy, sample_rate)

        return enhance


def told(system: System, talkers: Path) -> ToldSystem:
    """Return the system that is told the talkers. UsageError for one that is no exported model."""
    if not isinstance(system, ModelSystem):
        raise UsageError(f"{system.name} is no exported model: leave talkers={talkers} out")
    return ToldSystem(f"{system.name}-told", system.path, system.threads, talkers)
