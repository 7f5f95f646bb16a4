"""qse denoise in place: a failure at any moment leaves the original with all its metadata, or the
whole result."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import soundfile
from tagged_files import chunks, sound, wav, with_chunks

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")

BEFORE = [(b"bext", bytes(700)), (b"iXML", b"<BWFXML><NOTE>x</NOTE></BWFXML>")]
AFTER = [(b"cue ", bytes(28)), (b"cart", bytes(2048))]
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
qse.audio.atomic_write.Path.replace = dying(qse.audio.atomic_write.Path.replace)
qse.audio.atomic_write.Path.unlink = dying(qse.audio.atomic_write.Path.unlink)
from qse_cli.main import main
main()
"""


def original(folder):
    with_chunks(wav(folder / "a.wav"), BEFORE, AFTER)
    return (folder / "a.wav").read_bytes()


def run(code, *arguments) -> subprocess.Popen:
    words = [
        *map(str, arguments),
        "denoise",
        "a.wav",
        "-o",
        "a.wav",
        "--overwrite",
        "--model",
        "recurrent",
    ]
    return subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.PIPE)


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


def test_killed_at_random_times(here):
    before = original(here)
    rng = np.random.default_rng(0)
    for _ in range(int(os.environ.get("QSE_TEST_KILLS", "6"))):
        (here / "a.wav").write_bytes(before)
        process = run(PLAIN)
        time.sleep(rng.uniform(0.1, 1.2))
        process.kill()
        process.wait()
        check(here, before)


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
