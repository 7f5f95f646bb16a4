"""Mix pairs in which other people talk farther away, from an assembled corpus and simulated rooms.

    pip install pyroomacoustics
    python tools/mix_talkers.py --corpus CORPUS --out TALKERS

CORPUS is what assemble_corpus.py has written. Rooms come from pyroomacoustics: image sources,
walls of materials whose absorption depends on frequency; another kind than the rooms of training.
The direct sound of the talker is raised to 8 to 15 dB above all reflections, as close to a
microphone. clean/ holds the talker alone, with the reflections of the first 50 ms.

TALKERS gets four folders of pairs for `qse evaluate`, each with clean/, noisy/ and groups.tsv:

- mixtures: 10 s; a talker with pauses of 1 to 2 s, one or two others who never pause at 0, 6, 12
  and 18 dB below the talker, noise at 12 to 20 dB;
- held: 16 s; the talker is silent from 4 s on, the other stays, at 6 dB;
- alone: 6 s; one talker at 0.5, 1.2 or 2 m, nobody else, noise at 20 to 30 dB;
- told: 8 s; another talker as near and as loud; enrolment/ has 6 s of the talker from other
  recordings, in another room, noise at 20 to 30 dB.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sound_files
import torch
from mix_pairs import Recordings, in_room, sources
from simulated_room import room_responses

from qse.audio.file_mode import Sources
from qse.data.levels import active_level

RATIOS = (0.0, 6.0, 12.0, 18.0)  # dB, the talker above the others
CLOSE = (0.3, 0.8)  # metres, of a talker among others
FAR = (2.0, 4.5)  # metres, of the others
SNR = (12.0, 20.0)  # dB
SNR_ALONE = (20.0, 30.0)  # dB
ENROLMENT = 6.0  # seconds
DISTANCES = (0.5, 1.2, 2.0)  # metres, of a talker alone
PEAKS = (-12.0, -1.0)  # dBFS
DIRECT = 0.0025  # seconds of a response that count as direct sound
COLUMNS = ("id", "speaker", "speech_source", "noise_source", "ratio_db", "others", "distance_m")


class Scene(NamedTuple):
    """One pair: (samples,) each, and the cells of its line in groups.tsv; an enrolment, where the
    talker is told."""

    noisy: np.ndarray
    clean: np.ndarray
    labels: tuple[str, ...]
    enrolment: np.ndarray | None = None


class Studio:
    """Draw talkers, noise and rooms; sources take turns."""

    def __init__(self, corpus: Path, rate: int, seed: int) -> None:
        self.rate = rate
        self.rng = np.random.default_rng(seed)
        self.drawn: dict[str, dict[str, Recordings]] = {}
        for kind, found in sources(corpus, 0).items():
            self.drawn[kind] = {}
            for name, rows in sorted(found.items()):
                self.drawn[kind][name] = Recordings(corpus, rows, rate, self.rng)

    def source(self, kind: str, number: int) -> tuple[str, Recordings]:
        names = list(self.drawn[kind])
        name = names[number % len(names)]
        return name, self.drawn[kind][name]

    def paused(self, recordings: Recordings, seconds: float) -> tuple[str, np.ndarray]:
        """Return a speaker and (samples,) of utterances with pauses of 1 to 2 s between them."""
        speaker = next(recordings.groups)
        audio = np.zeros(0)
        while len(audio) < seconds * self.rate:
            said = recordings.read(next(recordings.rows[speaker]))
            said = said[: round(3.0 * self.rate)]  # so that there are pauses
            pause = np.zeros(round(self.rng.uniform(1.0, 2.0) * self.rate))
            audio = np.concatenate([audio, said, pause])
        return speaker, audio[: round(seconds * self.rate)]

    def responses(self, distances: list[float]) -> list[np.ndarray]:
        """Simulate a room with a microphone and talkers at these distances in metres: their
        responses, the direct sound 1 at sample 0."""
        return room_responses(self.rng, self.rate, distances)

    def near(self, response: np.ndarray) -> np.ndarray:
        """Return the response with its direct sound 8 to 15 dB above the rest."""
        direct = round(DIRECT * self.rate)
        ratio = np.square(response[:direct]).sum() / np.square(response[direct:]).sum()
        wanted = 10 ** (self.rng.uniform(8.0, 15.0) / 10)
        reflections = response[direct:] * np.sqrt(min(1.0, ratio / wanted))
        return np.concatenate([response[:direct], reflections])

    def at_peak(self, *signals: np.ndarray) -> list[np.ndarray]:
        """Return signals at one gain, for a random peak."""
        gain = 10 ** (self.rng.uniform(*PEAKS) / 20) / max(np.abs(x).max() for x in signals)
        return [gain * x for x in signals]

    def level(self, audio: np.ndarray) -> float:
        return float(active_level(torch.from_numpy(audio[None]), frame=self.rate // 50))

    def below(self, audio: np.ndarray, reference: np.ndarray, ratio: float) -> np.ndarray:
        """Scale audio to `ratio` dB below the reference."""
        return audio * self.level(reference) / self.level(audio) * 10 ** (-ratio / 20)

    def scene(
        self,
        number: int,
        seconds: float,
        others: int = 0,
        ratio: float = 0.0,
        distance: float = 0.0,
        silent_from: float = np.inf,
    ) -> Scene:
        """Mix one pair: a talker and `others` whose sum lies `ratio` dB below, and noise.

        distance: of a talker alone, in metres; 0 for a talker close to the microphone. silent_from:
        seconds after which the talker is silent.
        """
        samples = round(seconds * self.rate)
        name, voices = self.source("speech", number)
        kind, noises = self.source("noise", number // len(self.drawn["speech"]))
        speaker, spoken = self.paused(voices, seconds) if others else voices.speech(samples)
        spoken[np.arange(samples) >= silent_from * self.rate] = 0
        own = distance or self.rng.uniform(*CLOSE)
        responses = self.responses([own, *self.rng.uniform(*FAR, others)])
        response = responses[0] if distance else self.near(responses[0])
        heard, clean = in_room(spoken, response, self.rate)
        snr = self.rng.uniform(*(SNR_ALONE if distance else SNR))
        noisy = heard + self.below(noises.noise(samples)[1], heard, snr)
        if others:
            noisy += self.below(self.crowd(number, responses[1:], samples), heard, ratio)
        noisy, clean = self.at_peak(noisy, clean)
        labels = (speaker, name, kind, f"{ratio:g}", f"{others}", f"{distance:g}")
        return Scene(noisy, clean, labels)

    def told(self, number: int, seconds: float) -> Scene:
        """Mix one pair of two talkers who are alike in distance and level, and an enrolment of the
        first."""
        samples = round(seconds * self.rate)
        name, voices = self.source("speech", number)
        kind, noises = self.source("noise", number // len(self.drawn["speech"]))
        speaker, spoken = self.paused(voices, seconds)
        before = np.zeros(0)
        while len(before) < ENROLMENT * self.rate:
            before = np.concatenate([before, voices.read(next(voices.rows[speaker]))])
        before = before[: round(ENROLMENT * self.rate)]
        mouths = map(self.near, self.responses(list(self.rng.uniform(*CLOSE, 2))))
        heard, clean = in_room(spoken, next(mouths), self.rate)
        noisy = heard + self.below(self.crowd(number, list(mouths), samples), heard, 0.0)
        noisy += self.below(noises.noise(samples)[1], heard, self.rng.uniform(*SNR))
        noisy, clean = self.at_peak(noisy, clean)
        place = self.near(self.responses([self.rng.uniform(*CLOSE)])[0])
        enrolment = in_room(before, place, self.rate)[0]
        hiss = noises.noise(len(enrolment))[1]
        enrolment += self.below(hiss, enrolment, self.rng.uniform(*SNR_ALONE))
        (enrolment,) = self.at_peak(enrolment)
        return Scene(noisy, clean, (speaker, name, kind, "0", "1", "0"), enrolment)

    def crowd(self, number: int, responses: list[np.ndarray], samples: int) -> np.ndarray:
        """Return others (samples,), each of another source than the talker `number`, equally
        loud."""
        total = np.zeros(samples)
        for place, response in enumerate(responses):
            said = self.source("speech", number + 1 + place)[1].speech(samples)[1]
            total += in_room(said / self.level(said), response, self.rate)[0]
        return total


def scenes(studio: Studio, count: int) -> Iterator[tuple[str, Scene]]:
    """Yield (folder, pair): `count` for each ratio, as many held, and half as many at each
    distance."""
    for ratio in RATIOS:
        for number in range(count):
            yield "mixtures", studio.scene(number, 10.0, others=1 + number % 2, ratio=ratio)
    for number in range(count):
        yield "held", studio.scene(number, 16.0, others=1, ratio=6.0, silent_from=4.0)
    for distance in DISTANCES:
        for number in range(count // 2):
            yield "alone", studio.scene(number, 6.0, distance=distance)
    for number in range(count):
        yield "told", studio.told(number, 8.0)


def main() -> None:
    """Read the command line and write the pairs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="new folder for the pairs")
    parser.add_argument("--sample-rate", type=int, default=16000, help="of the pairs, in Hz")
    parser.add_argument("--count", type=int, default=60, help="pairs of each ratio")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()

    lines: dict[str, list[str]] = {}
    with sound_files.new_pairs(given.out, Sources([given.corpus])) as pairs:
        studio = Studio(given.corpus, given.sample_rate, given.seed)
        for folder, scene in scenes(studio, given.count):
            listed = lines.setdefault(folder, ["\t".join(COLUMNS)])
            name = f"t{len(listed) - 1:03}"
            sides = {"noisy": scene.noisy, "clean": scene.clean}
            if scene.enrolment is not None:
                sides["enrolment"] = scene.enrolment
            pairs.at(folder).add(name, sides, given.sample_rate)
            listed.append("\t".join([name, *scene.labels]))
        for folder, listed in lines.items():
            pairs.at(folder).tell(listed)
    print(f"{sum(map(len, lines.values())) - len(lines)} pairs written to {given.out}")


if __name__ == "__main__":
    main()
