"""qse denoise: files, folders and patterns in, the same kind out."""

import errno
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import soundfile
from noisy_files import make, samples, tree

import qse


def run(*arguments, **how) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", "from qse_cli.main import main; main()", *arguments], **how
    )


def test_denoise_writes_beside_the_file(here, command):
    make(here / "a.wav")
    status, out, err = command("denoise", "a.wav")
    assert (status, out, tree(here)) == (0, "", ["a-enhanced.wav", "a.wav"])
    # the model is a pure delay
    np.testing.assert_array_equal(samples("a-enhanced.wav"), samples("a.wav"))
    lines = err.splitlines()
    assert lines[0] == "a.wav -> a-enhanced.wav" and lines[1].startswith(
        "1 file, 0.2 s of audio in "
    )
    assert re.search(r"RTF \d+\.\d{3}$", lines[1])


@pytest.mark.parametrize("sample_rate, channels", [(16000, 2), (8000, 1), (44100, 3)])
def test_denoise_equals_the_library(here, command, recurrent, sample_rate, channels):
    make(here / "a.wav", 70001, channels, sample_rate, subtype="FLOAT")
    assert command("denoise", "a.wav", "--model", "recurrent", "-o", "b.wav")[0] == 0
    info = soundfile.info("b.wav")
    assert (info.samplerate, info.channels, info.frames, info.subtype) == (
        sample_rate,
        channels,
        70001,
        "FLOAT",
    )
    np.testing.assert_array_equal(
        samples("b.wav"), qse.denoise(samples("a.wav"), sample_rate, recurrent)
    )


def test_denoise_strength(here, command):
    make(here / "a.wav")
    assert (
        command("denoise", "a.wav", "--model", "recurrent", "--strength", "0", "-o", "b.wav")[0]
        == 0
    )
    np.testing.assert_array_equal(samples("b.wav"), samples("a.wav"))
    assert (
        command("denoise", "a.wav", "--model", "recurrent", "--strength", "6", "-o", "c.wav")[0]
        == 0
    )
    assert np.abs(samples("c.wav") - samples("a.wav")).max() > 0.01
    assert command("denoise", "a.wav", "--strength", "-1", "-o", "d.wav")[0] == 2


def test_denoise_repeats_the_tree_of_a_folder(here, command):
    for name in ("in/a.wav", "in/deep/down/b.flac", "in/deep/c.ogg"):
        make(here / name)
    (here / "in" / "notes.txt").write_text("no sound")
    assert command("denoise", "in", "-o", "out")[0] == 0
    assert tree(here / "out") == ["a.wav", "deep/c.ogg", "deep/down/b.flac"]
    assert soundfile.info("out/deep/down/b.flac").format == "FLAC"


def test_denoise_names_a_file_that_ffmpeg_cannot_read(here, command):
    make(here / "in/a.wav")
    (here / "in/memo.M4A").write_bytes(b"\0\0\0\x20ftypM4A " + bytes(100))
    status, _, err = command("denoise", "in", "-o", "out")
    assert status == 1 and "qse: in/memo.M4A " in err and "ffmpeg" in err
    assert tree(here / "out") == ["a.wav"]


def test_denoise_skips_folders_without_permission(here, command, monkeypatch):
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


def test_denoise_patterns_and_many_files(here, command):
    for name in ("a1.wav", "a2.wav", "b.wav", "sub/a3.wav"):
        make(here / name)
    status, _, err = command("denoise", "a*.wav", "b.wav", "-o", "one/")
    assert status == 0 and tree(here / "one") == ["a1.wav", "a2.wav", "b.wav"]
    assert err.splitlines()[-1].startswith("3 files, ")
    assert command("denoise", "su*/**/*.wav", "-o", "two", "--threads", "1")[0] == 0
    assert tree(here / "two") == ["a3.wav"]
    (here / "papers").mkdir()
    (here / "papers/notes.txt").write_text("no sound")
    # a pattern passes over a folder without audio
    assert command("denoise", "[abp]*", "-o", "three")[0] == 0
    assert tree(here / "three") == ["a1.wav", "a2.wav", "b.wav"]


def test_denoise_output_of_one_file(here, command):
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


def test_denoise_overwrite(here, command):
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


@pytest.mark.skipif(os.name != "posix", reason="needs links, and names that are too long")
def test_denoise_names_an_impossible_output(here, command):
    make(here / "a.wav")
    (here / "loop.wav").symlink_to("loop.wav")
    status, _, err = command("denoise", "a.wav", "-o", "b" * 300 + ".wav")
    assert status == 1 and err.startswith("qse: bbb") and "name too long; name another place" in err
    status, _, err = command("denoise", "a.wav", "-o", "loop.wav")
    assert status == 1 and err.startswith("qse: loop.wav cannot be written: Too many levels of")
    os.mkfifo("pipe.wav")
    assert command("denoise", "a.wav", "-o", "pipe.wav")[2].startswith(
        "qse: pipe.wav is not a regular file"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_denoise_names_that_are_not_utf8(here):
    make(here / "a.wav")
    os.rename(b"a.wav", b"h\xe4.wav")
    done = run("denoise", ".", "x" * 300 + ".wav", "-o", "out", stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "x.wav cannot be read: File name too long" in done.stderr
    assert os.listdir(b"out") == [b"h\xe4.wav"]
