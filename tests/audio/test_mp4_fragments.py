"""MP4 files of fragments of which one is not found: ffmpeg leaves it out without a word."""

import numpy as np
import pytest
from audio_files import make, outcome
from tagged_files import ffmpeg, needs_ffmpeg

SECONDS = 4
FLAGS = ["empty_moov", "empty_moov+default_base_moof", "frag_keyframe", "dash", "delay_moov"]
PICTURE = ("-f", "lavfi", "-i", f"testsrc=size=64x64:duration={SECONDS}:rate=10")
TWICE = (*PICTURE, "-map", "1", "-map", "0", "-map", "0", "-c:v", "mpeg4")
LATER = (*PICTURE, "-map", "1", "-map", "0", "-c:v", "mpeg4", "-output_ts_offset", 30)


@pytest.fixture
def sound(here):
    noise = 0.2 * np.random.default_rng(0).standard_normal((16000 * SECONDS, 1))
    return make(here / "s.wav", noise)


def fragmented(sound, flags: str, *options) -> bytes:
    """Write a.mp4 with fragments of half a second; return its bytes."""
    ffmpeg("-i", sound, *options, "-movflags", flags, "-frag_duration", 500_000, "a.mp4")
    return (sound.parent / "a.mp4").read_bytes()


def outcome_of(sound, data: bytes) -> tuple[int, str]:
    (sound.parent / "b.mp4").write_bytes(data)
    return outcome(sound.parent / "b.mp4")


@needs_ffmpeg
@pytest.mark.parametrize("flags", [*FLAGS, "frag_keyframe+separate_moof"])
@pytest.mark.parametrize("options", [(), ("-c:a", "alac"), TWICE, LATER])
def test_intact_fragments(sound, flags, options):
    samples, said = outcome_of(sound, fragmented(sound, flags, *options))
    assert samples >= 16000 * SECONDS - 1024 and not said


@needs_ffmpeg
@pytest.mark.parametrize("flags", ["empty_moov", "frag_keyframe"])
def test_fragments_whose_beginning_is_zeroed(sound, flags):
    data = fragmented(sound, flags)
    at = data.index(b"moof", len(data) // 2) - 4
    for end in (at + 4096, len(data)):
        _, said = outcome_of(sound, data[:at] + bytes(end - at) + data[end:])
        assert "the size of a fragment is damaged" in said


@needs_ffmpeg
def test_all_fragments_are_behind_zeros(sound):
    """Those samples are left that no fragment names."""
    data = fragmented(sound, "frag_keyframe")
    at = data.index(b"moof") - 4
    assert data.index(b"mdat") < at
    _, said = outcome_of(sound, data[:at] + bytes(64) + data[at + 64 :])
    assert "the size of a fragment is damaged" in said


@needs_ffmpeg
def test_zeros_that_fill_the_last_page(sound):
    data = fragmented(sound, "empty_moov")
    assert outcome_of(sound, data + bytes(-len(data) % 4096)) == outcome_of(sound, data)


@needs_ffmpeg
def test_last_samples_without_a_size(sound):
    data = fragmented(sound, "empty_moov")
    at = data.rindex(b"mfra") - 4
    data = data[:at]
    last = data.rindex(b"mdat") - 4
    assert outcome_of(sound, data[:last] + bytes(4) + data[last + 4 :]) == outcome_of(sound, data)


def renamed(data: bytes, at: int) -> bytes:
    return data[:at] + b"loof" + data[at + 4 :]


@needs_ffmpeg
@pytest.mark.parametrize("flags", ["empty_moov", "frag_keyframe", "dash"])
@pytest.mark.parametrize("options", [(), TWICE])
def test_fragments_with_another_name(sound, flags, options):
    """Also where the tables of the movie name the samples before the first one."""
    data = fragmented(sound, flags, *options)
    for at in (data.index(b"moof"), data.index(b"moof", len(data) // 2), data.rindex(b"moof")):
        _, said = outcome_of(sound, renamed(data, at))
        assert "its fragments name other places" in said
