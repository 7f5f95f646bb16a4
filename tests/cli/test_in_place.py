"""qse denoise in place: a failure at any moment leaves the original with all its metadata, or the
whole result."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import soundfile
from tagged_files import CHAPTERS, chunks, cover, ffmpeg, needs_ffmpeg, sound, wav, with_chunks

from qse.audio.reader import open_audio

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")

BEFORE = [(b"axml", bytes(700)), (b"iXML", b"<BWFXML><NOTE>x</NOTE></BWFXML>")]
AFTER = [(b"cue ", bytes(28)), (b"cart", bytes(2048))]
ENCODERS = ("\xa9too", "tsse", "encoder")  # of the program that wrote the file
PLAIN = "from qse_cli.main import main; main()"
DYING = """
import builtins, io, os, signal, sys
moment, calls = int(sys.argv.pop(1)), [0]
def dying(real):
    def call(*arguments, **named):
        calls[0] += 1
        if calls[0] == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)
    return call
import qse.audio.atomic_write, qse.audio.chunk_copy, qse.audio.file_edit, qse.audio.writer
import soundfile
soundfile.SoundFile.write = dying(soundfile.SoundFile.write)
soundfile.SoundFile.close = dying(soundfile.SoundFile.close)
qse.audio.chunk_copy.replace_bytes = dying(qse.audio.chunk_copy.replace_bytes)
qse.audio.chunk_copy.write_size = dying(qse.audio.chunk_copy.write_size)
qse.audio.file_edit._move_back = dying(qse.audio.file_edit._move_back)
for step in ("create", "replace", "link", "remove"):
    folder = qse.audio.atomic_write.HeldFolder
    setattr(folder, step, dying(getattr(folder, step)))
from qse_cli.main import main
main()
"""


def original(folder):
    with_chunks(wav(folder / "a.wav"), BEFORE, AFTER)
    return (folder / "a.wav").read_bytes()


def run(code, *arguments, name: str = "a.wav") -> subprocess.Popen:
    words = ["denoise", name, "-o", name, "--overwrite", "--model", "recurrent"]
    line = [sys.executable, "-c", code, *map(str, arguments), *words]
    return subprocess.Popen(line, stderr=subprocess.PIPE)


def check(folder, before: bytes, whole: bytes | None = None) -> bool:
    """Check that the file is the original or a whole result; return whether it is the result."""
    after = (folder / "a.wav").read_bytes()
    if after == before:
        return False
    found = chunks(after)
    assert [each for each in found if each[0] not in (b"fmt ", b"data")] == BEFORE + AFTER
    assert soundfile.info(folder / "a.wav").frames == 16000
    assert whole is None or after == whole
    return True


def test_killed_at_each_step(here):
    before = original(here)
    assert run(PLAIN).wait() == 0
    whole = (here / "a.wav").read_bytes()
    outcomes = []
    for moment in range(1, 30):
        (here / "a.wav").write_bytes(before)
        killed = run(DYING, moment).wait() == -signal.SIGKILL
        outcomes.append(check(here, before, whole))
        if not killed:
            break
    assert not killed and len(outcomes) > 6 and outcomes[-1] and not any(outcomes[:4])
    # the last run removed what the others left
    assert sorted(path.name for path in here.iterdir()) == ["a.wav"]


def tagged(name: str) -> bytes:
    """Write a file with tags, cover and, where the format has them, chapters; return its bytes."""
    with open("chapters", "w") as file:
        file.write(CHAPTERS)
    soundfile.write("s.wav", sound(1.0, 2, 44100), 44100)
    inputs = ["-i", "s.wav", "-i", "chapters", "-i", cover("c.png")]
    maps = ["-map", "0:a", "-map", "2:v", "-map_metadata", "1", "-map_chapters", "1"]
    maps += ["-metadata", "title=Müller", "-metadata", "comment=first line"]
    ffmpeg(*inputs, *maps, "-c:v", "copy", "-disposition:v", "attached_pic", name)
    with open(name, "rb") as file:
        return file.read()


def held(name: str) -> dict[str, object]:
    """Return what mutagen finds in a file beside the samples."""
    mutagen = pytest.importorskip("mutagen")
    file = mutagen.File(name)
    pictures = [picture.data for picture in getattr(file, "pictures", [])]
    names = file.tags.keys()
    tags = {name: file.tags[name] for name in names if name.lower() not in ENCODERS}
    return {"tags": tags, "pictures": pictures}


def samples(name: str) -> int:
    with open_audio(Path(name)) as source:
        return sum(map(len, source.blocks()))


@pytest.mark.slow
def test_killed_at_random_times(here):
    before = original(here)
    _kill("a.wav", before, lambda: check(here, before))


@pytest.mark.slow
@needs_ffmpeg
@pytest.mark.parametrize("suffix", ["flac", "mp3", "m4a"])
def test_tagged_files_killed_at_random_times(here, suffix):
    name = f"a.{suffix}"
    before = tagged(name)
    metadata = held(name)
    length = samples(name)

    def whole() -> None:
        assert held(name) == metadata and abs(samples(name) - length) < 3000

    _kill(name, before, whole)


def _kill(name, before: bytes, whole) -> None:
    """Kill `qse denoise` in place at random moments: the file is the original, or `whole` holds;
    the last run, which is not killed, leaves nothing else."""
    rng = np.random.default_rng(int(os.environ.get("QSE_TEST_SEED", "0")))
    found = set(os.listdir())
    begin = time.perf_counter()
    assert run(PLAIN, name=name).wait() == 0
    longest = 1.1 * (time.perf_counter() - begin)
    whole()
    finished = 0
    for _ in range(int(os.environ.get("QSE_TEST_KILLS", "3"))):
        with open(name, "wb") as file:
            file.write(before)
        process = run(PLAIN, name=name)
        time.sleep(rng.uniform(0.2, 1) * longest)
        process.kill()
        process.wait()
        with open(name, "rb") as file:
            after = file.read()
        if after != before:
            finished += 1
            whole()
    print(f"{name}: {finished} were whole results, the others originals")
    assert run(PLAIN, name=name).wait() == 0
    whole()
    assert set(os.listdir()) == found


@pytest.mark.parametrize("suffix", ["flac", "mp3", "ogg", "aiff", "caf"])
def test_a_failing_copy_leaves_the_original(here, command, monkeypatch, suffix):
    form = "AIFF" if suffix == "aiff" else suffix.upper()
    soundfile.write(here / f"a.{suffix}", sound(), 16000, format=form)
    before = (here / f"a.{suffix}").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    for module in ("chunk_copy", "flac_blocks", "id3", "ogg_comments"):
        monkeypatch.setattr(f"qse.audio.{module}.replace_bytes", full)
    status, _, err = command("denoise", f"a.{suffix}", "-o", f"a.{suffix}", "--overwrite")
    assert status == 1 and "cannot be written: No space left on device" in err
    assert (here / f"a.{suffix}").read_bytes() == before
    assert [path.name for path in here.iterdir()] == [f"a.{suffix}"]
