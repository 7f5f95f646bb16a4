"""The command line as a whole: version, help, errors."""

import os
import subprocess
import sys
from importlib import import_module

import pytest
from qse_cli.main import COMMANDS
from qse_papers import EXPERIMENTS

import qse

STARTER = """
import multiprocessing, sys
from qse_cli.main import main

if __name__ == "__main__":
    sys.argv = ["qse", "--version"]
    try:
        main()
    except SystemExit:
        process = multiprocessing.get_context("spawn").Process(target=print, args=["started"])
        process.start()
        process.join()
"""


def test_processes_import_nothing_from_the_working_folder(tmp_path):
    """As those that score or mix: recordings of others may lie there."""
    (work := tmp_path / "work").mkdir()
    (work / "multiprocessing.py").write_text("open('ran', 'w')")
    (tmp_path / "start.py").write_text(STARTER)
    line = [sys.executable, tmp_path / "start.py"]
    done = subprocess.run(line, cwd=work, capture_output=True, text=True)
    assert "started" in done.stdout and not (work / "ran").exists()


def test_main_version(command):
    assert command("--version")[:2] == (0, f"qse {qse.__version__}\n")


@pytest.mark.parametrize("name", ["denoise", "live", "plot", "info"])
def test_main_short_help_fits_80_columns(command, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = command(name, "-h")
    assert status == 0 and "-h, --help" in out and max(map(len, out.splitlines())) <= 80
    assert command(name, "--help")[1] == out


def test_main_help_lists_commands_in_whole_sentences(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = command("-h")
    assert status == 0 and max(map(len, out.splitlines())) <= 80
    listed = " ".join(out.partition("Commands:")[2].split())
    for name in COMMANDS:
        sentence = (
            getattr(import_module(f"qse_cli.{name}"), name).__doc__.partition("\n\n")[0].strip()
        )
        assert sentence.endswith(".")
        assert f"{name} {' '.join(sentence.split())}" in listed


def test_main_help_of_experiment_lists_their_names(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = command("experiment", "-h")
    assert f"The experiments: {', '.join(EXPERIMENTS)} " in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80


def test_main_offers_shell_completion(command):
    _, out, _ = command("-h")
    assert "--install-completion" in out and "--show-completion" in out


@pytest.mark.skipif(os.name != "posix", reason="removes its working directory")
def test_main_without_a_working_directory(tmp_path, models):
    (tmp_path / "gone").mkdir()
    code = "import os; os.rmdir(os.getcwd()); from qse_cli.main import main; main()"
    line = [sys.executable, "-c", code, "denoise", "a.wav"]
    done = subprocess.run(line, cwd=tmp_path / "gone", capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "working directory no longer exists" in done.stderr


def test_main_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "qse", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"qse {qse.__version__}\n", "")
