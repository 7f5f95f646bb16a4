"""Inputs at places whose names or permissions could mislead the rule for links of others."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from noisy_files import make
from people_lists import NOBODY, acl
from qse_cli.pipe import pipe_job

from qse.audio import held_folder, private_folder
from qse.audio.atomic_write import open_to_append
from qse.audio.held_folder import HeldFolder
from qse.audio.input_path import OPEN, held_input, identity
from qse.errors import QseError

pytestmark = pytest.mark.skipif(
    not held_folder.HAS_DESCRIPTORS or os.geteuid() != 0, reason="needs root for chown"
)
OTHER = 12345


def foreign_link(link: Path, target: Path) -> Path:
    link.symlink_to(target)
    os.chown(link, OTHER, OTHER, follow_symlinks=False)
    return link


@pytest.fixture
def private(tmp_path):
    (folder := tmp_path / "private").mkdir(mode=0o700)
    make(folder / "secret.wav", 8000)
    return folder


@pytest.mark.parametrize("beginning", ["/processing-qse", "/developers-qse"])
def test_folders_whose_names_begin_as_those_of_the_system(beginning, private):
    folder = Path(f"{beginning}-{os.getpid()}")
    try:
        folder.mkdir()
        folder.chmod(0o777)
        foreign_link(folder / "a.wav", private / "secret.wav")
        with pytest.raises(QseError, match="another user made"), held_input(folder / "a.wav", "a"):
            pass
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="the system has no /dev/shm")
def test_link_to_a_folder_in_memory(tmp_path, private):
    (shared := tmp_path / "shared").mkdir()
    shared.chmod(0o777)
    place = Path(f"/dev/shm/qse-{os.getpid()}")
    try:
        shutil.copytree(private, place)
        link = foreign_link(shared / "d", place)
        name = link / "secret.wav"
        with pytest.raises(QseError, match="another user made"), held_input(name, "a"):
            pass
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/3", "/proc/self/fd/0", "/proc/12/fd/3"])
def test_names_of_open_files(name):
    assert OPEN.fullmatch(name)


@pytest.mark.parametrize("name", ["/dev/shm/a.wav", "/proc/self/root/a.wav", "/dev/stdin/../a"])
def test_names_of_other_files(name):
    assert not OPEN.fullmatch(os.path.abspath(name))


def test_file_that_may_not_be_opened_is_not_read_by_its_path(tmp_path, private, monkeypatch):
    """Exchange it for one without permissions, and then for a link: nothing is read."""
    path = tmp_path / "a.wav"
    make(path, 8000)

    def refused(*arguments):
        path.unlink()
        path.symlink_to(private / "secret.wav")
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(HeldFolder, "open", refused)
    with pytest.raises(QseError, match="Permission denied"), held_input(path, "a.wav"):
        pass


def test_relative_path_in_a_folder_that_cannot_be_entered_from_the_top(tmp_path, monkeypatch):
    """As a program does that a service started, for a user who may not enter the folder above."""
    (folder := tmp_path / "above" / "here").mkdir(parents=True)
    make(folder / "a.wav", 8000)
    folder.chmod(0o755)
    monkeypatch.chdir(folder)
    (tmp_path / "above").chmod(0o700)
    os.chown(tmp_path / "above", OTHER, OTHER)
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setresgid(34567, 34567, 34567)
        os.setresuid(34567, 34567, 34567)
        try:
            with held_input(Path("a.wav"), "a.wav", identity(Path())) as read:
                os._exit(0 if read.read_bytes()[:4] == b"RIFF" else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_file_behind_a_link_is_read_as_it_was_opened(private, tmp_path):
    """Others may exchange the link, although they cannot exchange the file."""
    (shared := tmp_path / "shared").mkdir()
    shared.chmod(0o777)
    public = make(tmp_path / "public.wav", 16000)
    (link := shared / "a.wav").symlink_to(public)
    with held_input(link, "a.wav") as read:
        link.unlink()
        link.symlink_to(private / "secret.wav")
        assert read.read_bytes() == public.read_bytes()


def test_group_of_several_users_may_write(tmp_path):
    """The main group of a user may be that of all; only a group of the user's own name is alone."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o775)
    (folder / "out.jsonl").touch()
    os.chown(folder / "out.jsonl", OTHER, 100)
    os.chown(folder, 0, 100)
    own = os.getegid()
    try:
        os.setegid(100)
        assert private_folder.is_shared(folder)
        with pytest.raises(PermissionError, match="another user"):
            open_to_append(folder / "out.jsonl", source=None)
    finally:
        os.setegid(own)
    os.chown(folder, 0, 0)
    assert not private_folder.is_shared(folder)
    acl(folder, (1, 7, NOBODY), (2, 7, OTHER), (4, 5, NOBODY), (16, 7, NOBODY), (32, 5, NOBODY))
    # the bits of the group are now those of all whom this list names
    assert private_folder.is_shared(folder) and private_folder.is_open(folder)
    link = folder / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(PermissionError, match="others can exchange it"):
        open_to_append(link / "out.jsonl", source=None)


def test_copy_of_standard_input_is_not_for_another_group(tmp_path, monkeypatch):
    path = make(tmp_path / "a.wav")
    os.chown(path, 0, OTHER)
    path.chmod(0o640)
    with path.open() as source:
        monkeypatch.setattr(sys, "stdin", source)
        job = pipe_job(["-"], str(tmp_path / "out.wav"), tmp_path, overwrite=False)
    assert job.source.read_bytes() == path.read_bytes()
    assert job.source.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("name", "main", "alone"), [("other", 0, False), ("other", 5, True)])
def test_group_that_is_the_main_one_of_another_user(tmp_path, monkeypatch, name, main, alone):
    """Such users are not named among its members."""
    import pwd

    other = pwd.struct_passwd((name, "x", OTHER, main, "", "/", "/bin/sh"))
    users = [*pwd.getpwall(), other]
    monkeypatch.setattr(pwd, "getpwall", lambda: users)
    private_folder._is_of_user_alone.cache_clear()
    try:
        assert private_folder._is_of_user_alone(0) is alone
    finally:
        private_folder._is_of_user_alone.cache_clear()
