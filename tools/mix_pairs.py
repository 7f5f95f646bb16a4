"""Mix noisy and clean pairs from an assembled corpus, with equal shares of its sources and SNRs.

    python tools/mix_pairs.py --corpus CORPUS --out PAIRS

CORPUS is what assemble_corpus.py has written. The source of a recording is its group up to the
first hyphen: `ravdess` of the group `ravdess-actor-01`. Every source of speech meets every source
of noise at every SNR, `--count` times.

PAIRS gets clean/ and noisy/ with FLAC files of equal names, 4 s each, and groups.tsv with the
columns id, speaker, speech_source, noise, noise_source and snr_db, for `qse evaluate --groups
PAIRS/groups.tsv --by noise_source`. Speech is one speaker's recordings in a row; the speakers of a
source take turns, and so do the recordings of a source of noise. The SNR compares levels over the
frames within 40 dB of the loudest one.

With `--rooms FOLDER`, measured impulse responses, noisy/ holds speech in these rooms, which take
turns, and clean/ keeps its direct sound and the reflections of the first 50 ms; groups.tsv has the
column room. The largest sample of a response is the direct sound.
"""

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sound_files
import torch
from repository_files import Row, read_table

from qse.audio.file_mode import Sources
from qse.data.filters import reverberate
from qse.data.levels import SILENCE, active_level
from qse.data.room_simulation import from_direct

SECONDS = 4.0
SNRS = (-2.5, 2.5, 7.5, 12.5, 17.5)  # dB
PAUSE = 0.15  # seconds between two recordings of a speaker
FADE = 0.02  # seconds, where a short noise is repeated
PLACES = 100  # of a recording that are tried, where it is silent
PEAKS = (-12.0, -1.0)  # dBFS, of the louder side
EARLY = 0.05  # seconds from the direct sound on that stay in clean/
COLUMNS = ("id", "speaker", "speech_source", "noise", "noise_source", "snr_db")


class Room(NamedTuple):
    """A measured impulse response (samples,), from the direct sound, which is 1, on."""

    name: str
    response: np.ndarray


class Recordings:
    """The recordings of one source.

    Groups take turns in random order, and so do the recordings of a group.
    """

    def __init__(self, corpus: Path, rows: list[Row], rate: int, rng: np.random.Generator) -> None:
        self.corpus = corpus
        self.rate = rate
        self.rng = rng
        by_group: dict[str, list[Row]] = {}
        for row in rows:
            by_group.setdefault(row["group"], []).append(row)
        self.rows = {group: self._turns(of_group) for group, of_group in by_group.items()}
        self.groups = self._turns(sorted(by_group))

    def _turns(self, items: list[Any]) -> Iterator[Any]:
        """Yield the items for ever, each once before any comes again."""
        while True:
            for index in self.rng.permutation(len(items)):
                yield items[index]

    def read(self, row: Row) -> np.ndarray:
        for name in (row["group"], row["id"]):
            if Path(name).name != name:
                raise SystemExit(f"{self.corpus}/index.tsv: {name!r} is no name of a file")
        path = self.corpus / row["kind"] / row["group"] / f"{row['id']}.flac"
        audio = sound_files.read(path, self.rate)
        if not len(audio):
            raise SystemExit(f"{path} holds no samples: leave it out")
        return audio

    def speech(self, samples: int) -> tuple[str, np.ndarray]:
        """Return a speaker, and (samples,) of their recordings in a row, with pauses between."""
        speaker = next(self.groups)
        pause = np.zeros(round(PAUSE * self.rate))
        audio = np.zeros(0)
        while len(audio) < samples:
            audio = np.concatenate([audio, self.read(next(self.rows[speaker])), pause])
        return speaker, audio[:samples]

    def noise(self, samples: int) -> tuple[str, np.ndarray]:
        """Return a recording's name, and (samples,) of it from a random place.

        A recording that is too short is repeated. A place where it is silent is not taken.
        """
        row = next(self.rows[next(self.groups)])
        audio = self.read(row)
        fade = round(FADE * self.rate)
        if len(audio) <= fade:
            name = f"{row['group']}/{row['id']}"
            raise SystemExit(f"{name} is too short to be repeated: leave it out")
        rise = np.linspace(0, 1, fade)
        piece = audio
        while len(audio) < samples:
            joint = audio[-fade:] * (1 - rise) + piece[:fade] * rise
            audio = np.concatenate([audio[:-fade], joint, piece[fade:]])
        for _ in range(PLACES):
            start = self.rng.integers(len(audio) - samples + 1)
            cut = audio[start : start + samples]
            level = active_level(torch.from_numpy(cut[None]), frame=self.rate // 50)
            if float(level) >= SILENCE:
                return f"{row['group']}/{row['id']}", cut
        raise SystemExit(f"{row['group']}/{row['id']} is silent almost everywhere: leave it out")


def read_rooms(folder: Path, rate: int) -> list[Room]:
    """Return the responses of a folder's audio files, converted to `rate`."""
    rooms = []
    for path in sorted(folder.iterdir()):
        rooms.append(Room(path.stem, from_direct(sound_files.read(path, rate))))
    return rooms


def in_room(speech: np.ndarray, response: np.ndarray, rate: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (speech in the room, speech with the early reflections alone), both (samples,)."""
    early = round(EARLY * rate)
    batch = torch.from_numpy(speech[None])
    heard, clean = reverberate(batch, torch.from_numpy(response[None]), early)
    return heard[0].numpy(), clean[0].numpy()


def mixed(
    heard: np.ndarray, clean: np.ndarray, noise: np.ndarray, snr: float, peak: float, rate: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return (noisy, clean), the louder side with a peak of `peak` dBFS.

    noisy is `heard` with noise `snr` dB below it.
    """
    levels = active_level(torch.from_numpy(np.stack([heard, noise])), frame=rate // 50).numpy()
    noisy = heard + noise * levels[0] / levels[1] * 10 ** (-snr / 20)
    gain = 10 ** (peak / 20) / max(np.abs(noisy).max(), np.abs(clean).max())
    return noisy * gain, clean * gain


def sources(corpus: Path, least_cutoff: int) -> dict[str, dict[str, list[Row]]]:
    """Return {"speech" or "noise": {source: its recordings}} of a corpus."""
    found: dict[str, dict[str, list[Row]]] = {"speech": {}, "noise": {}}
    for row in read_table(corpus / "index.tsv"):
        if int(row["cutoff_hz"]) >= least_cutoff:
            source = row["group"].partition("-")[0]
            found[row["kind"]].setdefault(source, []).append(row)
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--corpus", type=Path, required=True, help="folder written by assemble_corpus.py"
    )
    parser.add_argument("--out", type=Path, required=True, help="new folder for the pairs")
    parser.add_argument("--sample-rate", type=int, default=16000, help="of the pairs, in Hz")
    parser.add_argument(
        "--least-cutoff", type=int, default=0, help="leave out recordings that end below it, in Hz"
    )
    parser.add_argument(
        "--count", type=int, default=1, help="pairs of every speech source, noise source and SNR"
    )
    parser.add_argument("--rooms", type=Path, help="folder of measured impulse responses")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> None:
    """Read the command line and write the pairs."""
    given = arguments()
    read_from = Sources([given.corpus, *([given.rooms] if given.rooms else [])])
    with sound_files.new_pairs(given.out, read_from) as pairs:
        count = mix(given, pairs)
    print(f"{count} pairs written to {given.out}")


def mix(given: argparse.Namespace, pairs: sound_files.Pairs) -> int:
    """Add a pair for each cell; return their number."""
    rng = np.random.default_rng(given.seed)
    rate = given.sample_rate
    drawn: dict[str, dict[str, Recordings]] = {}
    for kind, found in sources(given.corpus, given.least_cutoff).items():
        drawn[kind] = {}
        for name, rows in sorted(found.items()):
            drawn[kind][name] = Recordings(given.corpus, rows, rate, rng)

    rooms = itertools.cycle(read_rooms(given.rooms, rate) if given.rooms else [])
    lines = ["\t".join([*COLUMNS, "room"] if given.rooms else COLUMNS)]
    cells = itertools.product(
        drawn["speech"].items(), drawn["noise"].items(), SNRS, range(given.count)
    )
    for number, ((voice, speech), (kind, noise), snr, _) in enumerate(cells):
        speaker, spoken = speech.speech(round(SECONDS * rate))
        recording, disturbance = noise.noise(round(SECONDS * rate))
        labels = [speaker, voice, recording, kind, str(snr)]
        heard = spoken
        clean = spoken
        if given.rooms:
            room = next(rooms)
            heard, clean = in_room(spoken, room.response, rate)
            labels.append(room.name)
        noisy, clean = mixed(heard, clean, disturbance, snr, rng.uniform(*PEAKS), rate)
        name = f"u{number:03}"
        pairs.add(name, {"noisy": noisy, "clean": clean}, rate)
        lines.append("\t".join([name, *labels]))
    pairs.tell(lines)
    return len(lines) - 1


if __name__ == "__main__":
    main()
