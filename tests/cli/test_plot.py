"""qse plot: files at several rates, channels, errors."""

import os
import sys

import numpy as np
import pytest
import soundfile
import typer
from evaluation_files import write
from qse_cli.plot import plot as command
from speech import hiss, voice
from typer.testing import CliRunner

from qse.errors import QseError
from qse.evaluate import plot
from qse.evaluate.plot import plot_spectrograms


@pytest.fixture
def run():
    app = typer.Typer()
    app.command()(command)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_plot_draws_files_of_different_rates(tmp_path, run, monkeypatch):
    write(tmp_path / "high.wav", hiss(48000), 48000)
    picture = tmp_path / "pictures" / "both.png"
    result = run(
        tmp_path / "high.wav",
        write(tmp_path / "low.wav", voice(1.0)),
        "-o",
        picture,
        "--titles",
        "noise, voice",
    )
    assert result.exit_code == 0 and picture.read_bytes().startswith(b"\x89PNG")
    drawn = []
    monkeypatch.setattr(
        "qse.evaluate.plot.plot_spectrograms",
        lambda signals, path, source, overwrite: drawn.extend(signals),
    )
    two = np.stack([hiss(1600), 0.5 * hiss(1600)], 1)
    write(tmp_path / "two.wav", two)
    assert (
        "exists already" in str(run(tmp_path / "high.wav", "-o", picture).exception) and not drawn
    )
    run(tmp_path / "two.wav", tmp_path / "high.wav", "-o", picture, "--overwrite")
    assert [title for title, *_ in drawn] == [
        "two.wav, channel 1",
        "two.wav, channel 2",
        "high.wav",
    ]
    np.testing.assert_allclose(drawn[1][1], two[:, 1], atol=1e-4)
    none = run(tmp_path / "none.wav", "-o", picture, "--overwrite")
    assert str(none.exception) == f"{tmp_path / 'none.wav'}: no such file"
    plot_spectrograms([("costs $5_0^", hiss(16000), 16000)], picture, None)  # no formula
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(QseError, match=r"folder.png cannot be written: Is a directory"):
        plot_spectrograms([("noise", hiss(16000), 16000)], tmp_path / "folder.png", None)
    recording = tmp_path / "high.wav"
    before = recording.read_bytes()
    with pytest.raises(QseError, match=r"high.wav: a picture is a PNG; name one that ends in .png"):
        plot_spectrograms([("noise", hiss(16000), 16000)], recording, None)
    assert recording.read_bytes() == before


def test_plot_keeps_a_file_that_comes_meanwhile(tmp_path, run, monkeypatch):
    path = write(tmp_path / "a.wav", voice(1.0))
    picture = tmp_path / "a.png"
    shown = plot.levels
    monkeypatch.setattr(
        plot, "levels", lambda *sound: (picture.write_text("mine"), shown(*sound))[1]
    )
    result = run(path, "-o", picture)
    cure = "cannot be written: File exists; name another picture"
    assert str(result.exception) == f"{picture} {cure}" and picture.read_text() == "mine"
    assert run(path, "-o", picture, "--overwrite").exit_code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="names are text")
def test_plot_of_a_name_that_is_not_utf_8(tmp_path, run):
    path = write(tmp_path / "a.wav", voice(1.0))
    path = path.rename(tmp_path / os.fsdecode(b"\xff.wav"))
    result = run(path, "-o", tmp_path / "a.png")
    assert result.exit_code == 0, result.output


def test_plot_says_that_a_file_may_be_cut(tmp_path, run):
    path = tmp_path / "a.ogg"
    soundfile.write(path, voice(3.0), 16000, format="OGG")
    path.write_bytes(path.read_bytes()[: path.read_bytes().rindex(b"OggS")])
    result = run(path, "-o", tmp_path / "a.png")
    assert result.exit_code == 0 and "a.ogg may be cut" in result.output, result.output


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_pictures_replace_links_and_not_what_they_point_to(tmp_path):
    (tmp_path / "there.png").write_text("precious")
    (tmp_path / "a.png").symlink_to("there.png")
    plot_spectrograms([("noise", hiss(16000), 16000)], tmp_path / "a.png", None)
    assert (tmp_path / "there.png").read_text() == "precious"
    assert not (tmp_path / "a.png").is_symlink()
