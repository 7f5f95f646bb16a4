"""qse experiment: names, settings and folders that are refused before any work."""

import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")


def test_experiment_names_the_experiments(command, tmp_path):
    status, _, error = command("experiment", "copytask", "--out", tmp_path)
    assert (
        status == 2 and "copy-task, phm-rotation, phm-hamilton, reasoning, language-sizes" in error
    )


def test_experiment_prints_a_line(command, tmp_path):
    status, line, _ = command("experiment", "phm-rotation", "--out", tmp_path, "--set", "steps=3")
    assert status == 0 and line.startswith("PHM layer, n = 3: loss")


def test_experiment_asks_for_missing_text(command, tmp_path):
    status, _, error = command("experiment", "sentiment", "--out", tmp_path)
    assert status == 2 and "--set train=SST-2/train.tsv" in error


def test_experiment_without_the_laboratory_is_one_sentence():
    block = "import sys; sys.modules['qse_papers'] = None; sys.argv[1:] = ['experiment', 'digits']"
    code = f"{block} + ['--out', 'x']; from qse_cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and 'pip install "qse-speech[' in done.stderr


@pytest.mark.parametrize("change, sentence", [
    ('arms=["real","reel"]', "arm 'reel': choose one of real, full, partial, shared, phm"),
    ("heads=3", "dim 128: must be even and a multiple of 12 (shared, 3 heads)"),
    ("dim=66", "dim 66: must be even and a multiple of 16 (shared, 4 heads)"),
    ("heads=0", "heads = 0: must be above 0"),
    ("learning_rate=-1", "learning_rate = -1.0: must be above 0"),
])  # fmt: skip
def test_experiment_refuses_settings_before_reading(command, tmp_path, change, sentence):
    status, _, error = command(
        "experiment", "sentiment", "--out", tmp_path / "new", "--set", change
    )
    assert status == 1 and sentence in error and not (tmp_path / "new").exists()


def test_experiment_refuses_folders_and_settings(command, tmp_path):
    (tmp_path / "file").write_text("")
    status, _, error = command("experiment", "phm-rotation", "--out", tmp_path / "file")
    assert status == 1 and "file: cannot make this folder" in error
    status, _, error = command(
        "experiment", "phm-rotation", "--out", tmp_path / "new", "--set", "step=3"
    )
    assert status == 1 and "unknown key 'step'" in error and not (tmp_path / "new").exists()
    status, _, error = command(
        "experiment", "phm-rotation", "--out", tmp_path / "new", "--set", "steps=0"
    )
    assert status == 1 and "steps = 0: must be above 0" in error and not (tmp_path / "new").exists()
    status, _, error = command(
        "experiment", "copy-task", "--out", tmp_path / "new", "--set", "hidden=6"
    )
    assert (
        status == 1
        and "hidden 6: must be a multiple of 4" in error
        and not (tmp_path / "new").exists()
    )
