"""FileBytes gives what the bytes of a file give, and what is left of one that became shorter."""

import re
from random import Random

import pytest

from qse.audio import file_bytes
from qse.audio.file_bytes import FileBytes

PATTERN = re.compile(rb"\x01[\x00-\x02]\x03", re.DOTALL)


@pytest.fixture(params=[1, 7, 64, 4096])
def part(request, monkeypatch):
    monkeypatch.setattr(file_bytes, "PART", request.param)


@pytest.mark.usefixtures("part")
def test_slices_and_searches_are_those_of_the_bytes(tmp_path):
    rng = Random(0)
    plain = bytes(rng.choice((0, 0, 1, 2, 3)) for _ in range(2000))
    path = tmp_path / "a"
    path.write_bytes(plain)
    with path.open("rb") as file:
        data = FileBytes(file)
        assert len(data) == 2000 and data[:] == plain
        for _ in range(500):
            start = rng.randrange(2100)
            stop = rng.randrange(2100)
            assert data[start:stop] == plain[start:stop]
            wanted = bytes(rng.choice((0, 1, 2, 3)) for _ in range(rng.choice((1, 4, 6))))
            assert data.find(wanted, start) == plain.find(wanted, start)
            assert data.find(wanted, start, stop) == plain.find(wanted, start, stop)
            found = PATTERN.search(plain, start)
            assert data.search(PATTERN, start, 3) == (found.start() if found else -1)
            rest = plain[start:stop]
            count = len(rest) - len(rest.lstrip(b"\0"))
            assert start >= 2000 or data.behind_zeros(start, stop) == start + count


@pytest.mark.usefixtures("part")
def test_a_file_that_becomes_shorter_ends_early(tmp_path):
    """A memory map of it ended the process."""
    path = tmp_path / "a"
    path.write_bytes(bytes(1 << 20))
    with path.open("rb") as file:
        data = FileBytes(file)
        path.open("r+b").truncate(5000)
        assert data[4000:6000] == bytes(1000)
        assert data[900_000:900_010] == b""
        assert data.find(b"a", 0) == data.search(PATTERN, 0, 3) == -1
        assert data.behind_zeros(0, 1 << 20) == 5000
