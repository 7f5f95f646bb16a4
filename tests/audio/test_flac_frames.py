"""Frames of FLAC files that are missing, there twice, or exchanged: libFLAC puts in silence, or
plays them as they come."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from audio_files import make, outcome, tone
from tagged_files import ffmpeg, needs_ffmpeg, needs_sox

from qse.audio.flac_blocks import read_blocks
from qse.audio.flac_frames import _crc, frame_places, head_of

RATE = 16000


def frames_of(path: Path) -> tuple[bytes, list[bytes]]:
    """Return what is before the frames of a FLAC file, and these."""
    data = path.read_bytes()
    start = read_blocks(path)[1]
    begins = [at for at in range(start, len(data)) if head_of(data[at : at + 16])]
    ends = [*begins[1:], len(data)]
    return data[:start], [data[at:end] for at, end in zip(begins, ends, strict=True)]


@pytest.fixture
def path(tmp_path):
    return make(tmp_path / "a.flac", tone(10 * RATE))


def rewritten(path: Path, order: list[int]) -> None:
    head, frames = frames_of(path)
    path.write_bytes(head + b"".join(frames[at] for at in order))


def test_missing_frames_are_named_with_time_and_seconds(path):
    count = len(frames_of(path)[1])
    rewritten(path, [*range(5), *range(8, count)])
    assert "0.77 s are missing at 1.28 s" in outcome(path)[1]
    read, said = outcome(path, salvage=True)
    assert read > 9 * RATE
    assert "0.77 s are missing at 1.28 s" in said


def test_frame_that_is_missing_before_the_last(path):
    count = len(frames_of(path)[1])
    rewritten(path, [*range(count - 2), count - 1])
    assert "are missing at" in outcome(path)[1]


@pytest.mark.parametrize("order", [[5, 5], [6, 5], [5, 6, 5]])
def test_frames_out_of_order(path, order):
    count = len(frames_of(path)[1])
    rewritten(path, [*range(5), *order, *range(max(order) + 1, count)])
    assert "frames are repeated or out of order at" in outcome(path)[1]


def variable(first: int, samples: int, inner: bytes = b"") -> bytes:
    """Return a frame whose number counts samples: silence, or these bytes as samples."""
    number = bytes([0xC0 | first >> 6, 0x80 | first & 63])
    head = bytes([0xFF, 0xF9, 0x75, 8, *number]) + (samples - 1).to_bytes(2, "big")
    body = head + bytes([_crc(head, 0x07, 8)]) + (b"\2" + inner if inner else b"\0\0\0")
    return body + _crc(body, 0x8005, 16).to_bytes(2, "big")


def test_frames_of_different_lengths(tmp_path):
    """Their numbers count samples; bytes within a frame may look like a head."""
    false = variable(1500, 40)[:9]
    inner = false + bytes(200 - len(false))
    frames = [variable(128, 300), variable(428, 100, inner), variable(528, 500), variable(1028, 9)]
    path = tmp_path / "frames"
    path.write_bytes(b"".join(frames))
    assert frame_places(path, 0, path.stat().st_size, False, 100) == []
    path.write_bytes(frames[0] + b"".join(frames[2:]))
    assert frame_places(path, 0, path.stat().st_size, False, 100) == [
        "1.00 s are missing at 3.00 s"
    ]


@needs_ffmpeg
@pytest.mark.parametrize("size", [16, 192, 1152, 4608, 65535])
def test_intact_frames_of_any_size(tmp_path, size):
    noise = 0.2 * np.random.default_rng(0).standard_normal((40_000, 1))
    make(tmp_path / "a.wav", noise)
    ffmpeg("-i", tmp_path / "a.wav", "-frame_size", str(size), tmp_path / "a.flac")
    assert outcome(tmp_path / "a.flac") == (40_000, "")


@needs_sox
def test_intact_frames_behind_a_header_without_a_length(tmp_path):
    make(tmp_path / "a.wav", tone(40_000))
    line = ["sox", tmp_path / "a.wav", "-t", "flac", "-"]
    done = subprocess.run(line, check=True, capture_output=True)
    (tmp_path / "a.flac").write_bytes(done.stdout)
    assert outcome(tmp_path / "a.flac") == (40_000, "")


def test_first_frames_that_are_missing_from_a_file_without_a_length(path):
    count = len(frames_of(path)[1])
    rewritten(path, list(range(20, count)))
    data = bytearray(path.read_bytes())
    data[21:26] = bytes([data[21] & 0xF0, 0, 0, 0, 0])  # the number of samples in STREAMINFO
    path.write_bytes(data)
    assert "5.12 s are missing at 0.00 s" in outcome(path)[1]


def test_repeated_frames_hide_a_part_of_what_is_missing(path):
    count = len(frames_of(path)[1])
    rewritten(path, [*range(8), 7, 7, *range(8, count - 8)])
    said = outcome(path, salvage=True)[1]
    assert re.search(r", at least \d\.\d\d s are missing \(", said)
