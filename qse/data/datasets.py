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

VoiceBank comes at 48 kHz: it is converted to 16 kHz once, into a folder `16kHz` beside the
originals. A folder that holds 16 kHz copies in the same layout is taken as it is.
"""

import os
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ..audio.atomic_write import atomic_path
from ..audio.formats import FORMATS, audio_within
from ..errors import QseError
from .recordings import length_and_rate, read_mono

SAMPLE_RATE = 16000  # Hz, of the copies
CACHE = "16kHz"

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


def with_lead_in(pairs: list[Pair], count: int) -> list[Pair]:
    """Put before every pair the `count` noisy recordings before it in the list, at most all others.

    The list wraps around.
    """
    count = min(count, len(pairs) - 1)
    noisy = [pair.noisy for pair in pairs]
    around = noisy[len(noisy) - count :] + noisy
    found = []
    for place, pair in enumerate(pairs):
        before = around[place : place + count]
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

    QseError if there are none.
    """
    if not Path(folder).is_dir():
        raise QseError(f"{folder}: no such folder; name one that holds audio files")
    files = audio_within(Path(folder))
    if not files:
        raise QseError(
            f"{folder}: no audio files in this folder ({', '.join(FORMATS)}); name another"
        )
    return files


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


def by_mark(files: dict[str, Path]) -> dict[str, Path]:
    """Shorten names that end in `fileid_N`, the DNS-Challenge's mark of a pair, to that mark where
    it is unique."""
    marks = {}
    for name in files:
        mark = re.search(r"fileid_\d+$", name)
        if mark:
            marks[name] = mark.group()

    seen = Counter(marks.values())
    found = {}
    for name, path in files.items():
        unique = name in marks and seen[marks[name]] == 1
        found[marks[name] if unique else name] = path
    return found


def pair_folders(noisy: Path, clean: Path | None = None) -> list[Pair]:
    """Pair files of the same name in both folders, sorted by name; one without its counterpart is a
    pair with None."""
    noisy_files = by_mark(by_name(noisy))
    clean_files = by_mark(by_name(clean)) if clean else {}
    names = sorted(noisy_files.keys() | clean_files.keys())
    return [Pair(name, noisy_files.get(name), clean_files.get(name)) for name in names]


def voicebank(folder: Path, part: str = "test", progress: Progress | None = None) -> list[Pair]:
    """Return the pairs of VoiceBank+DEMAND at 16 kHz: `part` is "train" (28 speakers) or "test"
    (2 others).

    Files at another rate are converted first, in threads; `progress` is called with (done, all) of
    them.
    """
    return with_copies(voicebank_files(folder, part), Path(folder), progress)


def voicebank_files(folder: Path, part: str) -> list[Pair]:
    """Return these pairs at the rate that they have; no file is opened."""
    middle = {"train": "trainset_28spk", "test": "testset"}[part]
    noisy = _part_of(folder, f"noisy_{middle}_wav", "VoiceBank+DEMAND")
    clean = _part_of(folder, f"clean_{middle}_wav", "VoiceBank+DEMAND")
    return pair_folders(noisy, clean)


def dns3(folder: Path) -> Dns3:
    """Return the training material of DNS-Challenge 3, from its folder `datasets` or the one that
    holds it."""
    root = _dns3_root(folder)
    clean = audio_files(_part_of(root, "clean", "DNS-Challenge 3"))
    noise = audio_files(_part_of(root, "noise", "DNS-Challenge 3"))
    responses = audio_files(_part_of(root, "impulse_responses", "DNS-Challenge 3"))
    return Dns3(root, clean, noise, [path for path in responses if not _is_noise(path)])


def _is_noise(path: Path) -> bool:
    """Return True for a noise file of SLR28 ("Room Impulse Response and Noise Database")."""
    return path.parent.name == "pointsource_noises" or "noise" in path.name


def dns3_test(folder: Path, progress: Progress | None = None) -> list[Pair]:
    """Return the development test set of DNS-Challenge 3: noisy recordings without a reference."""
    pairs = pair_folders(_part_of(_dns3_root(folder), "dev_testset", "DNS-Challenge 3"))
    return with_copies(pairs, _dns3_root(folder), progress)


TEST_SETS: dict[str, Callable[[Path, Progress | None], list[Pair]]] = {
    "voicebank": lambda folder, progress: voicebank(folder, "test", progress),
    "dns3": dns3_test,
}


def with_copies(pairs: list[Pair], root: Path, progress: Progress | None = None) -> list[Pair]:
    """Replace each file of another rate by a 16 kHz copy under root/16kHz, which is made if
    missing.

    A file that cannot be read stays as it is: the error comes when it is used.
    """
    files: list[Path] = []
    for pair in pairs:
        files += filter(None, (pair.noisy, pair.clean))

    copies: dict[Path | None, Path | None] = {None: None}
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        made = threads.map(lambda path: _copy(path, root), files)
        for done, (path, copy) in enumerate(zip(files, made, strict=True), 1):
            copies[path] = copy
            if progress:
                progress(done, len(files))
    return [Pair(pair.name, copies[pair.noisy], copies[pair.clean]) for pair in pairs]


def _copy(path: Path, root: Path) -> Path:
    import soundfile
    import soxr

    try:
        if length_and_rate(path)[1] == SAMPLE_RATE:
            return path
        copy = root / CACHE / path.relative_to(root).with_suffix(".wav")
        if copy.exists() and copy.stat().st_mtime >= path.stat().st_mtime:
            return copy
        audio, sample_rate = read_mono(path)
    except QseError:
        return path
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(copy) as beside:
            soundfile.write(
                beside,
                soxr.resample(audio, sample_rate, SAMPLE_RATE, "VHQ"),
                SAMPLE_RATE,
                format="WAV",
            )
    except (soundfile.SoundFileError, OSError) as reason:
        raise QseError(
            f"{copy} cannot be written: {reason}; free some space, or give 16 kHz copies"
        ) from reason
    return copy


def _part_of(folder: Path, name: str, corpus: str) -> Path:
    if not (Path(folder) / name).is_dir():
        raise QseError(f"{folder} has no folder {name}: give the folder of {corpus} that holds it")
    return Path(folder) / name


def _dns3_root(folder: Path) -> Path:
    inner = Path(folder) / "datasets"
    return inner if inner.is_dir() else Path(folder)
