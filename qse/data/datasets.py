"""Find the files of data sets: lists of pairs, in the layouts of the official corpora.

VoiceBank+DEMAND (Valentini-Botinhao et al. 2016):

    clean_trainset_28spk_wav/p226_001.wav
    noisy_trainset_28spk_wav/p226_001.wav
    clean_testset_wav/p232_001.wav
    noisy_testset_wav/p232_001.wav

DNS-Challenge 3 (Reddy et al. 2021), its folder `datasets`:

    clean/**/*.wav                            speech, by language
    noise/*.wav
    impulse_responses/SLR26, SLR28/**/*.wav
    dev_testset/**/*.wav                      noisy, no reference

VoiceBank comes at 48 kHz. A folder that holds 16 kHz copies in the same layout is taken as well.
Nothing is written to the folder of a corpus; copies for training: copies.py.
"""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from itertools import filterfalse
from pathlib import Path

from ..audio.formats import audio_within, suffix_of
from ..audio.suffixes import FORMATS, SUFFIXES
from ..errors import QseError, UsageError

SAMPLE_RATE = 16000  # Hz, of the copies

Progress = Callable[[int, int], None]  # how many are done, of how many
Stages = Callable[[str, int, int], None]  # what is being done, how many are, of how many


@dataclass(frozen=True)
class Pair:
    """An utterance: its name, the noisy recording, and the clean one; None for a file that is not
    there.

    lead_in: noisy recordings that a system hears end to end before this one, as if all came in one
    stream.
    """

    name: str
    noisy: Path | None
    clean: Path | None = None
    lead_in: tuple[Path, ...] = ()

    @property
    def files(self) -> list[Path]:
        """Return the noisy and the clean recording, those that are there."""
        return list(filter(None, (self.noisy, self.clean)))


def with_lead_in(pairs: list[Pair], count: int) -> list[Pair]:
    """Put before every pair the `count` noisy recordings before it in the list, at most all others;
    the list wraps."""
    count = min(count, len(pairs) - 1)
    found = []
    for place, pair in enumerate(pairs):
        before = []
        for back in range(count, 0, -1):
            before.append(pairs[place - back].noisy)
        found.append(replace(pair, lead_in=tuple(filter(None, before))))
    return found


@dataclass(frozen=True)
class Dns3:
    """The material of noisy speech: paths of clean speech, of noise, and of impulse responses,
    below `root`."""

    root: Path
    clean: list[Path]
    noise: list[Path]
    impulse_responses: list[Path]


def audio_files(folder: Path) -> list[Path]:
    """Return all audio files below `folder`, whose sub-folders may be links, sorted.

    Files that qse reads through ffmpeg alone are left out with a warning. QseError if there are no
    others.
    """
    if not Path(folder).is_dir():
        raise QseError(f"{folder}: no such folder; name one that holds audio files")
    files: list[Path] = []
    foreign: list[Path] = []
    for path in audio_within(Path(folder), SUFFIXES):
        (files if suffix_of(path) in FORMATS else foreign).append(path)
    if not files:
        raise QseError(
            f"{folder}: no audio files in this folder ({', '.join(FORMATS)}); name another"
        )
    if foreign:
        kinds = ", ".join(sorted(set(map(suffix_of, foreign))))
        count = "1 file is" if len(foreign) == 1 else f"{len(foreign)} files are"
        warnings.warn(
            f"{folder}: {count} left out ({kinds}), such as {foreign[0]}: convert them to FLAC",
            stacklevel=2,
        )
    return files


def top_folder(name: str) -> str:
    """Return the first folder of a path with slashes, "" if it has none."""
    folder, slash, _ = name.partition("/")
    return folder if slash else ""


def by_name(folder: Path) -> dict[str, Path]:
    """Return {name: path} of the audio files of `folder`: the path below it without suffix."""
    found: dict[str, Path] = {}
    for path in audio_files(folder):
        name = path.relative_to(folder).with_suffix("").as_posix()
        if name in found:
            raise QseError(
                f"{found[name]} and {path} are both called {name}: keep one of them in {folder}"
            )
        found[name] = path
    return found


def named_alike(files: dict[str, Path], names: Collection[str]) -> dict[str, Path]:
    """Return the files under those of `names` that differ from theirs in sub-folders alone, where
    one file and one name end so; the others under their own."""
    ends = Counter(map(_without_folders, names))
    own_ends = Counter(map(_without_folders, files))
    full = {_without_folders(name): name for name in names}
    found = {}
    for name, path in files.items():
        end = _without_folders(name)
        is_alone = ends[end] == own_ends[end] == 1
        found[full[end] if is_alone else name] = path
    return found


def _without_folders(name: str) -> str:
    return name.rpartition("/")[2]


def by_mark(files: dict[str, Path]) -> dict[str, Path]:
    """Shorten names that end in `fileid_N`, the DNS-Challenge's mark of a pair, to that mark where
    it is unique."""
    marks = {}
    for name in files:
        if mark := re.search(r"fileid_\d+$", name):
            marks[name] = mark.group()

    seen = Counter(marks.values())
    found = {}
    for name, path in files.items():
        is_alone = name in marks and seen[marks[name]] == 1
        found[marks[name] if is_alone else name] = path
    return found


def pair_folders(noisy: Path, clean: Path | None = None) -> list[Pair]:
    """Pair files of the same name in both folders, sorted by name; one without its counterpart is a
    pair with None. Sub-folders are searched; they may differ where names are unique."""
    noisy_files = by_mark(by_name(noisy))
    clean_files = by_mark(by_name(clean)) if clean else {}
    clean_files = named_alike(clean_files, noisy_files)
    names = sorted(noisy_files.keys() | clean_files.keys())
    return [Pair(name, noisy_files.get(name), clean_files.get(name)) for name in names]


def voicebank_files(folder: Path, part: str) -> list[Pair]:
    """Return the pairs of VoiceBank+DEMAND at the rate that they have; no file is opened.

    part: "train" (28 speakers) or "test" (2 others).
    """
    middle = {"train": "trainset_28spk", "test": "testset"}[part]
    noisy = _part_of(folder, f"noisy_{middle}_wav", "VoiceBank+DEMAND")
    clean = _part_of(folder, f"clean_{middle}_wav", "VoiceBank+DEMAND")
    return pair_folders(noisy, clean)


def dns3(folder: Path) -> Dns3:
    """Return the training material of DNS-Challenge 3, from its folder `datasets` or the one that
    holds it."""
    root = dns3_root(folder)
    clean = audio_files(_dns3_part(root, "clean"))
    noise = audio_files(_dns3_part(root, "noise"))
    responses = audio_files(_dns3_part(root, "impulse_responses"))
    return Dns3(root, clean, noise, list(filterfalse(_is_noise, responses)))


def _is_noise(path: Path) -> bool:
    """Return True for a noise file of SLR28 ("Room Impulse Response and Noise Database")."""
    return path.parent.name == "pointsource_noises" or "noise" in path.name


def dns3_test(folder: Path) -> list[Pair]:
    """Return the development test set of DNS-Challenge 3: noisy recordings without a reference."""
    return pair_folders(_dns3_part(dns3_root(folder), "dev_testset"))


TEST_SETS: dict[str, Callable[[Path], list[Pair]]] = {
    "voicebank": lambda folder: voicebank_files(folder, "test"),
    "dns3": dns3_test,
}
# utterances of the whole test sets (Yamauchi, Nitta and Tamori 2026, section 4.1)
TEST_SET_SIZES = {"voicebank": 824}


def test_pairs(dataset: str, folder: Path) -> list[Pair]:
    """Return the test utterances of a corpus in its folder: "voicebank" or "dns3".

    They are the files of the corpus as it comes, which nothing copies or changes: an evaluation
    converts what it reads. Raises UsageError for another corpus.
    """
    if dataset not in TEST_SETS:
        raise UsageError(f"no data set called {dataset}: there are {', '.join(TEST_SETS)}")
    return TEST_SETS[dataset](folder)


def _part_of(folder: Path, name: str, corpus: str) -> Path:
    if not (Path(folder) / name).is_dir():
        raise QseError(f"{folder} has no folder {name}: give the folder of {corpus} that holds it")
    return Path(folder) / name


def _dns3_part(root: Path, name: str) -> Path:
    return _part_of(root, name, "DNS-Challenge 3")


def dns3_root(folder: Path) -> Path:
    """Return the folder `datasets` of DNS-Challenge 3: this one, or that in it."""
    inner = Path(folder) / "datasets"
    return inner if inner.is_dir() else Path(folder)
