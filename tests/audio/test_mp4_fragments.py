"""MP4 files of fragments of which one is not found, or not where it belongs: ffmpeg leaves it
out without a word."""

import re

import numpy as np
import pytest
from audio_files import make, outcome
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio.mp4_fragment_times import FragmentTrack

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
    """They may stand in place of a fragment."""
    data = fragmented(sound, "empty_moov")
    whole = outcome_of(sound, data)
    assert outcome_of(sound, data + bytes(64)) == whole and not whole[1]
    samples, said = outcome_of(sound, data + bytes(-len(data) % 4096))
    assert samples == whole[0] and "zeros follow its last fragment" in said


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


def later(data: bytes, seconds: int, *which: int) -> bytes:
    """Add to the times of some fragments of sound alone."""
    changed = bytearray(data)
    places = [found.end() + 4 for found in re.finditer(b"tfdt", data)]
    for index in which or range(len(places)):
        at = places[index]
        size = 8 if data[at - 4] else 4
        time = int.from_bytes(data[at : at + size], "big") + 16000 * seconds
        changed[at : at + size] = time.to_bytes(size, "big")
    return bytes(changed)


@needs_ffmpeg
@pytest.mark.parametrize("flags", ["empty_moov", "frag_keyframe", "dash"])
def test_a_fragment_that_states_another_time(sound, flags):
    data = fragmented(sound, flags)
    for seconds, which in ((1, 0), (1 << 40, 0), (60, 3), (-1, 3), (-1, -1), (1 << 40, -1)):
        _, said = outcome_of(sound, later(data, seconds, which))
        assert "a fragment states another time" in said


@needs_ffmpeg
def test_times_of_live_sound(sound):
    """They begin anywhere, and have gaps, which are filled with silence."""
    data = fragmented(sound, "empty_moov")
    intact = outcome_of(sound, data)
    assert not intact[1]
    for seconds in (1, 60, 50 * 365 * 86400):
        _, said = outcome_of(sound, later(data, seconds))
        assert "states another time" not in said
    _, said = outcome_of(sound, later(data, 60, -2, -1))
    assert "may be damaged" in said and "60.00 s of silence were put in" in said


@needs_ffmpeg
def test_a_time_of_another_size(sound):
    data = bytearray(fragmented(sound, "empty_moov"))
    data[data.rindex(b"tfdt") + 4] ^= 1
    assert "a table of a fragment is damaged" in outcome_of(sound, bytes(data))[1]


def test_times_of_other_tracks_are_not_compared():
    for scale, said in ((16000, True), (0, False)):
        track = FragmentTrack(1024, 0, scale)
        track.begin(bytes(8))
        track.add(32_000)
        track.begin(bytes(8))
        assert track.is_displaced is said


@needs_ffmpeg
@pytest.mark.parametrize("bit", [17, 19])
def test_time_of_the_only_fragment(sound, bit):
    """The sound begins seconds after the picture."""
    options = (*PICTURE, "-map", "1", "-map", "0", "-ar", 48000, "-c:v", "mpeg4", "-g", 1000)
    ffmpeg("-i", sound, *options, "-movflags", "frag_keyframe+empty_moov", "a.mp4")
    data = bytearray((sound.parent / "a.mp4").read_bytes())
    assert not outcome_of(sound, data)[1]
    at = data.rfind(b"tfdt") + 15 - bit // 8
    data[at] ^= 1 << bit % 8
    assert "after the picture" in outcome_of(sound, data)[1]
