"""Count the words that a recogniser hears of a talker, and of other people behind: spoken digits.

    pip install pyroomacoustics pocketsphinx
    python tools/digit_errors.py mix --digits FOLDER --corpus CORPUS --out PAIRS
    python tools/digit_errors.py count PAIRS PAIRS/noisy PAIRS/clean ENHANCED

FOLDER has recordings named DIGIT_SPEAKER_NUMBER.wav, as those of the Free Spoken Digit Dataset
(six speakers, 8 kHz, CC BY-SA 4.0). CORPUS is what assemble_corpus.py has written; its noise is
used. A pair is mixed as the mixtures of mix_talkers.py are: a talker says eight digits, with
pauses between, and one other person, farther away and 0 to 18 dB below, says digits all the time.
groups.tsv names the words of the talker.

pocketsphinx hears any row of digits, with the English model that it brings. Of the fewest errors
that turn the words of the talker into those heard, insertions are words of the other one or of
noise, deletions words of the talker that are lost.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sound_files
from measure_wer import RATE, pcm_16, read
from mix_pairs import in_room
from mix_talkers import CLOSE, FAR, RATIOS, SNR, Studio
from repository_files import read_table

from qse.audio.file_mode import Sources

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SAID = 8  # digits of the talker in a pair
PAUSES = (0.3, 1.2)  # seconds between digits of the talker
PAUSES_BEHIND = (0.0, 0.2)  # of the other one
COLUMNS = ("id", "speaker", "ratio_db", "words")


class Errors(NamedTuple):
    """Hold numbers of words."""

    substituted: int
    deleted: int
    inserted: int


class Digits:
    """Recordings of digits by their speakers."""

    def __init__(self, folder: Path, rng: np.random.Generator) -> None:
        self.rng = rng
        self.paths: dict[str, list[Path]] = {}
        for path in sorted(folder.glob("*.wav")):
            self.paths.setdefault(path.stem.split("_")[1], []).append(path)
        if len(self.paths) < 2:
            raise SystemExit(f"{folder} has no recordings DIGIT_SPEAKER_NUMBER.wav of two speakers")

    def said(self, speaker: str, pauses: tuple[float, float]) -> Iterator[tuple[str, np.ndarray]]:
        """Yield words of a speaker for ever, each (samples,) of equal level with the pause
        before."""
        while True:
            path = self.paths[speaker][self.rng.integers(len(self.paths[speaker]))]
            audio = sound_files.read(path, RATE)
            pause = np.zeros(round(self.rng.uniform(*pauses) * RATE))
            level = np.sqrt(np.square(audio).mean())
            yield WORDS[int(path.stem[0])], np.concatenate([pause, audio / level])


def mixed(
    studio: Studio, digits: Digits, number: int, ratio: float
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return (noisy, clean, cells of COLUMNS but the first) of a pair."""
    speakers = studio.rng.permutation(list(digits.paths))
    own = digits.said(speakers[0], PAUSES)
    words, parts = zip(*(next(own) for _ in range(SAID)), strict=True)
    spoken = np.concatenate([*parts, np.zeros(RATE // 2)])
    behind = np.zeros(0)
    for _, part in digits.said(speakers[1], PAUSES_BEHIND):
        behind = np.concatenate([behind, part])
        if len(behind) >= len(spoken):
            break
    place, far = studio.responses([studio.rng.uniform(*CLOSE), studio.rng.uniform(*FAR)])
    heard, clean = in_room(spoken, studio.near(place), RATE)
    other = in_room(behind[: len(spoken)], far, RATE)[0]
    noise = studio.source("noise", number)[1].noise(len(spoken))[1]
    noisy = heard + studio.below(other, heard, ratio)
    noisy += studio.below(noise, heard, studio.rng.uniform(*SNR))
    noisy, clean = studio.at_peak(noisy, clean)
    return noisy, clean, (speakers[0], f"{ratio:g}", " ".join(words))


def mix(given: argparse.Namespace) -> None:
    """Write the pairs."""
    lines = ["\t".join(COLUMNS)]
    with sound_files.new_pairs(given.out, Sources([given.corpus, given.digits])) as pairs:
        studio = Studio(given.corpus, RATE, given.seed)
        digits = Digits(given.digits, studio.rng)
        for ratio in RATIOS:
            for number in range(given.count):
                noisy, clean, cells = mixed(studio, digits, number, ratio)
                name = f"d{len(lines) - 1:03}"
                pairs.add(name, {"noisy": noisy, "clean": clean}, RATE)
                lines.append("\t".join([name, *cells]))
        pairs.tell(lines)
    print(f"{len(lines) - 1} pairs written to {given.out}")


def count(given: argparse.Namespace) -> None:
    """Print a Markdown table of the errors in each folder, by ratio."""
    recognise = pocketsphinx()
    rows = read_table(given.pairs / "groups.tsv")
    print("errors of 100 words: substitutions + deletions + insertions\n")
    print("| folder |", " | ".join(f"{ratio:g} dB" for ratio in RATIOS), "|")
    print("|---|" + "---|" * len(RATIOS))
    for folder in given.folders:
        found: dict[float, list[Errors]] = {ratio: [] for ratio in RATIOS}
        words: dict[float, int] = dict.fromkeys(RATIOS, 0)
        for row in rows:
            (path,) = sorted(folder.glob(f"{row['id']}.*"))
            ratio = float(row["ratio_db"])
            said = row["words"].split()
            found[ratio].append(errors(said, recognise(read(path))))
            words[ratio] += len(said)
        cells = []
        for ratio, errors_of in found.items():
            parts = 100 * np.sum(errors_of, 0) / words[ratio]
            cells.append(" + ".join(f"{part:.1f}" for part in parts) + f" = {parts.sum():.1f}")
        print(f"| {folder} |", " | ".join(cells), "|", flush=True)


def errors(said: list[str], heard: list[str]) -> Errors:
    """Return the fewest errors that turn the words said into those heard."""
    best = [Errors(0, 0, inserted) for inserted in range(len(heard) + 1)]
    for word in said:
        above = best
        best = [above[0]._replace(deleted=above[0].deleted + 1)]
        for other, beside, before in zip(heard, above[1:], above[:-1], strict=True):
            best.append(
                min(
                    before._replace(substituted=before.substituted + (word != other)),
                    beside._replace(deleted=beside.deleted + 1),
                    best[-1]._replace(inserted=best[-1].inserted + 1),
                    key=sum,
                )
            )
    return best[-1]


def pocketsphinx() -> Callable[[np.ndarray], list[str]]:
    """Return a function of (samples,) at RATE to the digits that are heard."""
    from pocketsphinx import Decoder

    decoder = Decoder(lm=None, loglevel="FATAL")
    decoder.add_jsgf_string(
        "digits", f"#JSGF V1.0;\ngrammar digits;\npublic <row> = ({' | '.join(WORDS)})+;\n"
    )
    decoder.activate_search("digits")

    def recognise(audio: np.ndarray) -> list[str]:
        decoder.start_utt()
        decoder.process_raw(pcm_16(audio), full_utt=True)
        decoder.end_utt()
        heard = decoder.hyp()
        return heard.hypstr.split() if heard else []

    return recognise


def main() -> None:
    """Read the command line, and mix or count."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    mixing = commands.add_parser("mix", help="write pairs")
    mixing.add_argument("--digits", type=Path, required=True)
    mixing.add_argument("--corpus", type=Path, required=True)
    mixing.add_argument("--out", type=Path, required=True, help="new folder for the pairs")
    mixing.add_argument("--count", type=int, default=30, help="pairs of each ratio")
    mixing.add_argument("--seed", type=int, default=0)
    mixing.set_defaults(run=mix)
    counting = commands.add_parser("count", help="print the errors in folders")
    counting.add_argument("pairs", type=Path)
    counting.add_argument("folders", type=Path, nargs="+")
    counting.set_defaults(run=count)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
