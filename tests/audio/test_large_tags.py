"""Metadata that state to be huge are left out by name, and not read into memory."""

import subprocess
import sys
from pathlib import Path

import pytest
from audio_files import make, tone

from qse.audio.content import inspect
from qse.audio.id3 import read_tags

MEMORY = 500 << 10  # KiB


def with_sparse_tags(path: Path, count: int, size: int = 200 << 20) -> None:
    """Put `count` ID3v2 tags, holes on the disk, before the samples of a file."""
    sound = path.read_bytes()
    digits = bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0))
    with path.open("wb") as file:
        for number in range(count):
            file.seek(number * (10 + size))
            file.write(b"ID3\4\0\0" + digits)
        file.seek(count * (10 + size))
        file.write(sound)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("suffix", ["mp3", "flac"])
def test_chained_tags_take_little_memory(here, suffix):
    path = make(here / f"a.{suffix}", tone(8000))
    with_sparse_tags(path, 4 if suffix == "mp3" else 1)
    code = f"""
import sys
from pathlib import Path
sys.argv = ["qse", "denoise", "a.{suffix}"]
from qse_cli.main import main
try:
    main()
except SystemExit:
    pass
finally:
    peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
    assert int(peak) < {MEMORY}  # kB; ru_maxrss would include the memory of the parent
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Error" not in done.stderr, done.stderr
    assert "tags of more than 32 MiB" in done.stderr or done.stderr.startswith("qse: a.")


def test_tags_above_the_limit_are_named(tmp_path):
    path = make(tmp_path / "a.mp3", tone(8000))
    with_sparse_tags(path, 1)
    with pytest.raises(ValueError, match="too large"):
        read_tags(path)
    assert inspect(path).names() == ["tags of more than 32 MiB"]
