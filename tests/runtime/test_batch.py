"""Batches: outcomes, errors of single files, cancellation."""

import gc
import os
import re
import subprocess
import threading
import weakref
from unicodedata import normalize
from unittest.mock import MagicMock

import numpy as np
import pytest
import soundfile
from noisy_files import make, tree
from onnxruntime.capi.onnxruntime_pybind11_state import Fail
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio import atomic_write
from qse.audio.reader import open_audio
from qse.errors import QseError
from qse.runtime import batch, file_output, found_inputs
from qse.runtime.bands import BandModels
from qse.runtime.batch import Cancelled, enhance_file, run, sound_seconds
from qse.runtime.batch_options import Options
from qse.runtime.batch_plan import FileJob, plan
from qse.runtime.denoise import denoise, enhance


@pytest.fixture
def model_at(models):
    return BandModels("recurrent").at


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs Linux")
def test_run_closes_refused_files(here, model_at):
    for number in range(20):
        path = make(here / f"{number}.ogg", 16000)
        path.write_bytes(path.read_bytes()[:-100])
    jobs, _ = plan([str(here)])
    before = len(os.listdir("/proc/self/fd"))
    for outcome in run(jobs, model_at):
        assert "cut short" in str(outcome.error)
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_run_releases_what_a_refused_file_held(here, monkeypatch):
    """An outcome is kept until the end of a batch; it must not keep the reader and the buffers of
    its file."""
    readers = []

    def opened(*how):
        reader = open_audio(*how)
        readers.append(weakref.ref(reader))
        return reader

    monkeypatch.setattr(batch, "open_audio", opened)
    make(here / "a.wav", 16000)

    def no_model(rate):
        raise QseError("no model for this rate")

    gc.disable()
    try:
        outcomes = list(run(plan([str(here)])[0], no_model))
        assert outcomes[0].error and [reader() for reader in readers] == [None]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "error, said",
    [
        (OSError(5, "Input/output error"), r"a\.wav: \[Errno 5\] Input/output error"),
        (
            Fail("no room\nin line 5"),
            r"a\.wav could not be enhanced: no room; is there enough memory\?.*",
        ),
        (
            MemoryError(),
            r"a\.wav could not be enhanced: MemoryError; is there enough memory\? Try threads=1",
        ),
    ],
)
def test_run_reports_errors_per_file(here, model_at, monkeypatch, error, said):
    make(here / "a.wav")
    make(here / "b.wav")
    failure = [error]

    def fail(job, *how):
        if job.source.name == "a.wav":
            raise failure[0]
        return enhance_file(job, *how)

    monkeypatch.setattr(batch, "enhance_file", fail)
    jobs, _ = plan(["a.wav", "b.wav"])
    first, second = run(jobs, model_at)
    assert re.fullmatch(said, str(first.error)) and (second.seconds, second.error) == (0.25, None)
    failure[0] = AttributeError("a mistake in the program keeps its traceback")
    with pytest.raises(AttributeError):
        list(run(jobs, model_at))


@pytest.mark.parametrize("calls", range(6))  # before and after each of two blocks, read and written
def test_enhance_file_cancelled_leaves_nothing(here, model_at, calls):
    make(here / "a.wav", 70000)
    answers = iter([False] * calls)
    with pytest.raises(Cancelled):
        enhance_file(
            FileJob(here / "a.wav", here / "b.wav"),
            model_at,
            Options(),
            cancelled=lambda: next(answers, True),
        )
    assert tree(here) == ["a.wav"]


def test_enhance_file_checks_cancelled_last(here, model_at):
    """The target does not exist yet when `cancelled` is asked for the last time; progress adds up
    to the duration."""
    make(here / "a.wav", 70000)
    there = []
    seconds = []
    job = FileJob(here / "a.wav", here / "b.wav")
    enhance_file(
        job,
        model_at,
        Options(),
        seconds.append,
        lambda: there.append((here / "b.wav").exists()) or False,
    )
    assert sum(seconds) == 70000 / 16000 and len(there) > 4 and not any(there)


def test_run_cancelled_gives_up_the_rest(here, model_at):
    for name in "abc":
        make(here / f"{name}.wav", 70000)
    jobs, _ = plan(["a.wav", "b.wav", "c.wav"])
    done = []
    for outcome in run(jobs, model_at, cancelled=lambda: bool(done)):
        done.append(outcome)
    assert done[0].error is None and isinstance(done[2].error, Cancelled)
    assert "c-enhanced.wav" not in tree(here)


def test_run_calls_what_a_signal_broke_interrupted(here, model_at, monkeypatch):
    """Ctrl-C on a terminal stops ffmpeg too, whose failure is none of the file."""
    make(here / "a.wav", 70000)
    jobs, _ = plan(["a.wav"])
    signals = []

    def broken(*_):
        signals.append(2)
        raise QseError("ffmpeg ended with status 255")

    monkeypatch.setattr(batch, "enhance_file", broken)
    [outcome] = run(jobs, model_at, cancelled=lambda: bool(signals))
    assert isinstance(outcome.error, Cancelled)


def test_run_joins_threads_despite_further_signals(here, model_at, monkeypatch):
    """A KeyboardInterrupt while the threads are joined does not leave one inside the model."""
    make(here / "a.wav", 70000)
    jobs, _ = plan(["a.wav"])
    shutdown = batch.ThreadPoolExecutor.shutdown
    calls = []
    before = threading.active_count()

    def interrupted(pool, **how):
        calls.append(pool)
        if len(calls) < 3:
            raise KeyboardInterrupt
        shutdown(pool, **how)

    monkeypatch.setattr(batch.ThreadPoolExecutor, "shutdown", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(run(jobs, model_at))
    assert len(calls) == 4  # of the pools of files and of models, after two interruptions
    assert threading.active_count() == before


def test_sound_seconds_reads_the_header(here):
    assert sound_seconds(make(here / "a.wav", 4000)) == 0.25
    assert sound_seconds(here / "missing.wav") == 0


@needs_ffmpeg
def test_sound_seconds_decodes_nothing(here, monkeypatch):
    ffmpeg("-i", make(here / "a.wav", 16000), "a.m4a")
    monkeypatch.setattr("subprocess.Popen", decoding := MagicMock(wraps=subprocess.Popen))
    assert sound_seconds(here / "a.m4a") == pytest.approx(1.0, abs=0.1)
    commands = [call.args[0][0] for call in decoding.call_args_list]
    assert [os.path.basename(command) for command in commands] == ["ffprobe"]


def test_enhance_file_salvages_only_when_asked(here, model_at):
    path = make(here / "a.wav", 16000)
    path.write_bytes(path.read_bytes()[:16044])
    job = FileJob(path, here / "b.wav")
    with pytest.raises(QseError, match="salvage=True"):
        enhance_file(job, model_at, Options())
    outcome = enhance_file(job, model_at, Options(salvage=True))
    assert outcome.seconds == 0.5 and "0.50 s are missing" in outcome.damage


@pytest.mark.parametrize("files, threads", [(1, 1), (1, 4), (2, 4), (3, 2)])
def test_run_lets_all_threads_work_on_every_file(here, model_at, monkeypatch, files, threads):
    """One pool serves the channels and grids of all files; the samples stay the same."""
    for number in range(files):
        soundfile.write(
            here / f"{number}.wav",
            0.1 * np.random.default_rng(number).standard_normal((4000, 2)),
            16000,
        )
    used = []

    def watched(*arguments):
        used.append(arguments[4])
        return enhance(*arguments)

    monkeypatch.setattr(batch, "enhance", watched)
    for _ in run(
        [FileJob(here / f"{n}.wav", here / f"{n}-out.wav") for n in range(files)],
        model_at,
        threads=threads,
    ):
        pass
    assert len(used) == files and len(set(used)) == 1 and (used[0] is None) == (threads == 1)
    alone, _ = soundfile.read(here / "0-out.wav")
    noisy, _ = soundfile.read(here / "0.wav", dtype="float32")
    np.testing.assert_allclose(alone, denoise(noisy, 16000, model_at(16000)), atol=1.1 / 32768)


@pytest.mark.parametrize("change", ["longer", "other samples"])
def test_a_recording_that_is_written_meanwhile_is_not_replaced(here, model_at, change):
    """Keep what its writer has added, which would be lost."""
    path = make(here / "a.wav", 200_000)
    written = []

    def write(seconds):
        if not written:
            content = path.read_bytes()
            end = content[-2000:]
            whole = content + end if change == "longer" else content[:-2000] + end[::-1]
            path.write_bytes(whole)
            os.utime(path, ns=(0, 10**9))  # another time, however coarse the clock is
            written.append(whole)

    (outcome,) = run([FileJob(path, path)], model_at, Options(overwrite=True), progress=write)
    assert "was written by another program" in str(outcome.error)
    assert path.read_bytes() == written[0] and os.listdir(here) == ["a.wav"]


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be replaced")
@pytest.mark.parametrize("mode", [0o755, 0o775, 0o777])
def test_a_recording_that_takes_the_place_of_another_is_not_replaced(here, model_at, mode):
    here.chmod(mode)
    path = make(here / "a.wav", 200_000)
    other = make(here / "b.wav", 300_000)
    content = other.read_bytes()

    def exchange(seconds):
        if other.exists():
            other.rename(path)

    (outcome,) = run([FileJob(path, path)], model_at, Options(overwrite=True), progress=exchange)
    assert "was written by another program" in str(outcome.error)
    assert path.read_bytes() == content and os.listdir(here) == ["a.wav"]


def test_a_recording_that_is_written_after_it_was_read_is_not_replaced(here, model_at, monkeypatch):
    path = make(here / "a.wav", 16000)

    def levelled(*given):
        with path.open("ab") as file:
            file.write(bytes(100))
        return file_output_levelled(*given)

    file_output_levelled = file_output.levelled
    monkeypatch.setattr(file_output, "levelled", levelled)
    options = Options(overwrite=True, loudness=-20)
    (outcome,) = run([FileJob(path, path)], model_at, options)
    assert "was written by another program" in str(outcome.error)
    assert path.read_bytes().endswith(bytes(100)) and os.listdir(here) == ["a.wav"]


def test_two_results_of_a_run_do_not_replace_each_other(here, model_at, monkeypatch):
    """Memo.wav and memo.wav are one file on many disks; the folders of a link stand for that."""
    make(here / "one/memo.wav", 16000)
    make(here / "two/memo.wav", 8000)
    (here / "out").mkdir()
    (here / "OUT").symlink_to("out")
    jobs = []
    for folder, out in (("one", "out"), ("two", "OUT")):
        jobs.append(FileJob(here / folder / "memo.wav", here / out / "memo.wav", is_new=True))
    first, second = run(jobs, model_at, Options(overwrite=True))
    assert first.error is None and "to another folder" in str(second.error)
    assert soundfile.info(here / "out/memo.wav").samplerate == 16000

    monkeypatch.setattr(found_inputs, "realpath", os.path.abspath)
    jobs, errors = plan(["one"], "out")
    assert not errors and found_inputs.file_name(jobs[0].target) == found_inputs.file_name(
        here / "OUT/memo.wav"
    )


def test_a_file_in_a_folder_that_is_mounted_twice(here, monkeypatch):
    """A link of the folder stands for the second mount; a second name of the file is another."""
    make(here / "one/memo.wav", 16000)
    (here / "two").symlink_to("one")
    monkeypatch.setattr(found_inputs, "realpath", os.path.abspath)
    for name in ("memo.wav", "new.wav"):
        one, two = (found_inputs.file_name(here / folder / name) for folder in ("one", "two"))
        assert one == two
    os.link(here / "one/memo.wav", here / "other.wav")
    one, two = (found_inputs.file_name(here / folder / "memo.wav") for folder in ("one", "two"))
    assert one == two != found_inputs.file_name(here / "other.wav")


def test_names_in_two_cases_are_one_file_where_the_disk_says_so(here, monkeypatch):
    """Also where it has a number for each name, as FAT by FUSE."""
    make(here / "data/Memo.wav", 16000)

    def one_file():
        names = {here / "data/Memo.wav", here / "data/memo.WAV", here / "DATA/Memo.wav"}
        return len(set(map(found_inputs.file_name, names))) == 1

    assert not one_file()

    def lexists(path):
        folder, name = os.path.split(os.path.abspath(path))
        names = os.listdir(folder) if os.path.isdir(folder) else ()
        return name.lower() in map(str.lower, names) or folder == os.sep

    monkeypatch.setattr(os.path, "lexists", lexists)
    assert one_file()
    (here / "other").mkdir()
    make(here / "other/a.wav", 8000)
    make(here / "other/A.wav", 8000)
    both = map(found_inputs.file_name, (here / "other/a.wav", here / "other/A.wav"))
    assert len(set(both)) == 2


def test_names_in_two_forms_of_letters_are_one_file_where_the_disk_says_so(here, monkeypatch):
    composed = "caf\u00e9.wav"
    names = (composed, normalize("NFD", composed), composed.upper())
    make(here / names[1], 16000)

    def found():
        return len({found_inputs.file_name(here / name) for name in names})

    assert found() == 3

    def lexists(path):
        folder, name = os.path.split(os.path.abspath(path))
        there = os.listdir(folder) if os.path.isdir(folder) else ()
        same = {normalize("NFC", other.casefold()) for other in there}
        return normalize("NFC", name.casefold()) in same or folder == os.sep

    monkeypatch.setattr(os.path, "lexists", lexists)
    assert found() == 1
    make(here / composed, 8000)
    assert found() == 2  # each of those that are listed, and the third


def test_what_is_made_at_the_end_of_a_run_is_not_replaced(here, model_at, monkeypatch):
    job = FileJob(make(here / "a.wav", 16000), here / "b.wav", is_new=True)

    def made(step):
        if step == "written":
            job.target.write_text("of another")

    monkeypatch.setattr(atomic_write, "step", made)
    (outcome,) = run([job], model_at, Options(overwrite=True))
    assert "exists already" in str(outcome.error) and job.target.read_text() == "of another"
