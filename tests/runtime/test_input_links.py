"""Links and exchanged names in folders of inputs lead to no file that was not named."""

import os
import stat
from pathlib import Path

import pytest
from noisy_files import make

from qse.audio import held_folder
from qse.audio.input_path import held_input, identity
from qse.audio.reader import read_array
from qse.data.recordings import length_and_rate
from qse.errors import QseError
from qse.live.file_input import FileInput
from qse.runtime import batch
from qse.runtime.batch import enhance_file, sound_seconds
from qse.runtime.batch_plan import FileJob, plan
from qse.runtime.found_inputs import left_out
from qse.runtime.voice import read_voice

pytestmark = pytest.mark.skipif(
    not held_folder.HAS_DESCRIPTORS, reason="the system has no descriptors of folders"
)
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root for chown"
)
linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
OTHER = 12345  # a user


@pytest.fixture
def private(tmp_path):
    folder = tmp_path / "private"
    folder.mkdir()
    for name in ("y.wav", "z.wav"):
        make(folder / name, 4800)
    return folder


@pytest.fixture
def uploads(tmp_path):
    folder = tmp_path / "uploads"
    (folder / "sub").mkdir(parents=True)
    make(folder / "z.wav", 8000)
    make(folder / "sub" / "y.wav", 8000)
    return folder


@pytest.fixture
def foreign_link(uploads, private):
    """A link that another user made, in a folder where all can write, to a private file."""
    link = uploads / "l.wav"
    link.symlink_to(private / "z.wav")
    os.chown(link, OTHER, OTHER, follow_symlinks=False)
    uploads.chmod(0o777)
    return link


@pytest.fixture
def model_at(delay):
    return lambda rate: delay


def exchange(path: Path, target: Path) -> None:
    path.rename(path.with_name("away"))
    path.symlink_to(target)


@linux
@pytest.mark.parametrize("name", ["z.wav", "sub"])
@pytest.mark.parametrize("pattern", ["uploads", "uploads/*", "*/*.wav"])
def test_a_link_that_comes_after_the_plan_is_refused(
    uploads, private, tmp_path, model_at, monkeypatch, name, pattern
):
    monkeypatch.chdir(tmp_path)
    (inner := Path("in")).mkdir()
    uploads.rename(inner / "uploads")
    monkeypatch.chdir(inner)
    jobs, errors = plan([pattern], "../out")
    assert not errors
    target = private / "z.wav" if name == "z.wav" else private
    exchange(Path("uploads", name), target)
    for job in jobs:
        if Path("uploads", name) in (job.source, job.source.parent):
            with pytest.raises(QseError, match="leads to a file outside the folder"):
                enhance_file(job, model_at, batch.DEFAULTS)
            assert not job.target.exists()
        else:
            assert enhance_file(job, model_at, batch.DEFAULTS).seconds == 0.5


def test_links_that_a_pattern_finds_are_left_out_and_named(uploads, private, tmp_path):
    (uploads / "l.wav").symlink_to(private / "z.wav")
    (uploads / "d").symlink_to(private)
    (uploads / "inner.wav").symlink_to(uploads / "sub" / "y.wav")
    jobs, errors = plan([f"{uploads}/*"], str(tmp_path / "out"))
    found = {job.source.relative_to(uploads).as_posix() for job in jobs}
    assert found == {"z.wav", "sub/y.wav"}
    assert len(errors) == 3  # two of them behind the link to a folder
    assert all(f"outside {uploads}, and left out" in str(error) for error in errors)


def test_a_pattern_that_finds_links_alone_says_that_alone(private, tmp_path):
    (folder := tmp_path / "links").mkdir()
    (folder / "l.wav").symlink_to(private / "z.wav")
    jobs, errors = plan([f"{folder}/*"], str(tmp_path / "out"))
    assert not jobs
    assert [str(error).split()[1:4] for error in errors] == [["is", "a", "link"]]


@as_root
def test_links_of_others_are_refused_where_several_can_write(foreign_link, uploads, private):
    link = foreign_link
    with pytest.raises(QseError, match="a link that another user made"), held_input(link, "l"):
        pass
    os.chown(uploads, OTHER, OTHER)
    uploads.chmod(0o755)  # whose owner answers for all in it
    with held_input(link, "l.wav") as path:
        assert path.read_bytes() == (private / "z.wav").read_bytes()


@as_root
def test_all_that_read_recordings_refuse_links_of_others(foreign_link):
    with pytest.raises(QseError, match="a link that another user made"):
        read_array(foreign_link)
    with pytest.raises(QseError, match="a link that another user made"):
        FileInput(foreign_link)
    with pytest.raises(QseError, match="a link that another user made"):
        read_voice(foreign_link)
    with pytest.raises(QseError, match="a link that another user made"):
        length_and_rate(foreign_link)
    assert sound_seconds(foreign_link) == 0


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_links_of_no_known_suffix_to_outside_are_not_opened(private, tmp_path, monkeypatch):
    (folder := tmp_path / "links").mkdir()
    (folder / "notes.txt").symlink_to(private / "z.wav")
    make(folder / "inside.wav", 1000).rename(folder / "inside.xyz")
    assert left_out([str(folder)]) == [folder / "inside.xyz"]


@linux
def test_a_file_in_place_of_the_microphone_is_opened_once(uploads, private):
    uploads.chmod(0o777)
    source = FileInput(uploads / "z.wav", 160, paced=False)
    exchange(uploads / "z.wav", private / "z.wav")
    assert sum(map(len, source.blocks())) == 8000
    assert source.origin.stat().st_size == (uploads / "away").stat().st_size
    source.close()
    assert not source.origin.exists()


@linux
@pytest.mark.parametrize("is_put_back", [True, False])
@pytest.mark.parametrize("suffix", [".wav", ".mka"])
def test_what_was_opened_is_read_whatever_happens_to_its_name(
    uploads, private, model_at, monkeypatch, tmp_path, suffix, is_put_back
):
    source = uploads / f"a{suffix}"
    if suffix == ".wav":
        make(source, 8000)
    else:
        from tagged_files import ffmpeg

        ffmpeg("-i", uploads / "z.wav", source)
    source.chmod(0o600)
    uploads.chmod(0o777)
    jobs, _ = plan([str(uploads)], str(tmp_path / "out"))
    job = next(job for job in jobs if job.source == source)
    opened = batch.open_audio

    def exchanged(*arguments):
        exchange(source, private / "z.wav")
        reader = opened(*arguments)
        if is_put_back:
            (uploads / "away").replace(source)
        return reader

    monkeypatch.setattr(batch, "open_audio", exchanged)
    if not is_put_back:
        with pytest.raises(QseError, match="was written by another program while it was read"):
            enhance_file(job, model_at, batch.DEFAULTS)
        assert not job.target.exists()
        return
    outcome = enhance_file(job, model_at, batch.DEFAULTS)
    assert outcome.seconds == pytest.approx(0.5, abs=0.05)
    assert outcome.job == job
    assert stat.S_IMODE(job.target.stat().st_mode) == 0o600  # as what was opened


def test_a_path_that_nobody_else_can_change_is_read_by_its_name(uploads):
    with held_input(uploads / "z.wav", "z.wav", identity(uploads)) as path:
        assert path == uploads / "z.wav"
    uploads.chmod(0o777)
    with held_input(uploads / "z.wav", "z.wav", identity(uploads)) as path:
        assert path.read_bytes() == (uploads / "z.wav").read_bytes()
        assert path.suffix == ".wav"


@as_root
def test_a_relative_path_below_a_folder_that_cannot_be_entered(uploads, monkeypatch):
    monkeypatch.chdir(uploads)
    uploads.parent.chmod(0)
    groups = os.getgroups()
    os.setgroups([])
    os.seteuid(OTHER)
    try:
        with held_input(Path("z.wav"), "z.wav") as path:
            assert path.read_bytes()[:4] == b"RIFF"
    finally:
        os.seteuid(0)
        os.setgroups(groups)
        uploads.parent.chmod(0o700)


@pytest.mark.parametrize("make_it", [os.mkdir, getattr(os, "mkfifo", os.mkdir)])
def test_what_is_no_file_is_refused_at_once(tmp_path, make_it):
    make_it(tmp_path / "a.wav")
    with pytest.raises(QseError, match="is a "), held_input(tmp_path / "a.wav", "a.wav"):
        pass
    job = FileJob(tmp_path / "missing.wav", tmp_path / "b.wav")
    with pytest.raises(QseError, match=r"missing\.wav: no such file"):
        enhance_file(job, lambda rate: None, batch.DEFAULTS)
