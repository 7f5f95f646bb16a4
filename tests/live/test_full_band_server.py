"""qse live at 48 kHz through a sound server: no conversion of the sample rate, and the samples of
qse denoise."""

import signal

import numpy as np
import pytest
import soundfile
import soxr
from pulse import MISSING, Server, heard_while_playing, likeness, needs_sound_server, serving
from waiting import until

import qse

RATE = 48000
pytestmark = [
    needs_sound_server,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


@pytest.fixture
def server():
    with serving(Server) as server:
        yield server


def bursts(seconds):
    """Return white noise (samples,) whose level varies, as 16-bit samples below half of full
    scale."""
    noise = np.random.default_rng(0).standard_normal(int(seconds * RATE))
    swell = np.sin(2 * np.pi * 3 * np.arange(len(noise)) / RATE) ** 2
    return (3000 * noise * swell).clip(-16000, 16000).astype(np.int16)


def matching_share(played, recorded):
    """Return the share of the tenths of a second of `played` that are in `recorded`, bit for
    bit."""
    size = 1 << (len(played) + len(recorded)).bit_length()
    found = []
    spectrum = np.fft.rfft(recorded.astype(float), size)
    for part in np.split(played, len(played) // (RATE // 10)):
        at = int(
            np.argmax(
                np.fft.irfft(spectrum * np.fft.rfft(part.astype(float), size).conj())[
                    : len(recorded)
                ]
            )
        )
        found.append(np.array_equal(recorded[at : at + len(part)], part))
    return np.mean(found)


@pytest.mark.skipif("live-base" not in qse.available(), reason="no trained model is installed")
def test_full_band_live_equals_denoise(server, tmp_path):
    """The noisy side of the recording is what was played, bit for bit; the enhanced side is
    qse.denoise of it.

    Where a busy machine loses sound on its way to qse, both sides of the recording lack it.
    """
    # without, noise becomes silence
    process = server.live("--strength", "12", "--record", str(tmp_path / "both.wav"))
    until(lambda: process.poll() is not None or "dropouts" in server.said, 60)
    played = bursts(5)
    heard = heard_while_playing(server, played.astype(np.float32) / 32768, RATE)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0, server.said
    assert "the disk was too slow" not in server.said
    both, rate = soundfile.read(tmp_path / "both.wav", dtype="int16")
    assert rate == RATE
    noisy, enhanced = both.T
    assert matching_share(played, noisy) > 0.5
    late = qse.load(
        "live-base", sample_rate=RATE
    ).latency  # the recording begins with so many zeros
    expected = qse.denoise(noisy[late:].astype(np.float32) / 32768, RATE, "live-base", strength=12)
    # the end of a live session is not flushed to the same sample
    whole = slice(0, len(expected) - late)
    np.testing.assert_allclose(enhanced[late:][whole] / 32768, expected[whole], atol=1.5 / 32768)
    # clocks shift higher frequencies too much
    low = (soxr.resample(audio, RATE, 8000) for audio in (expected, heard))
    assert likeness(*low, 8000) > 0.8
