"""MP4 files whose tables name other places than those of the sound."""

import numpy as np
import pytest
from audio_files import make
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio.reader import open_audio
from qse.errors import QseError

PICTURE = ("-f", "lavfi", "-i", "testsrc=size=64x64:duration=4:rate=10")
FORMS = {
    "pcm.mov": ("-c:a", "pcm_s16le"),
    "picture.mov": (*PICTURE, "-c:v", "mpeg4", "-c:a", "pcm_s16le"),
    "picture.mp4": (*PICTURE, "-c:v", "mpeg4", "-c:a", "aac"),
    "front.m4a": ("-c:a", "alac", "-movflags", "+faststart"),
    "fragments.mp4": ("-c:a", "aac", "-movflags", "frag_keyframe+empty_moov"),
}


@pytest.fixture
def sound(here):
    noise = 0.2 * np.random.default_rng(0).standard_normal((16000 * 4, 1))
    return make(here / "s.wav", noise)


def read(path):
    with open_audio(path) as file:
        sum(map(len, file.blocks()))
        return file.damage


@needs_ffmpeg
@pytest.mark.parametrize("name", FORMS)
def test_intact_files_are_read(here, sound, name):
    ffmpeg("-i", sound, *FORMS[name], name)
    assert read(here / name) is None


@needs_ffmpeg
@pytest.mark.parametrize("name", ["pcm.mov", "picture.mov", "front.m4a"])
@pytest.mark.parametrize("bit", [0, 3, 9])
def test_a_changed_offset_is_damage(here, sound, name, bit):
    """Of the last chunk of the first track with sound alone, or of the last track."""
    ffmpeg("-i", sound, *FORMS[name], name)
    data = bytearray((here / name).read_bytes())
    at = data.rindex(b"stco")
    last = at + 8 + 4 * int.from_bytes(data[at + 8 : at + 12], "big")
    offset = int.from_bytes(data[last : last + 4], "big") ^ 1 << bit
    data[last : last + 4] = offset.to_bytes(4, "big")
    (here / name).write_bytes(data)
    with pytest.raises(QseError, match="damaged"):
        read(here / name)


@needs_ffmpeg
def test_a_cut_file_is_called_so(here, sound):
    ffmpeg("-i", sound, *FORMS["front.m4a"], "a.m4a")
    data = (here / "a.m4a").read_bytes()
    (here / "a.m4a").write_bytes(data[: 2 * len(data) // 3])
    with pytest.raises(QseError) as error:
        read(here / "a.m4a")
    assert "one over another" not in str(error.value)
