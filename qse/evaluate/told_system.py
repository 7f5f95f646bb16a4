"""Evaluate a model that keeps one talker, who is told by a recording for each utterance."""

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..data.datasets import Pair, by_name
from ..errors import QseError, UsageError
from .computing_systems import ModelSystem, timed
from .system import Enhanced, Enhancer, System, matched


@dataclass(frozen=True)
class ToldSystem(ModelSystem):
    """A model whose talker is that of a recording in the folder `talkers`, named like the noisy
    one. files: {utterance: recording}, found by `prepared`."""

    talkers: Path = Path()
    files: dict[str, Path] = field(default_factory=dict)

    def fingerprint(self) -> str:
        digest = hashlib.sha256(super().fingerprint().encode())
        for name, path in sorted(self.files.items()):
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
            digest.update(name.encode(errors="surrogateescape") + b"\0" + content)
        return digest.hexdigest()

    def prepared(self, pairs: list[Pair]) -> "ToldSystem":
        names = [pair.name for pair in pairs]
        return replace(self, files=matched(by_name(self.talkers), names))

    def open(self, sample_rate: int) -> Enhancer:
        from .. import denoise, load
        from ..runtime.enrolment import keeping

        engine = load(self.path, self.threads)
        denoise(np.zeros(sample_rate, np.float32), sample_rate, engine)  # the first run costs more

        def enhance(pair: Pair, noisy: np.ndarray) -> Enhanced:
            path = self.files.get(pair.name)
            if path is None:
                raise QseError(f"{self.talkers} has no file called {pair.name}")
            kept = keeping(engine, path)

            def process(audio: np.ndarray, rate: int) -> np.ndarray:
                return denoise(audio.astype(np.float32), rate, kept)

            return timed(process, pair, noisy, sample_rate)

        return enhance


def told(system: System, talkers: Path) -> ToldSystem:
    """Return the system that is told the talkers. UsageError for one that is no exported model."""
    if not isinstance(system, ModelSystem):
        raise UsageError(f"{system.name} is no exported model: leave talkers={talkers} out")
    return ToldSystem(f"{system.name}-told", system.path, system.threads, talkers)
