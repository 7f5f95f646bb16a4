"""denoise_file: the same files as qse denoise, and errors in place of partial outputs."""

import numpy as np
import pytest
import soundfile

import qse


@pytest.fixture
def noisy(here):
    """A stereo file of 44.1 kHz in the working directory."""
    audio = 0.3 * np.random.default_rng(0).standard_normal((5000, 2))
    soundfile.write(here / "noisy.wav", audio, 44100, "PCM_16")
    return here / "noisy.wav"


def test_denoise_file_writes_what_the_command_writes(noisy, command):
    assert (
        command("denoise", noisy, "-o", "command.wav", "--model", "recurrent", "--strength", "12")[
            0
        ]
        == 0
    )
    target = qse.denoise_file(noisy, "function.wav", "recurrent", strength=12)
    assert str(target) == "function.wav"
    assert target.read_bytes() == noisy.with_name("command.wav").read_bytes()


def test_denoise_file_names_its_target(noisy):
    assert qse.denoise_file(str(noisy)) == noisy.with_name("noisy-enhanced.wav")
    assert (
        qse.denoise_file("noisy.wav", "cleaned", qse.load("recurrent")).as_posix()
        == "cleaned/noisy.wav"
    )
    info = soundfile.info("cleaned/noisy.wav")
    assert (info.frames, info.channels, info.samplerate, info.subtype) == (5000, 2, 44100, "PCM_16")


def test_denoise_file_replaces_only_when_asked(noisy):
    target = noisy.with_name("out.wav")
    target.write_bytes(b"mine")
    with pytest.raises(qse.QseError, match=r"out\.wav"):
        qse.denoise_file(noisy, target)
    assert target.read_bytes() == b"mine"
    assert qse.denoise_file(noisy, target, overwrite=True) == target
    assert soundfile.info(target).frames == 5000


def test_denoise_file_salvages_when_asked(noisy):
    noisy.write_bytes(noisy.read_bytes()[:-4000])  # 1000 frames of 4 bytes
    with pytest.raises(qse.QseError, match=r"cut short.*salvage=True"):
        qse.denoise_file(noisy)
    assert soundfile.info(qse.denoise_file(noisy, salvage=True)).frames == 4000


@pytest.mark.parametrize(
    "path, words",
    [("none.wav", "none.wav is no file"), (".", "is no file"), ("text.wav", "text.wav")],
)
def test_denoise_file_refuses(here, path, words):
    (here / "text.wav").write_text("no sound")
    with pytest.raises(qse.QseError, match=words):
        qse.denoise_file(path)
    assert [file.name for file in here.iterdir()] == ["text.wav"]
