"""denoise_file: the same files as qse denoise, and errors in place of partial outputs."""

import io
import os
import stat
import zipfile

import numpy as np
import pytest
import soundfile

import qse
from qse.audio.file_mode import AT_FIRST, STATUS


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


@pytest.mark.parametrize("suffix", ["wav", "flac", "ogg", "mp3", "aiff", "caf"])
@pytest.mark.parametrize("held", [io.BytesIO, bytes, bytearray, memoryview])
def test_recordings_in_memory(noisy, suffix, held):
    """The bytes that the file would have, which is written by its path."""
    path = noisy.with_suffix(f".{suffix}")
    soundfile.write(path, soundfile.read(noisy)[0], 44100)
    expected = qse.denoise_file(path, model="recurrent").read_bytes()
    files = sorted(noisy.parent.iterdir())
    found = qse.denoise_file(held(path.read_bytes()), model="recurrent")
    assert isinstance(found, bytes) and sorted(noisy.parent.iterdir()) == files
    audio, rate = soundfile.read(io.BytesIO(found))
    np.testing.assert_array_equal(audio, soundfile.read(io.BytesIO(expected))[0])
    assert rate == 44100


def test_recordings_in_memory_go_to_a_path_too(noisy):
    with noisy.open("rb") as file:
        assert qse.denoise_file(file, "b.flac", "recurrent").as_posix() == "b.flac"
    assert soundfile.info("b.flac").frames == 5000
    with pytest.raises(qse.QseError, match=r"b\.flac exists"):
        qse.denoise_file(noisy.read_bytes(), "b.flac", "recurrent")
    with pytest.raises(qse.QseError, match=r"has no name to be given in a folder; name a file"):
        qse.denoise_file(noisy.read_bytes(), ".", "recurrent")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("of_source", [0o600, 0o644])
def test_result_of_an_open_file_is_no_more_readable_than_it(noisy, of_source):
    noisy.chmod(of_source)
    with noisy.open("rb") as file:
        target = qse.denoise_file(file, "out.wav", model="recurrent")
    assert stat.S_IMODE(target.stat().st_mode) == of_source


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_result_of_a_file_that_an_object_does_not_tell_is_for_its_owner(noisy):
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.write(noisy, "a.wav")
    modes = []
    with zipfile.ZipFile("a.zip") as archive, archive.open("a.wav") as file:
        for source in (file, io.BytesIO(noisy.read_bytes())):
            target = qse.denoise_file(source, "out.wav", model="recurrent", overwrite=True)
            modes.append(stat.S_IMODE(target.stat().st_mode))
            target.unlink()
    assert modes == [0o600, 0o666 & ~AT_FIRST]


@pytest.mark.skipif(not STATUS.exists(), reason="the umask is told by Linux alone")
def test_result_of_sound_in_memory_has_the_permissions_of_new_files(noisy):
    """By the umask at that time."""
    former = os.umask(0o027)
    try:
        target = qse.denoise_file(io.BytesIO(noisy.read_bytes()), "out.wav", model="recurrent")
    finally:
        os.umask(former)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_what_is_no_recording_is_refused_in_a_sentence(noisy):
    with pytest.raises(qse.QseError, match=r"^the recording in memory is not an audio file"):
        qse.denoise_file(b"words", model="recurrent")
    with pytest.raises(TypeError, match="is open as text: open it in the mode 'rb'"):
        qse.denoise_file(io.StringIO("words"), model="recurrent")
    for wrong in (np.zeros(100), 3, None):
        with pytest.raises(TypeError, match=r"path must be a path.* for arrays there is qse"):
            qse.denoise_file(wrong)
    with pytest.raises(TypeError, match="target must be the path of a file, not BytesIO"):
        qse.denoise_file(noisy, io.BytesIO())
