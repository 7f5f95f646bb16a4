"""Files appear complete under their name, or not at all."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
import soundfile
from audio_files import WAV, make, read, tone

from qse.audio import claim
from qse.audio.atomic_write import (
    atomic_path,
    claimed_path,
    discard_unfinished,
    open_to_append,
    write_text,
)
from qse.audio.reader import AudioFile
from qse.audio.writer import write
from qse.errors import QseError


def test_atomic_path_ignores_old_temporary_files(tmp_path):
    path = make(tmp_path / "a.wav", tone(1000), "PCM_16")
    (tmp_path / f".b.wav.{os.getpid()}.part").write_bytes(b"half")
    with AudioFile(path) as file:
        write(tmp_path / "b.wav", file.blocks(), file.layout)
    assert soundfile.info(tmp_path / "b.wav").frames == 1000 and not list(tmp_path.glob(".qse-*"))


def test_a_disk_that_fills_late_keeps_the_former_file(tmp_path, monkeypatch):
    """As one of another machine may, or one that lies on a full one: the file is then in memory
    alone."""
    path = make(tmp_path / "a.wav", tone(1000), "PCM_16")

    def full(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(QseError, match="cannot be written: Input/output error"):
        write(path, [tone(10)], WAV, overwrite=True)
    with pytest.raises(OSError, match="Input/output error") as raised:
        write_text(path, "words", source=None)
    assert raised.value.filename == str(path)  # for the sentence of a command
    assert read(path) == 1000 and os.listdir(tmp_path) == ["a.wav"]


@pytest.mark.skipif(os.name != "posix", reason="needs links and permissions")
def test_a_link_is_followed_that_was_named(tmp_path):
    there = make(tmp_path / "there.wav", tone(10))
    there.chmod(0o640)
    (tmp_path / "a.wav").symlink_to(there)
    write(tmp_path / "a.wav", [tone(1000)], WAV, overwrite=True, is_named=True)
    assert (tmp_path / "a.wav").is_symlink() and read(there) == 1000
    assert there.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_under_a_name_that_was_found_is_replaced_itself(tmp_path):
    (there := tmp_path / "there.txt").write_text("precious")
    for name in ("text", "path", "log", "none"):
        (tmp_path / name).symlink_to(there)
    write_text(tmp_path / "text", "new", source=None)
    with atomic_path(tmp_path / "path", source=None) as part:
        part.write_text("new")
    with pytest.raises(OSError), open_to_append(tmp_path / "log", source=None):
        pass
    with (
        pytest.raises(FileExistsError),
        atomic_path(tmp_path / "none", overwrite=False, source=None) as part,
    ):
        part.write_text("new")
    assert (tmp_path / "text").read_text() == (tmp_path / "path").read_text() == "new"
    assert there.read_text() == "precious" and (tmp_path / "none").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_atomic_path_replaces_no_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        path = tmp_path / name
        with (
            pytest.raises(OSError, match="regular"),
            atomic_path(path, is_named=True, source=None) as part,
        ):
            part.write_text("text")
    assert (tmp_path / "pipe").is_fifo() and len(list(tmp_path.iterdir())) == 2


def test_atomic_path_refuses_what_another_process_made(tmp_path):
    with (
        pytest.raises(FileExistsError),
        atomic_path(tmp_path / "a.txt", overwrite=False, source=None) as part,
    ):
        part.write_text("second")
        (tmp_path / "a.txt").write_text("first")
    assert (tmp_path / "a.txt").read_text() == "first" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("link", [None, OSError(95, "Operation not supported")])
def test_atomic_path_renames_without_hard_links(tmp_path, monkeypatch, link):
    if link:
        monkeypatch.setattr(os, "link", lambda *_, **__: (_ for _ in ()).throw(link))
    with atomic_path(tmp_path / "a.txt", overwrite=False, source=None) as part:
        part.write_text("text")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_atomic_path_takes_names_of_250_characters(tmp_path):
    write(tmp_path / (246 * "x" + ".wav"), [tone(100)], WAV)
    assert read(tmp_path / (246 * "x" + ".wav")) == 100


def test_discard_unfinished_removes_temporary_files(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "a.txt", source=None) as part:
        part.write_text("text")
        discard_unfinished()
        assert not list(tmp_path.iterdir())


def test_write_refuses_a_target_that_is_being_written(tmp_path):
    def during():
        yield tone(10)
        with pytest.raises(QseError, match=r"a\.wav is being written by another process"):
            write(tmp_path / "a.wav", [tone(1000)], WAV)
        write(tmp_path / "b.wav", [tone(20)], WAV)
        yield tone(10)

    write(tmp_path / "a.wav", during(), WAV)
    assert read(tmp_path / "a.wav") == 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.wav", "b.wav"]


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_write_takes_over_from_a_killed_process(tmp_path):
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from audio_files import WAV, tone
from qse.audio.writer import write
def endless():
    yield tone(10)
    print(flush=True)
    sys.stdin.read()
write(Path({str(tmp_path / "a.wav")!r}), endless(), WAV)
"""
    first = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert first.stdout.readline() == b"\n"
    with pytest.raises(QseError, match=r"a\.wav is being written by another process"):
        write(tmp_path / "a.wav", [tone(1000)], WAV)
    first.kill()
    first.communicate()
    assert len(list(tmp_path.glob(".qse-*"))) == 2
    write(tmp_path / "a.wav", [tone(1000)], WAV)
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]


@pytest.mark.skipif(os.name != "posix", reason="removes an open file")
def test_a_program_of_a_killed_process_does_not_disturb_the_next_one(tmp_path):
    """ffmpeg goes on when qse is killed: it wrote into the temporary file of the next run."""
    with claimed_path(tmp_path / "a.txt", source=None) as part:
        part.write_text("first")
        orphan = part.open("a")
    with orphan, claimed_path(tmp_path / "a.txt", source=None) as again:
        again.write_text("whole")
        orphan.write("of the orphan")
        orphan.flush()
    assert (tmp_path / "a.txt").read_text() == "whole"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_claim_starts_again_if_its_file_was_removed_meanwhile(tmp_path, monkeypatch):
    """The holder of a claim removes the file after a second process has opened it, and before it
    is locked there."""
    ended = []

    def end_of_the_first(file) -> bool:
        if not ended:
            ended.append(next(tmp_path.glob(".qse-*.lock")).unlink())
        return True

    monkeypatch.setattr(claim, "lock", end_of_the_first)
    with claim.claim(tmp_path / "a.wav") as hidden:
        assert (tmp_path / hidden.name).exists() and ended


def test_claimed_path_without_locks_differs_for_each_writer(tmp_path, monkeypatch):
    monkeypatch.setattr(
        claim, "lock", lambda file: (_ for _ in ()).throw(OSError(95, "not supported"))
    )
    with (
        claimed_path(tmp_path / "a.txt", source=None) as one,
        claimed_path(tmp_path / "a.txt", source=None) as two,
    ):
        assert one != two
        one.write_text("one")
        two.write_text("two")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.txt", "one")]
