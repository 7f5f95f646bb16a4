"""Audio files of every format, and phone and video files, through the readers and `qse denoise`."""

import shutil
import subprocess
from pathlib import Path
from random import Random

import numpy as np
import soundfile
from audio_files import KINDS, make, tone
from tagged_files import with_chunks

from qse.audio.reader import open_audio
from qse.errors import QseError

from .mutations import damaged
from .target import Finding, Target, qse, told

SAMPLES = 3000


class Audio(Target):
    """Every format that libsndfile reads: each case is read with and without --salvage, and
    enhanced."""

    name = "audio"

    def prepare(self, folder: Path) -> None:
        self.intact = []
        for number, (suffix, subtype) in enumerate(KINDS):
            path = folder / f"{number}.{suffix}"
            kind = None if suffix in ("ogg", "opus", "mp3") else subtype
            make(path, tone(SAMPLES, 1 + number % 2), kind, 48000 if suffix == "opus" else 16000)
            _add_metadata(path)
            self.intact.append(path)

    def run(self, folder: Path, rng: Random) -> None:
        intact = rng.choice(self.intact)
        path = folder / f"damaged{intact.suffix}"
        path.write_bytes(damaged(intact.read_bytes(), rng))
        read = {salvage: _read(path, salvage) for salvage in (False, True)}
        if read[False] is not None and read[True] != read[False]:
            raise Finding(f"{read[False]} samples can be read, {read[True]} with salvage")
        salvage = rng.random() < 0.5
        _denoise(path, folder, salvage, read[salvage])


def _add_metadata(path: Path) -> None:
    """Give a WAV, AIFF, FLAC, Ogg or MP3 file metadata, with programs that are independent of
    qse."""
    if path.suffix in (".wav", ".aiff", ".aifc"):
        with_chunks(
            path,
            [(b"bext", bytes(range(256)) * 3), (b"iXML", b"<BWFXML/>")],
            [(b"cue ", bytes(28))],
        )
    if path.suffix in (".flac", ".ogg", ".opus", ".mp3"):
        try:
            import mutagen
        except ModuleNotFoundError:
            return
        file = mutagen.File(path, easy=True)
        if file.tags is None:
            file.add_tags()
        file["title"] = "a title"
        file["artist"] = "someone"
        file.save()


class Video(Target):
    """Files that only ffmpeg reads. Needs ffmpeg."""

    name = "video"
    WAYS = (
        ("m4a", "-c:a", "aac"),
        ("mka", "-c:a", "flac"),
        ("webm", "-c:a", "libopus"),
        ("mp4", "-c:a", "aac", "-f", "lavfi", "-i", "color=s=16x16:d=0.2"),
        ("mkv", "-c:a", "pcm_s16le", "-f", "lavfi", "-i", "color=s=16x16:d=0.2"),
    )

    def prepare(self, folder: Path) -> None:
        self.intact = []
        wav = make(folder / "tone.wav", tone(SAMPLES))
        for suffix, *way in self.WAYS if shutil.which("ffmpeg") else ():
            inputs = way[2:]
            coding = way[:2]
            path = folder / f"intact.{suffix}"
            line = ["ffmpeg", "-v", "error", "-i", wav, *inputs, *coding, "-y", path]
            subprocess.run(list(map(str, line)), check=True, stdin=subprocess.DEVNULL)
            self.intact.append(path)

    def run(self, folder: Path, rng: Random) -> None:
        if not self.intact:
            return
        intact = rng.choice(self.intact)
        path = folder / f"damaged{intact.suffix}"
        path.write_bytes(damaged(intact.read_bytes(), rng))
        salvage = rng.random() < 0.5
        _denoise(path, folder, salvage, None)


def _read(path: Path, salvage: bool) -> int | None:
    """Return the samples per channel that can be read, None if the file is refused."""
    try:
        with open_audio(path, salvage=salvage) as source:
            blocks = list(source.blocks())
    except QseError as error:
        told(str(error), path)
        return None
    audio = np.concatenate(blocks)
    if not np.isfinite(audio).all() or audio.shape[1] != source.layout.channels or not len(audio):
        raise Finding(f"read {audio.shape} samples, of which {np.isfinite(audio).sum()} are finite")
    return len(audio)


def _denoise(path: Path, folder: Path, salvage: bool, samples: int | None) -> None:
    """Enhance a file; check that it has a result of that length or none, and that nothing else
    is left."""
    status, said = qse("denoise", path, *(["--salvage"] if salvage else []))
    results = [other for other in folder.iterdir() if other != path]
    if status:
        if results:
            raise Finding(f"status {status}, but {results[0].name} was written: {said}")
        told(said, path)
        if samples is not None and "cannot hold" not in said and "does not write" not in said:
            raise Finding(f"{samples} samples can be read, but: {said}")
        return
    if len(results) != 1 or results[0].suffix == ".part":
        raise Finding(f"status 0, and these files: {[other.name for other in results]}")
    if samples is None:
        return
    written = soundfile.info(results[0])
    if abs(written.frames - samples) > _rounding(path):
        form = f"{path.name} to {written.format} {written.subtype}"
        raise Finding(f"{form}: {samples} samples were read, {written.frames} written")


def _rounding(path: Path) -> int:
    """Return by how many samples a file of this format may be longer: MP3 has whole frames."""
    return 4 * 1152 if path.suffix == ".mp3" else 0
