"""qse denoise --from and --to: a part of a recording."""

import json

import numpy as np
import pytest
import soundfile
from tagged_files import ffmpeg, needs_ffmpeg, sound, with_chunks


@pytest.fixture
def noisy(here):
    """Ten seconds in stereo."""
    soundfile.write(here / "a.wav", sound(10.0, 2), 16000, "FLOAT")
    return here / "a.wav"


@pytest.mark.parametrize(
    "options, start, stop",
    [
        (("--from", "0:06", "--to", "0:07.25"), 6.0, 7.25),
        (("--from", "2.5"), 2.5, 10.0),
        (("--to", "0:00:03"), 0.0, 3.0),
        (("--from", "9", "--to", "20"), 9.0, 10.0),
    ],
)
def test_part_is_that_of_the_whole(noisy, command, options, start, stop):
    """The model has a short memory: it hears four seconds before the part."""
    assert command("denoise", noisy, "-o", "whole.wav", "--model", "recurrent")[0] == 0
    line = ("denoise", noisy, "-o", "part.wav", "--model", "recurrent", "--json", *options)
    status, out, err = command(*line)
    assert status == 0 and json.loads(out)["seconds"] == stop - start, err
    whole = soundfile.read("whole.wav")[0][round(16000 * start) : round(16000 * stop)]
    part = soundfile.read("part.wav")[0]
    assert part.shape == whole.shape
    np.testing.assert_allclose(part, whole, atol=1e-6)


def test_part_without_samples_is_refused(noisy, command):
    """It ended with a traceback, after an empty file."""
    line = ("denoise", noisy, "-o", "b.wav", "--from", "1", "--to", "1.00001")
    status, _, err = command(*line)
    assert status == 1 and "shorter than a sample" in err
    assert not noisy.with_name("b.wav").exists()


def test_times_of_a_part_are_checked(noisy, command):
    status, _, err = command("denoise", noisy, "-o", "b.wav", "--from", "1:00")
    assert status == 1 and "a.wav ends at 10.00 s, before the part begins" in err
    status, _, err = command("denoise", noisy, "--from", "3", "--to", "2")
    assert status == 2 and "--from has to come before --to" in err
    for wrong in ("x", "-1", "1:2:3:4", "nan", ""):
        assert command("denoise", noisy, "--from", wrong)[0] == 2
    assert not (noisy.parent / "b.wav").exists()


def test_times_in_metadata_of_a_part_are_said(noisy, command):
    with_chunks(noisy, [(b"cue ", bytes(4))])
    _, _, err = command("denoise", noisy, "--to", "1")
    assert "a-enhanced.wav is a part of" in err and "with times of the whole in: cue" in err


@needs_ffmpeg
def test_videos_are_not_cut(noisy, command):
    video = ["-f", "lavfi", "-i", "testsrc=duration=1:size=64x32:rate=5", "-c:v", "mpeg4"]
    ffmpeg("-i", noisy, *video, "-c:a", "aac", "v.mp4")
    status, _, err = command("denoise", "v.mp4", "--to", "1")
    assert status == 1 and "pictures cannot be cut to a part: name an output" in err
    status, out, _ = command("denoise", "v.mp4", "--to", "1", "-o", "v.wav", "--json")
    assert status == 0 and json.loads(out)["seconds"] == 1.0
