"""qse denoise: a sentence and a status for each failure."""

import errno
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import soundfile
from noisy_files import make, samples, tree
from tagged_files import needs_ffmpeg

from qse.audio.ffmpeg_process import run
from qse.errors import UsageError


def test_denoise_reports_bad_files_and_does_the_others(here, command):
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
    bad = [
        "missing.wav",
        "nan.wav",
        "cut.wav",
        "cut.flac",
        "empty.wav",
        "text.wav",
        "none.wav",
        "hollow",
        "x*.wav",
    ]
    status, out, err = command("denoise", "good.wav", *bad, "last.flac", "-o", "out")
    assert (status, out, tree(here / "out")) == (1, "", ["good.wav", "last.flac"])
    sentences = [line for line in err.splitlines() if line.startswith("qse: ")]
    assert sorted(bad) == sorted(line.split()[1].rstrip(":") for line in sentences)
    assert err.splitlines()[-1].startswith("2 files, ")


def test_denoise_wrong_use_is_status_2(here, command):
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


def test_denoise_refuses_what_is_too_long_for_wav(here, command):
    with soundfile.SoundFile(here / "a.w64", "w", 48000, 2, "PCM_24") as file:
        file.write(np.zeros((1000, 2)))
    with (here / "a.w64").open("r+b") as file:
        count = 6 * (1 << 30)  # 6 GiB: of sound, of which there is only a beginning on the disk
        at = file.read().index(b"data\xf3\xac")
        file.seek(at + 16)
        file.write((count + 24).to_bytes(8, "little"))
        file.truncate(at + 24 + count)
    status, _, err = command("denoise", "a.w64", "-o", "b.wav")
    assert (
        status == 1
        and "a.w64 is too long for a WAV file: name an output" in err
        and tree(here) == ["a.w64"]
    )


def test_denoise_error_messages(here, command):
    make(here / "a.wav")
    (here / "wall").write_text("")
    for arguments, sentence in (
        (("a.wav", "-o", "b.mp4"), "qse: b.mp4: no video can be made of sound alone"),
        (
            ("a.wav", "--model", "live-bass"),
            "qse: no model called live-bass: the installed ones are ",
        ),
        (("a.wav", "-o", "wall/b.wav"), "qse: wall/b.wav cannot be written: "),
        (("x*.wav", "-o", "b.wav"), "qse: x*.wav: no file matches this pattern"),
        (("a.wav", "--model", 300 * "x"), "qse: no model called xxx"),
    ):
        status, _, err = command("denoise", *arguments)
        assert (
            status == 1
            and err.replace("\\", "/").startswith(sentence)
            and len(err.splitlines()) == 1
        )
    assert tree(here) == ["a.wav", "wall"]


def test_denoise_leaves_nothing_when_a_write_fails(here, command, monkeypatch):
    make(here / "a.wav", 200000)
    make(here / "b.wav", 1000)
    write = soundfile.SoundFile.write
    blocks = []

    def full(file, block):
        blocks.append(len(block))
        if sum(blocks) > 100000:
            raise soundfile.LibsndfileError(2)
        write(file, block)

    monkeypatch.setattr(soundfile.SoundFile, "write", full)
    status, _, err = command("denoise", "a.wav", "-o", "out", "--threads", "1")
    assert status == 1 and "could not be written to its end: is the disk full?" in err
    assert tree(here) == ["a.wav", "b.wav"] and len(blocks) > 1


def test_a_full_disk_for_temporary_files_loses_no_metadata(here, command, monkeypatch):
    with soundfile.SoundFile(here / "a.wav", "w", 16000, 1) as file:
        file.title = "a title"
        file.write(np.zeros(1600))

    def full(*arguments, **options):
        raise soundfile.LibsndfileError(2)

    monkeypatch.setattr(soundfile, "write", full)
    status, _, err = command("denoise", "a.wav", "-o", "b.wav")
    assert status == 1 and "b.wav cannot be written: is the disk for temporary files full?" in err
    assert tree(here) == ["a.wav"]


@needs_ffmpeg
@pytest.mark.parametrize("target", ["b.flac", "b.m4a"])
def test_what_ffmpeg_says_of_a_full_disk_is_no_loss_of_metadata(here, command, monkeypatch, target):
    """It may end as if it had written all."""
    with soundfile.SoundFile(here / "a.wav", "w", 16000, 1) as file:
        file.title = "a title"
        file.write(0.1 * np.random.default_rng(0).standard_normal(16000))

    def full(name, options):
        done = run(name, options)
        return replace(done, said=f"[out#0] {os.strerror(errno.ENOSPC)}")

    monkeypatch.setattr("qse.audio.ffmpeg_process.run", full)
    status, _, err = command("denoise", "a.wav", "-o", target)
    assert status == 1 and f"{target} cannot be written: No space left on device" in err
    assert tree(here) == ["a.wav"]


@pytest.mark.skipif(sys.platform != "linux", reason="names are text")
def test_name_that_is_not_utf_8_of_an_mp3_file(here, models):
    """While libsndfile decodes MP3, its messages are discarded, and those of qse are not."""
    names = [os.fsdecode(b"a\xff.mp3"), "b.mp3"]
    for name in names:
        soundfile.write(os.fsencode(name), np.zeros(16000), 16000, format="MP3")
    main = [sys.executable, "-c", "from qse_cli.main import main; main()"]
    done = subprocess.run([*main, "denoise", *names], capture_output=True, check=True)
    assert rb"a\udcff.mp3 -> a\udcff-enhanced.mp3" in done.stderr, done.stderr
    assert len(list(here.glob("*-enhanced.mp3"))) == 2
