"""Bytes behind the samples of a file."""

import os

import pytest

from qse.audio.bytes_behind import bytes_behind

pytestmark = pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="files have no holes here")
HOLE = 1 << 34  # bytes; takes no room on disk


@pytest.fixture
def holed(tmp_path):
    """Return a function that writes bytes behind some zeros and a hole, and opens the file."""

    def write(behind: bytes, zeros: int = 100_000):
        path = tmp_path / "a"
        with path.open("wb") as file:
            file.write(bytes(zeros))
            file.truncate(HOLE)
            file.seek(HOLE)
            file.write(behind)
        return path.open("rb")

    return write


@pytest.mark.parametrize("start", [0, 10, 65_536, 99_999])
def test_a_hole_of_a_sparse_file_is_zeros_that_are_not_read(holed, start):
    with holed(b"") as file:
        assert bytes_behind(file, start) == 0
    with holed(bytes(90_000) + bytes(range(1, 201)) + bytes(70_000)) as file:
        assert bytes_behind(file, start) == 70_200
    with holed(b"TAG" + bytes(range(125))) as file:
        assert bytes_behind(file, start) == 0
