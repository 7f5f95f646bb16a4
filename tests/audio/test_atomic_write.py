"""Files appear complete under their name, or not at all."""

import os

import pytest
import soundfile
from audio_files import WAV, make, read, tone

from qse.audio.atomic_write import atomic_path, discard_unfinished
from qse.audio.reader import Source
from qse.audio.writer import write
from qse.errors import QseError


def test_atomic_path_ignores_old_temporary_files(tmp_path):
    path = make(tmp_path / "a.wav", tone(1000), "PCM_16")
    (tmp_path / f".b.wav.{os.getpid()}.part").write_bytes(b"half")
    with Source(path) as file:
        write(tmp_path / "b.wav", file.blocks(), file.layout)
    assert soundfile.info(tmp_path / "b.wav").frames == 1000 and not list(tmp_path.glob(".qse-*"))


@pytest.mark.skipif(os.name != "posix", reason="needs links and permissions")
def test_atomic_path_follows_links_and_keeps_mode(tmp_path):
    there = make(tmp_path / "there.wav", tone(10))
    there.chmod(0o640)
    (tmp_path / "a.wav").symlink_to(there)
    write(tmp_path / "a.wav", [tone(1000)], WAV, overwrite=True)
    assert (tmp_path / "a.wav").is_symlink() and read(there) == 1000
    assert there.stat().st_mode & 0o777 == 0o640


def test_atomic_path_refuses_what_another_process_made(tmp_path):
    with pytest.raises(FileExistsError), atomic_path(tmp_path / "a.txt", overwrite=False) as part:
        part.write_text("second")
        (tmp_path / "a.txt").write_text("first")
    assert (tmp_path / "a.txt").read_text() == "first" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("link", [None, OSError(95, "Operation not supported")])
def test_atomic_path_renames_without_hard_links(tmp_path, monkeypatch, link):
    if link:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(link))
    with atomic_path(tmp_path / "a.txt", overwrite=False) as part:
        part.write_text("text")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_atomic_path_takes_names_of_250_characters(tmp_path):
    write(tmp_path / (246 * "x" + ".wav"), [tone(100)], WAV)
    assert read(tmp_path / (246 * "x" + ".wav")) == 100


def test_discard_unfinished_removes_temporary_files(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "a.txt") as part:
        part.write_text("text")
        discard_unfinished()
        assert not list(tmp_path.iterdir())


def test_write_of_two_processes_leaves_the_first_result(tmp_path):
    """Both begin before the target exists; the one that ends second is refused."""

    def second():
        yield tone(10)
        write(tmp_path / "a.wav", [tone(1000)], WAV)
        yield tone(10)

    with pytest.raises(QseError, match=r"a\.wav exists already"):
        write(tmp_path / "a.wav", second(), WAV)
    assert read(tmp_path / "a.wav") == 1000 and len(list(tmp_path.iterdir())) == 1
