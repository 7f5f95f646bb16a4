"""Recordings brought to a loudness: measured by an implementation of BS.1770 of its own."""

import json
import shutil

import numpy as np
import pytest
import scipy.signal
import soundfile
from noisy_files import samples

import qse

RATE = 48000
pytestmark = [
    pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg"),
    pytest.mark.usefixtures("models"),  # which only delay
]
SHELF = (
    [1.53512485958697, -2.69169618940638, 1.19839281085285],
    [1, -1.69065929318241, 0.73248077421585],
)
HIGH_PASS = ([1, -2, 1], [1, -1.99004745483398, 0.99007225036621])


def loudness(audio: np.ndarray) -> float:
    """Return the integrated loudness in LUFS of (samples, channels) at 48 kHz (ITU-R BS.1770-4:
    K-weighting, blocks of 0.4 s that overlap by three quarters, both gates)."""
    weighted = scipy.signal.lfilter(*HIGH_PASS, scipy.signal.lfilter(*SHELF, audio, axis=0), axis=0)
    starts = range(0, len(audio) - 19200 + 1, 4800)
    power = np.array([(weighted[start : start + 19200] ** 2).mean(0).sum() for start in starts])

    def level(values):
        return -0.691 + 10 * np.log10(values)

    power = power[level(power) > -70]
    return float(level(power[level(power) > level(power.mean()) - 10].mean()))


def voice(seconds: float, channels: int) -> np.ndarray:
    """Return harmonics of 200 Hz with the level of syllables, the second channel 6 dB softer."""
    time = np.arange(round(seconds * RATE)) / RATE
    tones = sum(np.sin(2 * np.pi * 200 * number * time) / number for number in range(1, 12))
    syllables = (np.sin(2 * np.pi * 2 * time) > 0) + 0.01
    audio = 0.05 * tones * syllables
    return np.stack([audio, 0.5 * audio], axis=1)[:, :channels].astype(np.float32)


@pytest.fixture
def recording(tmp_path):
    def write(name, audio, **how):
        soundfile.write(tmp_path / name, audio, RATE, **how)
        return tmp_path / name

    return write


@pytest.mark.parametrize("target", [-16.0, -30.0])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("name, suffix", [("a.wav", ".wav"), ("a.flac", ".m4a")])
def test_output_has_the_loudness(recording, target, channels, name, suffix):
    path = recording(name, voice(5, channels))
    # no attenuation: the model does not count here
    out = qse.denoise_file(path, path.with_suffix(".out" + suffix), strength=0, loudness=target)
    reached = loudness(samples(out) if suffix == ".wav" else decoded(out))
    assert reached == pytest.approx(target, abs=0.2)


def decoded(path):
    import subprocess

    wav = path.with_suffix(".wav")
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", path, wav], check=True)
    return samples(wav)


def test_peaks_limit_the_gain_and_it_is_said(recording):
    audio = voice(5, 1)
    audio[RATE] = 0.9
    path = recording("a.wav", audio, subtype="FLOAT")
    with pytest.warns(UserWarning, match=r"is -\d+\.\d LUFS in place of -6: at more, its peaks"):
        out = qse.denoise_file(path, strength=0, loudness=-6.0)
    peak = np.abs(scipy.signal.resample_poly(samples(out), 4, 1, axis=0)).max()
    assert 20 * np.log10(peak) == pytest.approx(-1, abs=0.3)


@pytest.mark.parametrize("target", [np.nan, -np.inf])
def test_what_is_no_loudness_is_refused(recording, target):
    path = recording("a.wav", voice(1, 1))
    with pytest.raises(qse.errors.UsageError, match="name a number of LUFS"):
        qse.denoise_file(path, strength=0, loudness=target)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("audio", [np.zeros((RATE, 1)), voice(0.2, 1)])
def test_silence_and_short_sound_stay_as_they_are(recording, audio):
    path = recording("a.wav", audio, subtype="FLOAT")
    with pytest.warns(UserWarning, match="silent or too short for a loudness"):
        out = qse.denoise_file(path, strength=0, loudness=-16.0)
    np.testing.assert_allclose(samples(out), audio, atol=1e-6)


def test_command_says_what_is_missed_and_what_is_needed(recording, command, monkeypatch, tmp_path):
    path = recording("a.wav", np.zeros((RATE, 1)))
    status, out, _ = command("denoise", str(path), "--loudness", "-16", "--json")
    assert status == 0 and "too short for a loudness" in json.loads(out)["warning"]
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    status, _, err = command("denoise", str(path), "--loudness", "-16", "--overwrite")
    assert status == 1 and "--loudness -16 needs the program ffmpeg" in err


def test_unknown_setting_is_refused(recording):
    path = recording("a.wav", voice(1, 1))
    with pytest.raises(TypeError, match="takes no lufs, but strength, "):
        qse.denoise_file(path, lufs=-16)
