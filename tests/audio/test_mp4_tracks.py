"""A track of an MP4 file whose atoms are damaged: ffmpeg leaves it out, without a word."""

import pytest
from audio_files import make, outcome, tone
from tagged_files import ffmpeg, needs_ffmpeg

pytestmark = needs_ffmpeg
NAMES = (b"trak", b"tkhd", b"mdia", b"mdhd", b"minf", b"stbl", b"stsd", b"stts", b"stsc")


@pytest.fixture(params=["m4a", "mov"])
def path(tmp_path, request):
    """Two sound tracks."""
    sound = make(tmp_path / "a.wav", tone(32_000))
    path = tmp_path / f"a.{request.param}"
    ffmpeg("-i", sound, "-i", sound, "-map", "0:a", "-map", "1:a", "-c:a", "aac", path)
    return path


@pytest.mark.parametrize("which", [bytes.index, bytes.rindex])
@pytest.mark.parametrize("place", [-1, 0, 3])
def test_size_or_name_of_an_atom_that_leads_to_a_track(path, which, place):
    whole = path.read_bytes()
    assert outcome(path)[1] == ""
    tables = whole[: whole.rindex(b"stsc") + 4]
    for name in NAMES:
        data = bytearray(whole)
        data[which(tables, name) + place] ^= 4
        path.write_bytes(data)
        samples, said = outcome(path)
        assert samples == 0 and "a.m" in said, name


def test_kind_of_a_track(path):
    data = bytearray(path.read_bytes())
    data[data.rindex(b"soun") + 2] ^= 4
    path.write_bytes(data)
    assert "a track of it is damaged" in outcome(path)[1]
