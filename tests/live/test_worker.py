"""The worker: its file equals qse denoise, and is kept or not when the disk is full."""

import os

import numpy as np
import pytest
import soundfile
from live_streams import noise
from sound import HEADSET, MICROPHONE, Sound

import qse
from qse.audio.formats import Layout
from qse.live.file_input import FileInput
from qse.live.microphone import Microphone
from qse.live.session import LiveSession
from qse.live.worker import Worker


@pytest.mark.parametrize("blocksize", [1, 64, 160, 441, 1000])
@pytest.mark.parametrize("rate, channels", [(16000, 1), (44100, 2)])
def test_worker_file_equals_denoise(tmp_path, recurrent, blocksize, rate, channels):
    audio = noise(rate // (10 if blocksize == 1 else 1) + 7, channels)
    soundfile.write(tmp_path / "noisy.wav", audio, rate, "FLOAT")
    session = LiveSession(recurrent, FileInput(tmp_path / "noisy.wav", blocksize, paced=False))
    session.start()
    worker = Worker(session, tmp_path / "enhanced.wav")
    worker.run()
    assert worker.error is None
    enhanced, _ = soundfile.read(tmp_path / "enhanced.wav", dtype="float32", always_2d=True)
    np.testing.assert_array_equal(enhanced, qse.denoise(audio, rate, recurrent))


@pytest.mark.parametrize("suffix, rate, held", [("opus", 44100, 48000), ("mp3", 96000, 48000)])
def test_worker_file_has_the_length_of_the_source_at_another_rate(
    tmp_path, recurrent, suffix, rate, held
):
    soundfile.write(tmp_path / "noisy.wav", noise(2 * rate), rate)
    session = LiveSession(recurrent, FileInput(tmp_path / "noisy.wav", 441, paced=False))
    session.start()
    worker = Worker(session, tmp_path / f"enhanced.{suffix}")
    worker.run()
    assert worker.error is None and f"converted to {held} Hz" in worker.warnings[0]
    found = soundfile.info(tmp_path / f"enhanced.{suffix}")
    assert found.samplerate == held and found.duration == pytest.approx(2, abs=0.1)


def test_worker_full_disk_keeps_live_sound(tmp_path, recurrent, monkeypatch):
    def write(file, block):
        if file.tell() > 1000:
            raise soundfile.LibsndfileError(2)
        real(file, block)

    real = soundfile.SoundFile.write
    monkeypatch.setattr(soundfile.SoundFile, "write", write)
    sound = Sound(MICROPHONE, HEADSET)
    session = LiveSession(recurrent, Microphone(sound, None, 160, 0.01))
    session.start()
    for _ in range(20):
        sound.streams[0].give(noise(160))
    worker = Worker(session, tmp_path / "a.wav")
    worker.run()
    assert str(worker.error).endswith(
        "a.wav ends early: is the disk full? What was written so far is kept"
    )
    assert soundfile.info(tmp_path / "a.wav").frames > 1000
    assert os.name == "nt" or not (tmp_path / "a.wav").stat().st_mode & 0o077  # of a microphone


def test_worker_ends_at_the_longest_file(tmp_path, recurrent, monkeypatch):
    source = tmp_path / "a.wav"
    target = tmp_path / "b.wav"
    soundfile.write(source, noise(4000), 16000)
    monkeypatch.setattr(Layout, "longest", 2500)
    session = LiveSession(recurrent, FileInput(source, 160, paced=False))
    session.start()
    worker = Worker(session, target)
    worker.run()
    assert "b.wav: the session ended, for a WAV file cannot be longer" in str(worker.error)
    expected = qse.denoise(soundfile.read(source, dtype="float32")[0], 16000, recurrent)[:2500]
    np.testing.assert_allclose(soundfile.read(target)[0], expected, atol=1 / 32000)
