"""Folders that others can write: they exchange names at the steps of writing, and reach nothing."""

import os
import stat
from pathlib import Path

import pytest
from audio_files import WAV, make, read, tone
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio import atomic_write, held_folder, private_folder
from qse.audio.atomic_write import atomic_path, claimed_path
from qse.audio.claim import claim
from qse.audio.file_mode import OWNER_ALONE
from qse.audio.writer import write
from qse.errors import QseError
from qse.live.recorder import Recorder
from qse.model_folder import CHECKSUMS
from qse.runtime.checksums import seal
from qse.web.site import write_site

pytestmark = pytest.mark.skipif(
    not held_folder.HAS_DESCRIPTORS, reason="the system has no descriptors of folders"
)
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root for chown"
)
linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
STEPS = ("claimed", "before making", "made", "written")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def shared(tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    return folder


@pytest.fixture
def precious(tmp_path):
    """A private file elsewhere."""
    path = tmp_path / "precious"
    path.write_text("precious")
    path.chmod(0o600)
    return path


def at(monkeypatch, name: str, act) -> list[str]:
    """Call `act` once, at the named step of writing; return the list that then has it."""
    seen = []

    def step(reached: str) -> None:
        if reached == name and not seen:
            seen.append(reached)
            act()

    monkeypatch.setattr(atomic_write, "step", step)
    return seen


@linux
@pytest.mark.parametrize("step", STEPS)
def test_part_exchanged_for_a_link_reaches_nothing_else(shared, precious, monkeypatch, step):
    def exchange() -> None:
        for part in shared.glob(".qse-*"):
            part.unlink()
            part.symlink_to(precious)
        # the names of versions that made them from the name of the target
        for suffix in ("part", "lock"):
            (shared / f".qse-0b2b3d5a.{suffix}").symlink_to(precious)

    seen = at(monkeypatch, step, exchange)
    try:
        write(shared / "a.wav", [tone(1000)], WAV)
    except QseError as error:
        assert "a.wav" in str(error)
    else:
        assert read(shared / "a.wav") == 1000
    assert seen and precious.read_text() == "precious" and mode(precious) == 0o600


@pytest.mark.parametrize("suffix", ["lock", "part"])
@pytest.mark.parametrize("exists", [True, False])
def test_planted_links_reach_nothing(shared, tmp_path, suffix, exists):
    """Under the names that a run for the same target had before."""
    with claim(shared / "a.wav") as held:
        name = held.name
    target = tmp_path / "elsewhere"
    if exists:
        target.write_text("precious")
        target.chmod(0o600)
    (shared / name).with_suffix(f".{suffix}").symlink_to(target)
    try:
        write(shared / "a.wav", [tone(1000)], WAV)
    except QseError as error:
        assert "a.wav cannot be written" in str(error) and name in str(error)
    assert target.exists() == exists
    if exists:
        assert target.read_text() == "precious" and mode(target) == 0o600


def test_lock_that_is_a_pipe_or_has_a_second_name_is_refused_at_once(shared, precious):
    with claim(shared / "a.wav") as held:
        lock = shared / held.name
    os.mkfifo(lock)
    with pytest.raises(QseError, match=r"a\.wav cannot be written: its lock .* no regular file"):
        write(shared / "a.wav", [tone(10)], WAV)
    lock.unlink()
    os.link(precious, lock)
    with pytest.raises(QseError, match=r"a\.wav cannot be written: its lock .* no regular file"):
        write(shared / "a.wav", [tone(10)], WAV)
    assert precious.read_text() == "precious"


@linux
@pytest.mark.parametrize("step", STEPS)
def test_folder_exchanged_while_it_is_written(shared, tmp_path, monkeypatch, step):
    """Rename the folder, as who can write its parent can, and put a link into its place."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "a.wav").write_text("precious")

    def exchange() -> None:
        shared.rename(tmp_path / "moved")
        shared.symlink_to(victim)

    seen = at(monkeypatch, step, exchange)
    write(shared / "a.wav", [tone(1000)], WAV, overwrite=True)
    assert seen and [path.name for path in victim.iterdir()] == ["a.wav"]
    assert (victim / "a.wav").read_text() == "precious"
    assert read(tmp_path / "moved" / "a.wav") == 1000


def test_names_of_parts_are_random_and_recorded_in_the_lock(shared):
    names = []
    for _ in range(2):
        with claimed_path(shared / "a.wav", source=None):
            (part,) = shared.glob(".qse-*.part")
            (lock,) = shared.glob(".qse-*.lock")
            assert lock.read_text() == part.name and mode(part) == mode(lock) == 0o600
            names.append(part.name)
    assert names[0] != names[1]


def test_lock_of_another_user_is_neither_read_nor_written(shared, monkeypatch):
    with claim(shared / "a.wav") as held:
        lock = shared / held.name
    other = shared / f".qse-{16 * '0'}.part"
    other.write_text("of somebody else")
    lock.write_text(other.name)
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    with claimed_path(shared / "a.wav", source=None):
        assert lock.read_text() == other.name and other.exists()
    lock.write_text("../precious")
    monkeypatch.setattr(os, "geteuid", lambda: mine)
    with claimed_path(shared / "a.wav", source=None):
        assert other.exists()


def linked(link: Path, target: Path) -> None:
    """Make a link of another user, in a folder that all can write."""
    link.parent.chmod(0o777)
    link.symlink_to(target)
    os.chown(link, 12345, 12345, follow_symlinks=False)


@as_root
@pytest.mark.parametrize("place", ["target", "folder"])
def test_link_of_another_user_in_a_shared_folder_is_not_followed(tmp_path, shared, precious, place):
    link = shared / ("a.wav" if place == "target" else "sub")
    linked(link, precious if place == "target" else tmp_path)
    target = link if place == "target" else link / "a.wav"
    with pytest.raises(QseError, match=r"a\.wav cannot be written: .* a link that another user"):
        write(target, [tone(10)], WAV, overwrite=True, is_named=True)
    if place == "target":
        with pytest.raises(QseError, match=r"a\.wav cannot be written: .* a link that another"):
            Recorder(target, 16000, 1, overwrite=True)
    assert precious.read_text() == "precious" and not (tmp_path / "a.wav").exists()
    shared.chmod(0o755)  # where only trusted users can make links, they are followed
    write(target, [tone(10)], WAV, overwrite=True, is_named=True)


@as_root
@pytest.mark.parametrize(("mode", "owner"), [(0o777, 0), (0o775, 0), (0o755, 12345), (0o1777, 1)])
@pytest.mark.parametrize("place", ["target", "folder"])
def test_own_link_that_others_may_have_renamed_is_not_followed(
    tmp_path, shared, precious, place, mode, owner
):
    """They give a link that this user has made for something else the name of an output."""
    link = shared / ("a.wav" if place == "target" else "sub")
    link.symlink_to(precious if place == "target" else tmp_path)
    os.chown(shared, owner, 12345)
    shared.chmod(mode)
    target = link if place == "target" else link / "a.wav"
    with pytest.raises(QseError, match="is a link in a folder where others can exchange it"):
        write(target, [tone(10)], WAV, overwrite=True, is_named=True)
    assert precious.read_text() == "precious" and not (tmp_path / "a.wav").exists()
    os.chown(shared, 0, 0)
    shared.chmod(0o1777)  # as /tmp
    write(target, [tone(10)], WAV, overwrite=True, is_named=True)


@as_root
def test_site_does_not_follow_the_link_of_another_user(shared, precious):
    site = {"manifest.json": b'{"version": 1, "offline": 1, "models": 1}', "index.html": b"page"}
    write_site(site, shared)
    (shared / "index.html").unlink()
    linked(shared / "index.html", precious)
    write_site(site, shared)
    assert precious.read_text() == "precious" and (shared / "index.html").read_bytes() == b"page"


@as_root
def test_checksums_do_not_follow_the_link_of_another_user(shared, precious):
    linked(shared / CHECKSUMS, precious)
    seal(shared)
    assert precious.read_text() == "precious" and not (shared / CHECKSUMS).is_symlink()


@as_root
def test_picture_does_not_follow_the_link_of_another_user(shared, precious):
    pytest.importorskip("matplotlib")
    from qse.evaluate.plot import _figure, _save

    linked(shared / "picture.png", precious)
    _save(_figure(1, 1), shared / "picture.png")
    assert precious.read_text() == "precious" and not (shared / "picture.png").is_symlink()


def test_folders_and_links_on_the_way_are_entered_as_the_system_does(tmp_path, monkeypatch):
    (tmp_path / "x" / "y").mkdir(parents=True)
    (tmp_path / "link").symlink_to("x/y")
    (tmp_path / "absolute").symlink_to(tmp_path / "x")
    monkeypatch.chdir(tmp_path / "x")
    for name in ("../link/../b.txt", "../absolute/y/.././c.txt", "new/d.txt", "./y/e.txt"):
        with claimed_path(Path(name), source=None) as part:
            part.write_text(name)
        assert Path(os.path.realpath(name)).read_text() == name
    (tmp_path / "x" / "loop").symlink_to("loop")
    with (
        pytest.raises(OSError, match="symbolic links"),
        atomic_path(Path("loop/a.txt"), source=None),
    ):
        pass
    with pytest.raises(OSError), atomic_path(Path(".."), source=None):
        pass
    with pytest.raises(NotADirectoryError), atomic_path(Path("b.txt/a"), source=None):
        pass


@pytest.mark.parametrize("planted", ["out.jsonl", ".out.jsonl.lock"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_manifest_and_its_lock_are_regular_files(here, command, planted, kind, precious):
    make(here / "a.wav", tone(4000), "PCM_16")
    (here / "m.jsonl").write_text('{"audio_filepath": "a.wav", "duration": 1}\n')
    if kind == "pipe":
        os.mkfifo(here / planted)
    else:
        (here / planted).symlink_to(precious)
    status, _, said = command("clean", "m.jsonl", "-o", "out", "--manifest", "out.jsonl")
    assert status and "out.jsonl" in said and precious.read_text() == "precious"


@pytest.mark.parametrize("of_source", [0o600, 0o640, 0o644, 0o666, 0o400])
@pytest.mark.parametrize("suffix", ["wav", "flac", "m4a"])
def test_output_is_no_more_readable_than_its_source(here, command, of_source, suffix):
    if suffix == "m4a" and needs_ffmpeg.args[0]:
        pytest.skip("needs ffmpeg")
    make(here / "in.wav", tone(4000), "PCM_16")
    if suffix == "m4a":
        ffmpeg("-i", "in.wav", "in.m4a")
    source = here / ("in.m4a" if suffix == "m4a" else "in.wav")
    source.chmod(of_source)
    assert command("denoise", source, "-o", f"out.{suffix}")[0] == 0
    assert mode(here / f"out.{suffix}") == (0o644 & of_source) | 0o600
    (here / f"out.{suffix}").chmod(0o666)
    assert command("denoise", source, "-o", f"out.{suffix}", "--overwrite")[0] == 0
    assert mode(here / f"out.{suffix}") == of_source | 0o600


def test_part_is_private_while_it_is_written(tmp_path):
    source = make(tmp_path / "in.wav", tone(10))
    source.chmod(0o644)
    with atomic_path(tmp_path / "a.txt", source=source) as part:
        (hidden,) = tmp_path.glob(".qse-*.part")
        assert mode(hidden) == 0o600
        part.write_text("text")
    assert mode(tmp_path / "a.txt") == 0o644


@as_root
def test_group_of_the_source_is_not_that_of_the_output(tmp_path):
    source = make(tmp_path / "in.wav", tone(10))
    source.chmod(0o640)
    os.chown(source, -1, 12345)
    write(tmp_path / "a.wav", [tone(10)], WAV, source=source)
    assert mode(tmp_path / "a.wav") == 0o600


def test_recording_is_private(tmp_path):
    (tmp_path / "b.wav").touch(0o644)
    for name, overwrite in (("a.wav", False), ("b.wav", True)):
        recorder = Recorder(tmp_path / name, 16000, 1, overwrite)
        recorder.put(tone(1000))
        recorder.close()
        assert recorder.error is None and read(tmp_path / name) == 1000
        assert mode(tmp_path / name) == 0o600


def test_recording_replaces_a_file_that_others_have_open(tmp_path):
    path = tmp_path / "a.wav"
    path.write_bytes(b"before")
    with path.open("rb") as reader:
        recorder = Recorder(path, 16000, 1, overwrite=True)
        recorder.put(tone(1000))
        recorder.close()
        assert recorder.error is None and read(path) == 1000
        assert reader.read() == b"before"


@pytest.fixture
def closed_folder(tmp_path, monkeypatch):
    """Return a folder in which no other file can be put into the place of one."""

    def refuse(folder, name, to=None):
        raise PermissionError

    for way in ("create", "remove", "replace"):
        monkeypatch.setattr(held_folder.HeldFolder, way, refuse)
    return tmp_path


def test_recording_is_not_written_into_a_file_whose_folder_is_closed(closed_folder):
    """Others may have that file open."""
    path = closed_folder / "a.wav"
    path.write_bytes(b"before")
    recorder = Recorder(path, 16000, 1, overwrite=True)
    recorder.put(tone(1000))
    recorder.close()
    assert "a.wav cannot be written" in recorder.error and path.read_bytes() == b"before"


@pytest.mark.parametrize("of_source", [0o600, 0o644])
def test_live_file_is_no_more_readable_than_its_source(here, command, of_source):
    make(here / "in.wav", tone(4000), "PCM_16").chmod(of_source)
    line = ("live", "--from", "in.wav", "--to", "out.wav", "--as-fast-as-possible")
    assert command(*line)[0] == 0 and mode(here / "out.wav") == of_source


def test_file_of_a_microphone_is_private(tmp_path):
    write(tmp_path / "a.wav", [tone(10)], WAV, source=OWNER_ALONE)
    assert mode(tmp_path / "a.wav") == 0o600


@pytest.mark.parametrize("of_source", [0o600, 0o644])
def test_manifest_is_no_more_readable_than_its_source(here, command, of_source):
    """It holds what was said."""
    make(here / "a.wav", tone(4000), "PCM_16")
    manifest = here / "m.jsonl"
    manifest.write_text('{"audio_filepath": "a.wav"}\n{"audio_filepath": "b.wav"}\n')
    manifest.chmod(of_source)
    for _ in range(2):  # the second time it is written anew, without the failed line
        command("clean", manifest, "-o", "out", "--manifest", "out.jsonl")
        assert mode(here / "out.jsonl") == of_source


def test_recording_does_not_follow_what_is_planted_after_the_start(tmp_path, precious):
    recorder = Recorder(tmp_path / "a.wav", 16000, 1)
    (tmp_path / "a.wav").symlink_to(tmp_path / "new")
    recorder.put(tone(1000))
    recorder.close()
    assert not (tmp_path / "new").exists() or mode(tmp_path / "new") == 0o600


def test_temporary_folder_that_others_could_exchange_is_refused(here, command, monkeypatch):
    make(here / "in.wav", tone(4000), "PCM_16")
    (here / "tmp").mkdir()
    monkeypatch.setattr(private_folder.tempfile, "tempdir", str(here / "tmp"))
    (here / "tmp").chmod(0o777)
    status, _, said = command("denoise", "in.wav", "-o", "out.wav")
    assert status == 1 and "tmp can be written by others" in said and "TMPDIR" in said
    assert not (here / "out.wav").exists()
    (here / "tmp").chmod(0o1777)
    assert command("denoise", "in.wav", "-o", "out.wav")[0] == 0


@as_root
def test_working_folder_of_another_user_stands_in_for_no_temporary_one(here, command, monkeypatch):
    """Python takes it where no other can be written."""
    make(here / "in.wav", tone(4000), "PCM_16")
    monkeypatch.setattr(private_folder.tempfile, "tempdir", str(here))
    os.chown(here, 12345, 12345)
    status, _, said = command("denoise", "in.wav", "-o", "out.wav")
    assert status == 1 and "could exchange temporary files there" in said
    os.chown(here, 0, 0)
    assert command("denoise", "in.wav", "-o", "out.wav")[0] == 0
