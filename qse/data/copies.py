"""Convert the files of a corpus to 16 kHz once, for training, into a cache outside the corpus."""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..audio.atomic_write import atomic_path
from ..audio.file_mode import Sources
from ..audio.folder_path import make_folder
from ..audio.writer import write_samples
from ..errors import QseError
from ..user_folders import cache_folder
from .datasets import SAMPLE_RATE, Pair, Progress, voicebank_files
from .recordings import length_and_rate, read_mono


def voicebank(folder: Path, part: str = "test", progress: Progress | None = None) -> list[Pair]:
    """Return the pairs of VoiceBank+DEMAND at 16 kHz.

    part: "train" (28 speakers) or "test" (2 others). Files at another rate are converted first, in
    threads; `progress` is called with (done, all) of them.
    """
    return with_copies(voicebank_files(folder, part), Path(folder), progress)


def copies_of(root: Path) -> Path:
    """Return the folder for 16 kHz copies of a corpus in the folder `root`.

    It is below the environment variable QSE_CACHE, else in the user's folder for caches.
    """
    root = Path(root).resolve()
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
    return cache_folder() / "16kHz" / f"{root.name}-{digest}"


def with_copies(pairs: list[Pair], root: Path, progress: Progress | None = None) -> list[Pair]:
    """Replace each file of another rate by a 16 kHz copy in `copies_of(root)`, made if missing.

    A file that cannot be read stays as it is: the error comes when it is used.
    """
    files = []
    for pair in pairs:
        files += pair.files
    copies: dict[Path | None, Path | None] = {None: None}
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for done, (path, copy) in enumerate(
            zip(files, threads.map(lambda p: _copy(p, root), files), strict=True), 1
        ):
            copies[path] = copy
            if progress:
                progress(done, len(files))
    return [Pair(pair.name, copies[pair.noisy], copies[pair.clean]) for pair in pairs]


def _is_current(copy: os.stat_result, source: os.stat_result) -> bool:
    """Return whether a copy, which has the time of its source, is of this one: programs may keep
    that time when they change a file, but not the second one, which is later then."""
    return int(copy.st_mtime) == int(source.st_mtime) and copy.st_ctime >= source.st_ctime


def _copy(path: Path, root: Path) -> Path:
    import soundfile
    import soxr

    try:
        if length_and_rate(path)[1] == SAMPLE_RATE:
            return path
        copy = copies_of(root) / path.relative_to(root).with_suffix(".wav")
        times = path.stat()
        if copy.exists() and _is_current(copy.stat(), times):
            return copy
        with Sources([path]) as source:
            audio, sample_rate = read_mono(path)
    except QseError:
        return path
    try:
        make_folder(copy.parent)
        with atomic_path(copy, source=source) as beside:
            converted = soxr.resample(audio, sample_rate, SAMPLE_RATE, "VHQ")
            write_samples(beside, converted, SAMPLE_RATE, format="WAV")
            os.utime(beside, ns=(times.st_atime_ns, times.st_mtime_ns))
    except (soundfile.SoundFileError, OSError) as reason:
        raise QseError(
            f"{copy} cannot be written: {reason}; free some space, or set QSE_CACHE to a folder"
        ) from reason
    return copy
