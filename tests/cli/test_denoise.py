"""The command: files, folders, patterns and pipes in, the same kind out, and a sentence for every failure."""

import errno
import io
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import soundfile
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

import qse
from qse.errors import QseError, UsageError
from qse.runtime import batch
from qse.runtime.batch import Options, enhance_file
from qse.runtime.batch import run as run_jobs
from qse.runtime.batch_plan import Job, plan
from qse.stop_signals import active_signals


def speech(samples: int, channels: int = 1, seed: int = 0) -> np.ndarray:
    return (0.2 * np.random.default_rng(seed).standard_normal((samples, channels))).astype(np.float32)


def make(path, samples=4000, channels=1, sample_rate=16000, **how):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, speech(samples, channels), sample_rate, **how)
    return path


def samples(path) -> np.ndarray:
    return soundfile.read(path, dtype="float32", always_2d=True)[0]


@pytest.fixture
def here(tmp_path, monkeypatch, models):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tree(folder) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_file_is_enhanced_beside_itself(here, command):
    make(here / "a.wav")
    status, out, err = command("denoise", "a.wav")
    assert (status, out, tree(here)) == (0, "", ["a-enhanced.wav", "a.wav"])
    np.testing.assert_array_equal(samples("a-enhanced.wav"), samples("a.wav"))  # the model is a pure delay
    lines = err.splitlines()
    assert lines[0] == "a.wav -> a-enhanced.wav" and lines[1].startswith("1 file, 0.2 s of audio in ")
    assert re.search(r"RTF \d+\.\d{3}$", lines[1])


@pytest.mark.parametrize("sample_rate, channels", [(16000, 2), (8000, 1), (44100, 3)])
def test_a_file_gets_what_the_library_makes_of_the_array(here, command, recurrent, sample_rate, channels):
    make(here / "a.wav", 70001, channels, sample_rate, subtype="FLOAT")
    assert command("denoise", "a.wav", "--model", "recurrent", "-o", "b.wav")[0] == 0
    info = soundfile.info("b.wav")
    assert (info.samplerate, info.channels, info.frames, info.subtype) == (sample_rate, channels, 70001, "FLOAT")
    np.testing.assert_array_equal(samples("b.wav"), qse.denoise(samples("a.wav"), sample_rate, recurrent))


def test_strength_is_passed_on(here, command):
    make(here / "a.wav")
    assert command("denoise", "a.wav", "--model", "recurrent", "--strength", "0", "-o", "b.wav")[0] == 0
    np.testing.assert_array_equal(samples("b.wav"), samples("a.wav"))
    assert command("denoise", "a.wav", "--model", "recurrent", "--strength", "6", "-o", "c.wav")[0] == 0
    assert np.abs(samples("c.wav") - samples("a.wav")).max() > 0.01
    assert command("denoise", "a.wav", "--strength", "-1", "-o", "d.wav")[0] == 2


def test_a_folder_becomes_the_same_tree(here, command):
    for name in ("in/a.wav", "in/deep/down/b.flac", "in/deep/c.ogg"):
        make(here / name)
    (here / "in" / "notes.txt").write_text("no sound")
    assert command("denoise", "in", "-o", "out")[0] == 0
    assert tree(here / "out") == ["a.wav", "deep/c.ogg", "deep/down/b.flac"]
    assert soundfile.info("out/deep/down/b.flac").format == "FLAC"


def test_what_libsndfile_does_not_read_is_named_and_not_passed_over(here, command):
    make(here / "in/a.wav")
    (here / "in/memo.M4A").write_bytes(b"\0\0\0\x20ftypM4A " + bytes(100))
    status, _, err = command("denoise", "in", "-o", "out")
    assert status == 1 and "qse: in/memo.M4A is not an audio file" in err and "ffmpeg -i IN OUT.wav" in err
    assert tree(here / "out") == ["a.wav"]


def test_results_among_the_inputs_are_passed_over(here, command):
    make(here / "in" / "a.wav")
    assert command("denoise", "in")[0] == 0
    assert command("denoise", "in", "--overwrite")[0] == 0
    assert command("denoise", "in", "-o", "in/out")[0] == 0
    assert command("denoise", "in", "-o", "in/out", "--overwrite")[0] == 0
    assert tree(here / "in") == ["a-enhanced.wav", "a.wav", "out/a.wav"]
    for path in ("a.wav", "a-enhanced.wav"):
        (here / "in" / path).unlink()
    status, _, err = command("denoise", "in", "-o", "in/out")
    assert status == 1 and err.startswith("qse: in: nothing to do")


def test_an_output_folder_among_the_inputs_is_passed_over_but_not_what_is_named_in_it(here, command):
    make(here / "in/a.wav")
    for _ in range(2):  # as a shell writes in/*, before the first time without in/out
        inputs = sorted(map(str, (here / "in").iterdir()))
        assert command("denoise", *inputs, "-o", "in/out", "--overwrite")[0] == 0
    assert tree(here / "in") == ["a.wav", "out/a.wav"]
    assert command("denoise", "in/**/*.wav", "-o", "in/out", "--overwrite")[0] == 0
    assert tree(here / "in") == ["a.wav", "out/a.wav"]
    make(here / "in/out/b.wav")
    _, _, err = command("denoise", "in/a.wav", "in/out/b.wav", "-o", "in/out", "--overwrite")
    assert "b.wav -> in/out/b.wav" in err.replace("\\", "/")


def test_a_result_is_known_by_any_spelling_of_its_place(here, command):
    make(here / "in/a.wav")
    assert command("denoise", "in/a.wav")[0] == 0
    assert command("denoise", here / "in/a.wav", "in", "--overwrite")[0] == 0
    status, _, err = command("denoise", "in", "-o", "in")  # onto itself
    assert status == 1 and "in/a.wav exists already" in err
    assert tree(here) == ["in/a-enhanced.wav", "in/a.wav"]


def test_an_original_is_no_result_because_another_file_would_be_written_there(here, command):
    make(here / "y/a.wav", 1000)
    make(here / "x/a.wav", 2000)
    status, _, err = command("denoise", "y", "x", "-o", "y", "--overwrite")
    assert status == 1 and "x/a.wav would be written to y/a.wav, as y/a.wav is" in err
    assert len(samples(here / "y/a.wav")) == 1000


def test_a_file_counts_once_and_a_hidden_one_not_at_all(here, command):
    make(here / "a.wav")
    (here / "._a.wav").write_bytes(b"what macOS lays beside a file")
    make(here / ".Trash-1000/files/b.wav")
    status, _, err = command("denoise", "a.wav", here / "a.wav", ".")
    assert status == 0 and err.splitlines()[-1].startswith("1 file, ")
    assert command("denoise", "a.wav", "a-enhanced.wav", "-o", "out")[0] == 0
    assert tree(here / "out") == ["a-enhanced.wav", "a.wav"]  # which was asked for by name


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_is_not_in_the_way_of_the_file_it_leads_to(here, command):
    make(here / "in/b.wav")
    (here / "in/a.wav").symlink_to("b.wav")
    assert command("denoise", "in", "-o", "out")[0] == 0
    assert tree(here / "out") == ["b.wav"]
    (here / "loop.wav").symlink_to("loop.wav")
    status, _, err = command("denoise", "loop.wav")
    assert status == 1 and err.startswith("qse: loop.wav")


@pytest.mark.skipif(os.name != "posix", reason="needs links, and names that are too long")
def test_a_place_that_cannot_be_is_named(here, command):
    make(here / "a.wav")
    (here / "loop.wav").symlink_to("loop.wav")
    status, _, err = command("denoise", "a.wav", "-o", "b" * 300 + ".wav")
    assert status == 1 and err.startswith("qse: bbb") and "name too long; name another place" in err
    assert command("denoise", "a.wav", "-o", "loop.wav")[0] == 0  # it led nowhere, and is now a file
    os.mkfifo("pipe.wav")
    assert command("denoise", "a.wav", "-o", "pipe.wav")[2].startswith("qse: pipe.wav is no file that can be replaced")


def test_a_file_that_may_not_be_looked_at_does_not_keep_the_others_back(here, command, monkeypatch):
    make(here / "in/a.wav")
    make(here / "in/locked/b.wav")
    look = os.stat

    def stat(path, **how):
        if "locked/" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return look(path, **how)

    monkeypatch.setattr(os, "stat", stat)
    status, _, err = command("denoise", "in", "-o", "out")
    assert status == 0 and tree(here / "out") == ["a.wav"], err


def test_patterns_and_many_files(here, command):
    for name in ("a1.wav", "a2.wav", "b.wav", "sub/a3.wav"):
        make(here / name)
    status, _, err = command("denoise", "a*.wav", "b.wav", "-o", "one/")
    assert status == 0 and tree(here / "one") == ["a1.wav", "a2.wav", "b.wav"]
    assert err.splitlines()[-1].startswith("3 files, ")
    assert command("denoise", "su*/**/*.wav", "-o", "two", "--threads", "1")[0] == 0
    assert tree(here / "two") == ["a3.wav"]
    (here / "papers").mkdir()
    (here / "papers/notes.txt").write_text("no sound")
    assert command("denoise", "[abp]*", "-o", "three")[0] == 0  # a pattern passes over a folder without audio
    assert tree(here / "three") == ["a1.wav", "a2.wav", "b.wav"]


def test_where_one_file_goes(here, command):
    make(here / "a.wav")
    (here / "there").mkdir()
    for output, expected in (
        ("b.flac", "b.flac"),
        ("there", "there/a.wav"),
        ("new", "new/a.wav"),
        ("new.dir/", "new.dir/a.wav"),
        ("x/y/b.wav", "x/y/b.wav"),
    ):
        assert command("denoise", "a.wav", "-o", output)[0] == 0
        assert (here / expected).is_file()


def test_nothing_is_overwritten_unasked(here, command):
    make(here / "a.wav")
    (here / "a-enhanced.wav").write_text("precious")
    status, _, err = command("denoise", "a.wav")
    assert status == 1 and err.startswith("qse: a-enhanced.wav exists already")
    assert (here / "a-enhanced.wav").read_text() == "precious"
    assert command("denoise", "a.wav", "--overwrite")[0] == 0
    before = samples("a.wav")
    assert command("denoise", "a.wav", "-o", ".")[0] == 1
    assert command("denoise", "a.wav", "-o", "a.wav", "--overwrite")[0] == 0
    np.testing.assert_array_equal(samples("a.wav"), before)


def test_each_bad_file_gets_a_sentence_and_the_others_are_done(here, command):
    make(here / "good.wav")
    make(here / "last.flac")
    broken = samples("good.wav")
    broken[7] = np.nan
    soundfile.write("nan.wav", broken, 16000, "FLOAT")
    (here / "cut.wav").write_bytes((here / "good.wav").read_bytes()[:5000])
    flac = (here / "last.flac").read_bytes()
    (here / "cut.flac").write_bytes(flac[: len(flac) // 2])
    (here / "empty.wav").write_bytes(b"")
    (here / "text.wav").write_text("not sound" * 100)
    soundfile.write("none.wav", np.zeros(0), 16000)
    (here / "hollow").mkdir()
    bad = ["missing.wav", "nan.wav", "cut.wav", "cut.flac", "empty.wav", "text.wav", "none.wav", "hollow", "x*.wav"]
    status, out, err = command("denoise", "good.wav", *bad, "last.flac", "-o", "out")
    assert (status, out, tree(here / "out")) == (1, "", ["good.wav", "last.flac"])
    sentences = [line for line in err.splitlines() if line.startswith("qse: ")]
    assert sorted(bad) == sorted(line.split()[1].rstrip(":") for line in sentences)
    assert err.splitlines()[-1].startswith("2 files, ")


def test_two_inputs_for_one_output_are_told(here, command):
    make(here / "one" / "a.wav")
    make(here / "two" / "a.wav")
    status, _, err = command("denoise", "one", "two", "-o", "out")
    assert status == 1 and "two/a.wav would be written to out/a.wav, as one/a.wav is" in err.replace("\\", "/")
    assert tree(here / "out") == ["a.wav"]


def test_wrong_use_is_status_2(here, command):
    make(here / "a.wav")
    make(here / "b.wav")
    assert command("denoise")[0] == 2
    assert command("denoise", "a.wav", "--threads", "0")[0] == 2
    assert command("denoise", "a.wav", "--strength", "nan")[0] == 2
    for arguments, sentence in (
        (("a.wav", "b.wav", "-o", "c.wav"), "several inputs need a folder"),
        (("a.wav", "b.wav", "-o", "a.wav"), "several inputs need a folder"),
        (("-", "a.wav"), "one input and one output"),
        ((".", "-o", "-"), "one input and one output"),
        (("-", "-o", "."), "name a file"),
        (("",), "an input or output without a name"),
        (("a.wav", "-o", ""), "an input or output without a name"),
    ):
        status, _, err = command("denoise", *arguments)
        assert status == UsageError.status == 2 and sentence in err
    assert tree(here) == ["a.wav", "b.wav"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs Linux")
def test_files_that_are_refused_are_closed(here):
    from qse.runtime.batch import plan, run

    for number in range(20):
        whole = make(here / f"{number}.ogg", 16000)
        whole.write_bytes(whole.read_bytes()[:-100])
    jobs, _ = plan([str(here)])
    engine, before = qse.load(), len(os.listdir("/proc/self/fd"))
    for _, result in run(jobs, engine):
        assert "cut short" in str(result)
    assert len(os.listdir("/proc/self/fd")) <= before + 1


def test_what_is_too_long_for_wav_is_told_at_once(here, command):
    with soundfile.SoundFile(here / "a.w64", "w", 48000, 2, "PCM_24") as file:
        file.write(np.zeros((1000, 2)))
    with (here / "a.w64").open("r+b") as file:
        count = 6 * (1 << 30)  # 6 GiB: of sound, of which there is only a beginning on the disk
        at = file.read().index(b"data\xf3\xac")
        file.seek(at + 16)
        file.write((count + 24).to_bytes(8, "little"))
        file.truncate(at + 24 + count)
    status, _, err = command("denoise", "a.w64", "-o", "b.wav")
    assert status == 1 and "a.w64 is too long for a WAV file: name an output" in err and tree(here) == ["a.w64"]


def test_only_a_pipe_needs_a_temporary_folder(here, command, monkeypatch):
    import qse_cli.pipe

    def none(**_):
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(qse_cli.pipe, "TemporaryDirectory", none)
    make(here / "a.wav")
    assert command("denoise", "a.wav")[0] == 0
    status, _, err = command("denoise", "-", "-o", "b.wav")
    assert status == 1 and "name one by TMPDIR" in err


def test_other_sentences(here, command):
    make(here / "a.wav")
    (here / "wall").write_text("")
    for arguments, sentence in (
        (("a.wav", "-o", "b.mp4"), "qse: b.mp4: no audio format goes with this suffix"),
        (("a.wav", "--model", "live-bass"), "qse: no model called live-bass: the installed ones are "),
        (("a.wav", "-o", "wall/b.wav"), "qse: wall/b.wav cannot be written: "),
        (("x*.wav", "-o", "b.wav"), "qse: x*.wav: no file matches this pattern"),
        (("a.wav", "--model", 300 * "x"), "qse: no model called xxx"),
    ):
        status, _, err = command("denoise", *arguments)
        assert status == 1 and err.replace("\\", "/").startswith(sentence) and len(err.splitlines()) == 1
    assert tree(here) == ["a.wav", "wall"]


def test_a_library_that_fails_half_way_leaves_nothing(here, command, monkeypatch):
    make(here / "a.wav", 200000)
    make(here / "b.wav", 1000)
    write, blocks = soundfile.SoundFile.write, []

    def full(file, block):
        blocks.append(len(block))
        if sum(blocks) > 100000:
            raise soundfile.LibsndfileError(2)
        write(file, block)

    monkeypatch.setattr(soundfile.SoundFile, "write", full)
    status, _, err = command("denoise", "a.wav", "-o", "out", "--threads", "1")
    assert status == 1 and "could not be written to its end: is the disk full?" in err
    assert tree(here) == ["a.wav", "b.wav"] and len(blocks) > 1


def run(*arguments, **how) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", "from qse_cli.main import main; main()", *arguments], **how)


def test_pipes(here):
    flac = make(here / "a.flac", 5000, 2).read_bytes()
    done = run("denoise", "-", input=flac, capture_output=True)
    assert done.returncode == 0 and done.stderr.startswith(b"standard input -> standard output")
    with soundfile.SoundFile(io.BytesIO(done.stdout)) as file:
        assert (file.format, file.subtype, file.frames) == ("WAV", "PCM_16", 5000)
        np.testing.assert_array_equal(file.read(dtype="float32"), samples("a.flac"))
    done = run("denoise", "-", input=b"words", capture_output=True)
    assert done.returncode == 1 and done.stdout == b""
    assert done.stderr.startswith(b"qse: standard input is not an audio file")


def test_a_pipe_is_not_read_for_a_target_that_cannot_be(here, command, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)  # which fails whoever reads it
    make(here / "there.wav")
    for target, sentence in [("there.wav", "there.wav exists already"), ("a.xyz", "no audio format goes with")]:
        status, _, err = command("denoise", "-", "-o", target)
        assert status == 1 and sentence in err


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_names_that_are_not_text_and_names_that_cannot_be(here):
    make(here / "a.wav")
    os.rename(b"a.wav", b"h\xe4.wav")
    done = run("denoise", ".", "x" * 300 + ".wav", "-o", "out", stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "x.wav cannot be read: File name too long" in done.stderr
    assert os.listdir(b"out") == [b"h\xe4.wav"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_pipe_that_cannot_take_it(here):
    make(here / "a.wav")
    with open("/dev/full", "wb") as full:
        done = run("denoise", "a.wav", "-o", "-", stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "qse: standard output cannot be written: No space left on device\n")


@pytest.mark.skipif(os.name != "posix", reason="closes descriptors")
def test_standard_streams_that_are_closed_are_in_nobodys_way(here):
    make(here / "a.wav")
    qse_denoise = f"{sys.executable} -c 'from qse_cli.main import main; main()' denoise"
    for closed in (">&-", "2>&-", "<&- >&- 2>&-"):
        line = f"{qse_denoise} a.wav -o out.wav --overwrite {closed}"
        assert subprocess.run(line, shell=True).returncode == 0
        assert len(samples(here / "out.wav")) == len(samples(here / "a.wav"))
    done = subprocess.run(f"{qse_denoise} - -o b.wav <&-", shell=True, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and done.stderr.startswith("qse: standard input is empty")


def test_requests_to_end_are_those_that_nobody_ignores():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert signal.SIGTERM not in requests() and signal.SIGINT in requests()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.SIGTERM in requests()


@pytest.mark.parametrize("error, said", [
    (OSError(5, "Input/output error"), r"a\.wav: \[Errno 5\] Input/output error"),
    (Fail("no room\nin line 5"), r"a\.wav could not be enhanced: no room; is there enough memory\?.*"),
    (MemoryError(), r"a\.wav could not be enhanced: MemoryError; is there enough memory\? Try --threads 1"),
])  # fmt: skip
def test_an_error_in_one_file_is_its_own(here, monkeypatch, error, said):
    make(here / "a.wav")
    make(here / "b.wav")
    do = Job.do

    def fail(job, *how):
        if job.source.name == "a.wav":
            raise error
        return do(job, *how)

    monkeypatch.setattr(Job, "do", fail)
    jobs, _ = plan(["a.wav", "b.wav"])
    (_, first), (_, second) = run_jobs(jobs, qse.load("recurrent"))
    assert re.fullmatch(said, str(first)) and second == 0.25
    error = AttributeError("a mistake in the program keeps its traceback")
    with pytest.raises(AttributeError):
        list(run_jobs(jobs, qse.load("recurrent")))


@pytest.mark.parametrize("call", range(5))  # two blocks read and their end, two written
def test_whatever_is_being_done_a_request_to_stop_leaves_nothing(here, call):
    make(here / "a.wav", 70000)
    calls = []

    def progress(seconds):
        calls.append(seconds)
        if len(calls) > call:
            raise QseError("interrupted")

    with pytest.raises(QseError, match="interrupted"):
        Job(here / "a.wav", here / "b.wav").do(qse.load("recurrent"), progress=progress)
    assert tree(here) == ["a.wav"]


def test_the_last_thing_before_a_result_appears_is_a_look_for_a_request_to_stop(here):
    make(here / "a.wav", 70000)
    seen = []
    Job(here / "a.wav", here / "b.wav").do(
        qse.load("recurrent"), progress=lambda seconds: seen.append((seconds, (here / "b.wav").exists()))
    )
    assert sum(seconds for seconds, _ in seen) == 70000 / 16000 and seen[-1] == (0, False)


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize("name, status", [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_an_interrupted_run_leaves_nothing_half_written(here, name, status):
    number = getattr(signal, name)
    with soundfile.SoundFile("long.wav", "w", 16000, 1) as file:
        for _ in range(20):
            file.write(np.zeros(16000 * 60, np.int16))
    arguments = [sys.executable, "-c", "from qse_cli.main import main; main()", "denoise", "long.wav"]
    process = subprocess.Popen(
        [*arguments, "--model", "recurrent"],
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # as from a terminal
    )
    while not list(here.glob(".*.part")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    assert process.wait() == status and tree(here) == ["long.wav"]


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_a_request_to_end_waits_for_an_import(here):
    module = """
import os, signal
try:
    os.kill(os.getpid(), signal.SIGTERM)
    list(range(100000))
except SystemExit:
    print("dropped, as callbacks of weak references do")
print("imported")
"""
    (here / "slow.py").write_text(module)
    code = "import time, qse_cli.main as cli; cli.app = lambda: (__import__('slow'), time.sleep(60)); cli.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.returncode) == ("imported\n", 143)


def test_info_lists_the_models(models, command):
    status, out, _ = command("info")
    row = next(line for line in out.splitlines() if line.strip().startswith("live-base"))
    assert status == 0 and "16000 Hz" in row and "20 ms" in row and "CC0-1.0" in row
    status, _, err = command("info", "weather")
    assert status == 2 and "there is zoo" in err


def test_info_lists_the_models_beside_a_damaged_one(zoo, command, monkeypatch, tmp_path):
    (tmp_path / "a-torn-one").mkdir()
    (tmp_path / "a-torn-one/model.onnx").write_bytes(b"torn")
    monkeypatch.setenv("QSE_MODELS", f"{tmp_path}{os.pathsep}{zoo}")
    status, out, err = command("info")
    assert status == 1 and "recurrent" in out and "a-torn-one" not in out
    assert "a-torn-one/model.onnx" in err and err.count("\n") == 1


def test_version(command):
    assert command("--version")[:2] == (0, f"qse {qse.__version__}\n")
