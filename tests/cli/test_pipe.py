"""qse denoise with pipes, devices and closed streams."""

import gc
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from time import sleep

import numpy as np
import pytest
import soundfile
from noisy_files import make, samples, tree
from qse_cli import pipe
from qse_cli.streams import open_streams

import qse
from qse.errors import QseError


def run(*arguments, **how) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", "from qse_cli.main import main; main()", *arguments], **how
    )


def test_pipe_in_and_out(here):
    flac = make(here / "a.flac", 5000, 2).read_bytes()
    done = run("denoise", "-", input=flac, capture_output=True)
    assert done.returncode == 0 and done.stderr.startswith(b"standard input -> standard output")
    with soundfile.SoundFile(io.BytesIO(done.stdout)) as file:
        assert (file.format, file.subtype, file.frames) == ("WAV", "PCM_16", 5000)
        np.testing.assert_array_equal(file.read(dtype="float32"), samples("a.flac"))
    done = run("denoise", "-", input=b"words", capture_output=True)
    assert done.returncode == 1 and done.stdout == b""
    assert done.stderr.startswith(b"qse: standard input is not an audio file")


@pytest.mark.skipif(os.name == "nt", reason="no other name of it is that of a file there")
def test_a_file_of_the_name_that_libsndfile_takes_for_standard_input(here):
    make(here / "a.wav", 5000).rename("-")
    (here / "other").mkdir()
    with make(here / "other/b.wav", 6000).open("rb") as other:
        done = run("denoise", "./-", "-o", "made.wav", stdin=other, capture_output=True)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(samples(here / "made.wav"), samples(here / "-"))


def test_files_are_opened_by_native_names():
    package = Path(qse.__file__).parent
    foreign = re.compile(r"soundfile\.(?:SoundFile|info|read)\((?!native\(|io\.)")
    opened = [
        path for path in package.rglob("*.py") if foreign.search(path.read_text(encoding="utf-8"))
    ]
    assert [path.name for path in opened] == ["recorder.py"]  # by a name that it was given


def test_pipe_needs_a_temporary_folder(here, command, monkeypatch):
    def none(**_):
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr("tempfile.mkdtemp", none)
    status, _, err = command("denoise", "-", "-o", "b.wav")
    assert status == 1 and "name one by TMPDIR" in err


def test_pipe_names_the_cure_for_a_full_temporary_folder(here, command, monkeypatch):
    import qse_cli.pipe

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(qse_cli.pipe, "copy_whole", full)
    status, _, err = command("denoise", "-", "-o", "b.wav")
    assert status == 1 and "No space left on device; name a folder with more room by TMPDIR" in err


def test_pipe_checks_the_target_before_reading(here, command, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)  # which fails whoever reads it
    make(here / "there.wav")
    for target, sentence in [
        ("there.wav", "there.wav exists already"),
        ("a.xyz", "no audio format has"),
        ("memo", "no audio format has"),
        ("there.wav/a.wav", "there.wav is no folder"),
    ]:
        status, _, err = command("denoise", "-", "-o", target)
        assert status == 1 and sentence in err
    assert tree(here) == ["there.wav"]


def test_replaced_standard_stream_leaves_its_descriptor_open(monkeypatch):
    """Otherwise the next file that a program opens becomes its standard input."""
    monkeypatch.setattr("sys.stdin", None)
    open_streams()
    monkeypatch.undo()
    gc.collect()
    os.fstat(0)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_pipe_reports_a_full_output(here):
    make(here / "a.wav")
    with open("/dev/full", "wb") as full:
        done = run("denoise", "a.wav", "-o", "-", stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (
        1,
        "qse: standard output cannot be written: No space left on device\n",
    )


@pytest.mark.skipif(os.name != "posix", reason="closes descriptors")
@pytest.mark.skipif(os.name == "nt", reason="pipes of Windows block")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_pipe_waits_for_a_reader(here, unbuffered):
    """The pipe is full at times, and does not block, as programs with asyncio hand theirs on."""
    make(here / "a.wav", 200_000)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    call = "from qse_cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", call, "denoise", "a.wav", "-o", "-"],
        stdout=writer,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    ) as process:
        os.close(writer)
        content = b""
        while data := os.read(reader, 20_000):
            content += data
            sleep(0.001)
    os.close(reader)
    assert process.returncode == 0
    with soundfile.SoundFile(io.BytesIO(content)) as file:
        assert file.frames == 200_000


def test_open_streams_with_closed_descriptors(here):
    make(here / "a.wav")
    qse_denoise = f"{sys.executable} -c 'from qse_cli.main import main; main()' denoise"
    for closed in (">&-", "2>&-", "<&- >&- 2>&-"):
        line = f"{qse_denoise} a.wav -o out.wav --overwrite {closed}"
        assert subprocess.run(line, shell=True).returncode == 0
        assert len(samples(here / "out.wav")) == len(samples(here / "a.wav"))
    done = subprocess.run(
        f"{qse_denoise} - -o b.wav <&-", shell=True, stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 1 and done.stderr.startswith("qse: standard input is empty")
    done = subprocess.run(
        f"{qse_denoise} a.wav -o - >&-", shell=True, stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 2 and "standard output is closed: use -o FILE" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs /dev/stdout")
def test_pipe_writes_devices(here):
    make(here / "a.wav")
    done = run("denoise", "a.wav", "-o", "/dev/null", capture_output=True, text=True)
    assert done.returncode == 0 and "a.wav -> /dev/null" in done.stderr and tree(here) == ["a.wav"]
    done = run("denoise", "a.wav", "-o", "/dev/stdout", capture_output=True)
    with soundfile.SoundFile(io.BytesIO(done.stdout)) as file:
        assert done.returncode == 0 and file.frames == 4000
    done = run(
        "denoise",
        "/dev/stdin",
        "-o",
        "b.wav",
        input=(here / "a.wav").read_bytes(),
        capture_output=True,
    )
    assert done.returncode == 0 and len(samples(here / "b.wav")) == 4000


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs /dev/null")
@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_a_device_that_became_something_else_meanwhile_stays_as_it_is(tmp_path, kind):
    """As a link of another user would let it."""
    (result := tmp_path / "result.wav").write_bytes(b"result")
    device = tmp_path / "device"
    device.symlink_to("/dev/null")
    assert pipe.deliver(result, str(device), tmp_path) == str(device)
    device.unlink()
    if kind == "pipe":
        os.mkfifo(device)
    else:
        (tmp_path / "precious").write_bytes(b"precious")
        device.symlink_to(tmp_path / "precious")
    with pytest.raises(QseError, match=r"device (is no device any more|cannot be written)"):
        pipe.deliver(result, str(device), tmp_path)
    assert kind == "pipe" or (tmp_path / "precious").read_bytes() == b"precious"
