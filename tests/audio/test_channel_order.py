"""Channels keep their places through formats that store them in another order, and none is taken
for that of a subwoofer."""

import numpy as np
import pytest
import soundfile
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio.channel_order import USUAL_MASKS
from qse.audio.content import inspect
from qse.errors import QseError
from qse.live.recorder import Recorder

pytestmark = needs_ffmpeg
RATE = 48000


def bursts(path, channels: int, mask: int | None = None):
    """Write a file with one burst of sound in each channel, one after another."""
    samples = np.zeros((RATE // 5 * (channels + 1), channels))
    for number in range(channels):
        place = RATE // 5 * number + RATE // 10
        samples[place : place + RATE // 10, number] = 0.5 * np.sin(np.arange(RATE // 10) / 7)
    # libsndfile writes a mask into RF64
    soundfile.write(path, samples, RATE, "FLOAT", format="WAV" if mask is None else "RF64")
    if mask is not None:
        assert inspect(path).state_mask(mask, channels)
    return path


def order(path) -> list[int]:
    """Return in which order the channels have their bursts, by ffmpeg; -1 without one."""
    ffmpeg("-i", path, "-c:a", "pcm_s16le", "-f", "wav", "decoded")
    samples, rate = soundfile.read("decoded", always_2d=True)
    found = []
    for channel in samples.T:
        place = np.argmax(np.abs(channel)) / rate
        found.append(int(place / 0.2) if np.abs(channel).max() > 0.2 else -1)
    return found


@pytest.mark.parametrize("channels", [3, 4, 5, 6, 7, 8])
@pytest.mark.parametrize("suffix", ["ogg", "oga"])
def test_vorbis_keeps_the_places_of_channels(here, command, channels, suffix):
    bursts(here / "a.rf64", channels, USUAL_MASKS[channels])
    ffmpeg("-i", "a.rf64", "-c:a", "libvorbis", f"b.{suffix}")
    assert order(f"b.{suffix}") == list(range(channels))
    for source, target in ((f"b.{suffix}", "c.wav"), (f"b.{suffix}", f"c.{suffix}")):
        status, _, said = command("denoise", source, "-o", target, "--strength", "0")
        assert status == 0 and "positions" not in said
        assert order(target) == list(range(channels))
    assert command("denoise", "a.rf64", "-o", f"d.{suffix}", "--strength", "0")[0] == 0
    assert order(f"d.{suffix}") == list(range(channels))
    assert inspect(here / "c.wav").channel_mask == USUAL_MASKS[channels]


@pytest.mark.parametrize("channels", [3, 4, 6, 8])
def test_opus_keeps_the_places_of_channels(here, command, channels):
    bursts(here / "a.rf64", channels, USUAL_MASKS[channels])
    ffmpeg("-i", "a.rf64", "-c:a", "libopus", "b.opus")
    assert command("denoise", "b.opus", "-o", "c.wav", "--strength", "0")[0] == 0
    assert order("c.wav") == order("b.opus") == list(range(channels))
    assert command("denoise", "a.rf64", "-o", "d.opus", "--strength", "0")[0] == 0
    without = [-1 if number == 3 and channels > 4 else number for number in range(channels)]
    assert order("d.opus") == without  # a subwoofer's has lower frequencies


@pytest.mark.parametrize("channels", [6, 7, 8])
def test_channels_of_no_known_place_are_no_subwoofers(here, command, channels):
    bursts(here / "a.wav", channels)
    status, _, said = command("denoise", "a.wav", "-o", "b.opus")
    assert status == 1 and "b.opus: Opus would take the fourth of these channels" in said
    with pytest.raises(QseError, match="Opus would take the fourth"):
        Recorder(here / "c.opus", RATE, channels)
    assert not list(here.glob("*.opus"))
    status, _, said = command("denoise", "a.wav", "-o", "b.ogg")
    assert (status == 1 and "b.ogg: Vorbis would take the fourth" in said) is (channels == 6)
    ffmpeg("-i", "a.wav", "-c:a", "libopus", "-mapping_family", "255", "d.opus")
    assert command("denoise", "d.opus", "-o", "e.wav", "--strength", "0")[0] == 0
    assert order("e.wav") == list(range(channels))


@pytest.mark.parametrize("channels", [3, 4, 5, 6, 7, 8])
@pytest.mark.parametrize("suffix", ["m4a", "mka", "weba", "mp4"])
def test_channels_of_no_known_place_through_ffmpeg(here, command, channels, suffix):
    bursts(here / "a.wav", channels)
    source = "a.wav"
    if suffix == "mp4":
        picture = ("-f", "lavfi", "-i", "color=s=16x16:r=10:d=2")
        unknown = ("-guess_layout_max", "0", "-i", "a.wav")
        ffmpeg(*picture, *unknown, "-c:v", "mpeg4", "-c:a", "pcm_s16le", "s.mkv")
        source = "s.mkv"
    status, _, said = command("denoise", source, "-o", f"b.{suffix}", "--strength", "0")
    if suffix == "weba" and channels in (5, 7):
        assert status == 1 and "ffmpeg would exchange" in said
    else:
        assert status == 0 and order(f"b.{suffix}") == list(range(channels))


@pytest.mark.parametrize("suffix", ["m4a", "mka", "weba", "wv"])
def test_a_single_channel_of_any_place_through_ffmpeg(here, command, suffix):
    """Encoders take one in the middle alone."""
    bursts(here / "a.rf64", 1, 0x1)  # left
    assert command("denoise", "a.rf64", "-o", f"b.{suffix}")[0] == 0
    assert order(f"b.{suffix}") == [0]
