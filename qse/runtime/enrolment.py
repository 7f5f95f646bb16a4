"""Enroll a talker: find the entries of a model's state that keep one voice, from its recording.

The model itself describes the talker: the means of some of its states over the hops with speech
("Personalized Speech Enhancement Without a Separate Speaker Embedding Model", arXiv 2406.09928).
The graph TALKER_GRAPH beside the model makes the entries of them. Its inputs are named as the
states of the model's graph for 16 kHz whose means they take, its outputs as the entries.
"""

from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ..audio.input_path import held_input
from ..audio.reader import open_audio
from ..audio.resample import converted
from ..errors import QseError
from ..model_folder import GRAPH, TALKER_GRAPH
from .checksums import verify
from .engine import Engine
from .offline import OfflineModel
from .talker_graph import TalkerGraph
from .voice import SUFFIX, Voice, read_voice

SPEAKING = 10**-3.5  # of the power of the loudest hop
LONGEST = 60.0  # seconds of a recording that are used
LEAST = 3.0  # seconds of speech
ENOUGH = 5.0  # seconds of speech in which a second voice shows
CLEAN = 10.0  # dB: less noise changes little
ALIKE = 0.5  # likeness: fewer than one voice in 20 has less, and half of the pairs of two

Talker = str | Path | Voice
NEAR: Literal["near"] = "near"  # in place of a talker: whoever is near


class Enrolment(NamedTuple):
    """Hold a voice, the seconds of speech in its recording, the level of the speech above the noise
    in dB, how alike two halves of it sound, from -1 to 1, what is damaged in its file, and how many
    sound tracks that has."""

    voice: Voice
    seconds: float
    snr: float
    likeness: float
    damage: str | None = None
    tracks: int = 1

    def doubts(self) -> list[str]:
        """Return sentences about what makes the voice less certain."""
        found = []
        if self.snr < CLEAN:
            found.append(
                f"the speech is only {self.snr:.0f} dB above the noise: enroll in a quiet room"
            )
        if self.seconds >= ENOUGH and self.likeness < ALIKE:
            found.append(
                f"its halves sound like two people (likeness {self.likeness:.2f}): "
                "one talker alone has to speak"
            )
        if self.tracks > 1:
            found.append(f"the first of its {self.tracks} sound tracks was enrolled")
        said = [f"{self.voice.origin}: {doubt}" for doubt in found]
        return [self.damage, *said] if self.damage else said


def keeping(model: Engine | OfflineModel, talker: Talker) -> Engine:
    """Return `model` for streams that keep `talker`: NEAR, a voice, its path (.voice), or that of a
    recording of the talker. Raises QseError where that cannot be."""
    if not isinstance(model, Engine) or not model.keeps_one:
        raise QseError(f"{model.name} cannot keep one talker: choose another model")
    return model.keeping(voice_of(talker, model.path.parent))


def voice_of(talker: Talker, folder: Path) -> Voice | None:
    """Return the voice of a talker as in `keeping`, for the model in `folder`; None for NEAR."""
    if isinstance(talker, Voice):
        return talker
    if str(talker) == NEAR:
        return None
    path = Path(talker)
    return enroll(path, folder).voice if is_recording(talker) else read_voice(path)


def is_recording(talker: str | Path) -> bool:
    """Return whether `talker`, as in `keeping`, is the path of a recording."""
    return str(talker) != NEAR and Path(talker).suffix != SUFFIX


def enroll(recording: Path, folder: Path) -> Enrolment:
    """Enroll the talker of a recording for the model in `folder`, at most LONGEST seconds of it.

    Raises QseError where it cannot be read, and as `enroll_sound` does.
    """
    name = str(recording)
    parts = []
    with held_input(recording, name) as held, open_audio(held, name) as source:
        rate = source.layout.sample_rate
        for block in source.blocks(LONGEST * rate):
            parts.append(block.mean(1))
    found = enroll_sound(np.concatenate(parts), rate, folder, name)
    tracks = len(source.media.tracks) if source.media else 1
    return found._replace(damage=source.damage, tracks=tracks)


def enroll_sound(audio: np.ndarray, sample_rate: float, folder: Path, origin: str) -> Enrolment:
    """Enroll the talker of (samples,) for the model in `folder`; `origin` names the sound.

    Raises QseError where it holds less than LEAST seconds of speech, and for a model without
    TALKER_GRAPH.
    """
    graph = folder / TALKER_GRAPH
    if not graph.is_file():
        raise QseError(f"{folder} has no {graph.name}: choose a model that keeps one talker")
    verify(folder / GRAPH)
    engine = Engine(folder / GRAPH)
    blocks = converted([audio[:, None]], sample_rate, engine.sample_rate, 1)
    found = enrolled(np.concatenate(list(blocks))[:, 0], engine, graph, origin)
    if found.seconds < LEAST:
        reason = f"holds {found.seconds:.1f} s of speech"
        raise QseError(f"{origin} {reason}: {LEAST:g} s are needed, 10 s are better")
    return found


def enrolled(audio: np.ndarray, engine: Engine, graph: Path, origin: str) -> Enrolment:
    """Enroll the talker of (samples,) at the rate of `engine`, however short. graph: of talkers."""
    state = engine.initial_state()
    talkers = TalkerGraph(graph, state)
    hop = engine.graph_hop_length
    noisy = audio[: len(audio) // hop * hop].reshape(-1, hop)
    states: dict[str, list[np.ndarray]] = {name: [] for name in talkers.states}
    enhanced = []
    for samples in noisy:
        output, state = engine.step(samples, state)
        enhanced.append(output)
        for name, found in states.items():
            found.append(state[name])
    power = np.square(noisy).mean(1)
    speaks = (power > SPEAKING * power.max(initial=0)).nonzero()[0]

    def entries(hops: np.ndarray) -> dict[str, np.ndarray]:
        means = {}
        for name, found in states.items():
            mean = np.stack([found[t] for t in hops]).mean(0, dtype=np.float64)
            means[name] = np.asarray(mean, np.float32)
        return talkers.entries(means)

    voice = Voice(engine.name, engine.version, entries(speaks) if len(speaks) else {}, origin)
    seconds = len(speaks) * hop / engine.sample_rate
    halves = [entries(half) for half in np.array_split(speaks, 2)] if len(speaks) > 1 else []
    lag = int(engine.metadata["latency"])
    left = np.concatenate(enhanced)[lag:] if enhanced else np.zeros(0)
    return Enrolment(voice, seconds, _snr(audio[: len(left)], left), _likeness(halves))


def _snr(noisy: np.ndarray, enhanced: np.ndarray) -> float:
    """Return the level of an enhanced signal above what was removed, in dB, at most 60."""
    kept = np.square(enhanced).sum() + 1e-12
    removed = np.square(noisy - enhanced).sum()
    return float(10 * np.log10(kept / max(removed, 1e-6 * kept)))


def _likeness(halves: list[dict[str, np.ndarray]]) -> float:
    """Return the cosine of two sets of entries."""
    if not halves:
        return 1.0
    first = _joined(halves[0])
    second = _joined(halves[1])
    norm = np.linalg.norm(first) * np.linalg.norm(second)
    return float(first @ second / norm) if norm else 1.0


def _joined(entries: dict[str, np.ndarray]) -> np.ndarray:
    return np.concatenate([entry.ravel() for entry in entries.values()])
