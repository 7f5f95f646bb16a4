"""The recorder: both sides to disk, without blocking."""

import os
import resource
import subprocess
import sys
from threading import Event
from time import sleep

import numpy as np
import pytest
import soundfile
from waiting import until

from qse import QseError
from qse.audio.formats import Layout
from qse.audio.suffixes import FORMATS
from qse.audio.writer import atomic_target
from qse.live.recorder import Recorder


@pytest.mark.parametrize("suffix", FORMATS)
def test_recorder_every_format(tmp_path, suffix):
    recorder = Recorder(tmp_path / f"both.{suffix}", 16000, 2)
    for _ in range(5):
        recorder.put(np.full((1600, 2), 0.5, np.float32))
        until(lambda: not recorder._ring.waiting)
    recorder.close()
    assert recorder.lost == 0 and recorder.error is None
    assert soundfile.read(recorder.path)[0].shape == (8000, 2)


def test_recorder_without_sound_creates_no_file(tmp_path):
    recorder = Recorder(tmp_path / "a.wav", 16000, 2)
    recorder.close()
    assert not recorder.created and not (tmp_path / "a.wav").exists()


def test_recorder_writes_everything(tmp_path):
    recorder = Recorder(tmp_path / "both.wav", 1000, 2)
    audio = np.random.default_rng(0).uniform(-1, 1, (5000, 2)).astype(np.float32)
    for start in range(0, 5000, 77):
        recorder.put(audio[start : start + 77])
    recorder.close()
    read, rate = soundfile.read(recorder.path, dtype="float32")
    assert rate == 1000 and recorder.lost == 0 and recorder.error is None
    np.testing.assert_allclose(read, audio, atol=1 / 32000)


@pytest.mark.parametrize("suffix", ["wav", "flac", "aiff"])
def test_recorder_limits_integer_formats_to_full_scale(tmp_path, suffix):
    recorder = Recorder(tmp_path / f"loud.{suffix}", 1000, 1)
    recorder.put(np.array([[1.5], [-1.5], [0.5]], np.float32))
    recorder.close()
    read, _ = soundfile.read(recorder.path)
    np.testing.assert_allclose(read, [1, -1, 0.5], atol=1e-3)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_recording_that_is_exchanged_for_a_pipe(tmp_path):
    """The pipe would wait for its other end."""
    recorder = Recorder(tmp_path / "both.wav", 1000, 1)
    recorder.put(np.zeros((500, 1), np.float32))
    until(lambda: recorder.created)
    recorder.path.rename(tmp_path / "away.wav")
    os.mkfifo(recorder.path)
    recorder.close()
    assert "cannot be checked" in recorder.error and "is a pipe" in recorder.error


def test_recorder_slow_disk_drops_samples(tmp_path, monkeypatch):
    go = Event()
    write = soundfile.SoundFile.write
    monkeypatch.setattr(
        soundfile.SoundFile, "write", lambda file, data: (go.wait(60), write(file, data))
    )
    recorder = Recorder(tmp_path / "slow.wav", 1000, 1)
    for _ in range(30):
        recorder.put(np.ones((1000, 1), np.float32))  # would wait for a minute if it waited
    go.set()
    recorder.close()
    assert recorder.lost >= 10000
    assert soundfile.info(recorder.path).frames == 30000 - recorder.lost


def test_recorder_unpaced_waits_for_the_disk(tmp_path, monkeypatch):
    write = soundfile.SoundFile.write
    monkeypatch.setattr(
        soundfile.SoundFile, "write", lambda file, data: (sleep(0.2), write(file, data))
    )
    recorder = Recorder(tmp_path / "slow.wav", 1000, 1, paced=False)
    for _ in range(30):
        recorder.put(np.ones((1000, 1), np.float32))
    recorder.close()
    assert recorder.lost == 0 and soundfile.info(recorder.path).frames == 30000


def test_recorder_full_disk_keeps_what_is_there(tmp_path):
    recorder = Recorder(tmp_path / "full.wav", 16000, 1)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        for _ in range(9):
            recorder.put(np.ones((9000, 1), np.float32))
        recorder.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "disk full" in recorder.error
    assert soundfile.info(recorder.path).frames == (50_000 - 44) // 2


@pytest.mark.parametrize("suffix", ["ogg", "opus", "flac", "mp3"])
@pytest.mark.parametrize("share", [0.3, 0.7, 0.9])
def test_recorder_on_a_disk_that_is_full_at_the_end(tmp_path, monkeypatch, suffix, share):
    """Encoders write their last frames when the file is closed, and report no failure."""
    close = soundfile.SoundFile.close
    path = tmp_path / f"full.{suffix}"

    def short(self):
        is_open = not self.closed
        close(self)
        if is_open and self.mode == "w" and path.exists():
            os.truncate(path, int(share * path.stat().st_size))

    monkeypatch.setattr(soundfile.SoundFile, "close", short)
    recorder = Recorder(path, 16000, 1)
    noise = np.random.default_rng(0).normal(0, 0.1, (48000, 1)).astype(np.float32)
    for at in range(0, 48000, 4000):
        recorder.put(noise[at : at + 4000])
        until(lambda: not recorder._ring.waiting)
    recorder.close()
    assert "ends early: is the disk full?" in recorder.error


@pytest.mark.parametrize("suffix", FORMATS)
def test_recorder_full_disk_keeps_the_former_file(tmp_path, suffix):
    path = tmp_path / f"full.{suffix}"
    path.write_bytes(b"precious")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    recorder = Recorder(path, 16000, 1, overwrite=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        recorder.put(np.ones((9000, 1), np.float32))
        recorder.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert f"full.{suffix} cannot be written: " in recorder.error
    assert path.read_bytes() == b"precious" and list(tmp_path.iterdir()) == [path]


def test_recorder_keeps_the_former_file_where_none_can_be_begun(tmp_path, monkeypatch):
    (tmp_path / "a.wav").write_bytes(b"precious")
    recorder = Recorder(tmp_path / "a.wav", 16000, 1, overwrite=True)
    monkeypatch.setattr(recorder, "_open", lambda to: 1 / 0)
    recorder.put(np.ones((100, 1), np.float32))
    recorder.close()
    assert recorder.error and (tmp_path / "a.wav").read_bytes() == b"precious"


def test_recorder_refuses_a_file_that_has_come_meanwhile(tmp_path):
    recorder = Recorder(tmp_path / "a.wav", 16000, 1)
    (tmp_path / "a.wav").write_bytes(b"precious")
    recorder.put(np.ones((100, 1), np.float32))
    recorder.close()
    assert (
        recorder.error == f"{recorder.path} cannot be written: File exists; name another recording"
    )
    assert recorder.path.read_bytes() == b"precious"


def test_recorder_ends_at_the_longest_file(tmp_path, monkeypatch):
    monkeypatch.setattr(Layout, "longest", 250)
    recorder = Recorder(tmp_path / "long.wav", 1000, 1)
    for count in (100, 200):
        recorder.put(np.ones((count, 1), np.float32))
        until(lambda: not recorder._ring.waiting)
    recorder.close()
    assert "long.wav is not written any further (a WAV file cannot be longer)" in recorder.error
    assert soundfile.info(recorder.path).frames == 100


def test_recorder_any_name_and_any_error(tmp_path, monkeypatch):
    recorder = Recorder(tmp_path / os.fsdecode(b"h\xe4.wav"), 16000, 1)
    recorder.put(np.ones((100, 1), np.float32))
    recorder.close()
    assert recorder.error is None and os.listdir(os.fsencode(tmp_path)) == [b"h\xe4.wav"]
    recorder = Recorder(tmp_path / "b.wav", 16000, 1)
    monkeypatch.setattr(recorder, "_open", lambda to: 1 / 0)
    recorder.put(np.ones((100, 1), np.float32))
    recorder.close()
    assert "b.wav is not written any further (division by zero)" in recorder.error


def test_recorder_refuses_bad_targets(tmp_path):
    (tmp_path / "there.wav").write_bytes(b"precious")
    with pytest.raises(QseError, match="exists already"):
        Recorder(tmp_path / "there.wav", 16000, 2)
    with pytest.raises(QseError, match="suffix"):
        Recorder(tmp_path / "there.xyz", 16000, 2)
    with pytest.raises(QseError, match="cannot be written"):
        Recorder(tmp_path / "there.wav" / "both.wav", 16000, 2)
    with pytest.raises(QseError, match="cannot hold 4 channels"):
        Recorder(tmp_path / "both.mp3", 16000, 4)
    (tmp_path / "link.wav").symlink_to(tmp_path / "there.wav/both.wav")  # a disk that is not there
    with pytest.raises(QseError, match=r"cannot be written"):
        Recorder(tmp_path / "link.wav", 16000, 2)
    with pytest.raises(
        QseError, match=r"both\.wav: the folder .*new does not exist; make it first"
    ):
        Recorder(tmp_path / "new" / "both.wav", 16000, 2)
    assert not (tmp_path / "new").exists()
    (tmp_path / "folder.wav").mkdir()
    with pytest.raises(QseError, match=r"folder\.wav is not a regular file"):
        Recorder(tmp_path / "folder.wav", 16000, 2, overwrite=True)
    Recorder(tmp_path / "there.wav", 16000, 2, overwrite=True).close()
    assert (
        tmp_path / "there.wav"
    ).read_bytes() == b"precious"  # there was nothing to put in its place


HOLDER = """
import sys
from pathlib import Path
from qse.live.recorder import Recorder
recorder = Recorder(Path(sys.argv[1]), 16000, 2)
print("claimed", flush=True)
sys.stdin.read()
recorder.close()
"""


def test_recorder_refuses_the_file_of_another_process(tmp_path):
    """Also under the name of a link, and with overwrite; not after that process was killed."""
    (tmp_path / "link.wav").symlink_to(tmp_path / "both.wav")
    line = [sys.executable, "-c", HOLDER, str(tmp_path / "both.wav")]
    with subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "claimed\n"
        for name in ("both.wav", "link.wav"):
            with pytest.raises(
                QseError,
                match=f"{name} is being written by another process: name another recording",
            ):
                Recorder(tmp_path / name, 16000, 2, overwrite=True)
        process.kill()
    Recorder(tmp_path / "link.wav", 16000, 2).close()
    assert [path.name for path in tmp_path.iterdir()] == ["link.wav"]


def test_recorder_and_denoise_refuse_each_other(tmp_path):
    recorder = Recorder(tmp_path / "both.wav", 16000, 2)
    with (
        pytest.raises(QseError, match="is being written"),
        atomic_target(tmp_path / "both.wav", overwrite=True, source=None),
    ):
        pass
    recorder.close()
    with (
        atomic_target(tmp_path / "both.wav", overwrite=True, source=None),
        pytest.raises(QseError, match="is being written"),
    ):
        Recorder(tmp_path / "both.wav", 16000, 2, overwrite=True)


def test_recorder_subtype_of_the_suffix(tmp_path):
    recorder = Recorder(tmp_path / "both.opus", 16000, 2)
    recorder.put(np.zeros((16000, 2), np.float32))
    recorder.close()
    assert soundfile.info(recorder.path).subtype == "OPUS"
