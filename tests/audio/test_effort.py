"""Small files with very many parts cost work in proportion to their size."""

import os
import subprocess
import sys

import pytest
from audio_files import make, tone

from qse.audio import mp3_frames, ogg_page, ogg_pages
from qse.audio.flac_blocks import MOST_BLOCKS, read_blocks
from qse.audio.mp3_frames import read_frames
from qse.audio.ogg_pages import read_pages

CPU = 60  # seconds; each of these takes one or two, and hours where the work grows as the square
COMMENTS = """
from qse.audio.vorbis_comments import Comments
entries = [b"replaygain_%d=1" % n for n in range(500_000)]
kept, dropped = Comments(b"", [*entries, b"TITLE=a"]).still_true()
assert kept.entries == [b"TITLE=a"] and len(dropped) == 500_000
"""
ITEMS = """
from struct import pack
from qse.audio.id3 import _without_loudness_items
names = [b"replaygain_x", *[b"A"] * 1_000_000]
items = b"".join(pack("<II", 0, 0) + name + b"\\0" for name in names)
def edge(flags):
    return b"APETAGEX" + pack("<IIII", 2000, len(items) + 32, len(names), flags) + bytes(8)
back, dropped = _without_loudness_items(edge(0xA0000000) + items + edge(0x80000000))
assert dropped == ["replaygain_x"] and len(back) == 64 + len(items) - 21
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a limit of the time of a process")
@pytest.mark.parametrize("code", [COMMENTS, ITEMS])
def test_many_tags(code):
    limit = f"import resource\nresource.setrlimit(resource.RLIMIT_CPU, ({CPU}, {CPU}))\n"
    subprocess.run([sys.executable, "-c", limit + code], check=True)


def test_flac_with_very_many_blocks_is_damaged(tmp_path):
    path = make(tmp_path / "a.flac", tone(1000))
    data = path.read_bytes()
    start, end, blocks = read_blocks(path)
    information = bytes([blocks[0].kind, 0, 0, len(blocks[0].body)]) + blocks[0].body
    many = b"\x01\0\0\0" * MOST_BLOCKS + b"\x81\0\0\0"
    path.write_bytes(data[:start] + information + many + data[end:])
    with pytest.raises(ValueError, match="no end"):
        read_blocks(path)


def test_heads_of_pages_in_each_other(tmp_path, monkeypatch):
    path = make(tmp_path / "a.ogg", tone(8000))
    whole = path.read_bytes()
    head = b"OggS" + b"\0\0" + b"\xff" * 21
    path.write_bytes(whole + head * 20_000)
    checked = []
    checksum = ogg_page.checksum

    def counted(page: bytes) -> int:
        checked.append(len(page))
        return checksum(page)

    monkeypatch.setattr(ogg_page, "checksum", counted)
    assert "a page is damaged" in read_pages(path).places[0]
    assert sum(checked) < 3 * path.stat().st_size + ogg_pages.MOST_CHECKED


@pytest.mark.parametrize("junk", [b"\xff", b"\xff\xfb\x90\x00\x00"])
def test_what_looks_like_frames(tmp_path, monkeypatch, junk):
    path = make(tmp_path / "a.mp3", tone(8000))
    whole = read_frames(path)
    calls = []
    frame = mp3_frames.frame_form

    def counted(header: bytes) -> tuple[int, int]:
        calls.append(header)
        return frame(header)

    monkeypatch.setattr(mp3_frames, "frame_form", counted)
    monkeypatch.setattr(mp3_frames, "MOST_FALSE", 1000, raising=False)
    path.write_bytes(path.read_bytes() + junk * 100_000)
    found = read_frames(path)
    assert found.samples >= whole.samples and len(found.holes) == 1
    assert len(calls) < 10_000
