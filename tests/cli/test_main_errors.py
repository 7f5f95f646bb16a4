"""Test what main does with errors: a sentence for the user, a traceback for a mistake in the
program."""

import errno
import os

import pytest
from tagged_files import wav


def failing(number, place):
    def app():
        raise OSError(number, os.strerror(number), place)

    return app


def test_main_names_the_command_for_a_file(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my call.wav").touch()
    status, _, err = command("my call.wav")
    assert status == 2 and err.endswith(
        "is no command: to remove noise from it, run qse denoise 'my call.wav'\n"
    )
    assert command("other.wav")[0] == 2


@pytest.mark.parametrize("name", ["-dash.wav", "--dash.wav"])
def test_main_explains_a_file_that_begins_as_an_option(command, here, name):
    wav(here / name)
    status, _, err = command("denoise", name, "--model", "live-tiny")
    assert status == 2 and err.endswith(f"to name the file, write ./{name}\n")
    assert command("denoise", f"./{name}", "--model", "live-tiny")[0] == 0
    assert command("denoise", "--overwrite", "--model", "live-tiny", "--", name)[0] == 0
    _, _, err = command("denoise", "-dust.wav")
    assert "begins as" not in err


def test_main_names_a_missing_package(command, monkeypatch):
    def needs_torch():
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr("qse_cli.main.app", needs_torch)
    status, _, err = command("train")
    assert (
        status == 1
        and err
        == 'qse: this command needs the package torch: pip install "qse-speech[train,evaluate]"\n'
    )


@pytest.mark.parametrize(
    "number, place, said",
    [
        (
            errno.ENOSPC,
            "a.csv",
            "qse: a.csv: No space left on device; make room, or write to another place\n",
        ),
        (
            errno.ENOSPC,
            None,
            "qse: No space left on device; make room, or write to another place\n",
        ),
        (errno.EACCES, "a.csv", "qse: a.csv: Permission denied; name another place\n"),
    ],
)
def test_main_names_the_place_of_an_os_error(command, monkeypatch, number, place, said):
    monkeypatch.setattr("qse_cli.main.app", failing(number, place))
    assert command("train") == (1, "", said)


def test_main_keeps_tracebacks_of_other_errors(command, monkeypatch):
    monkeypatch.setattr("qse_cli.main.app", failing(errno.EBADF, None))
    with pytest.raises(OSError, match="Bad file descriptor"):
        command("train")
