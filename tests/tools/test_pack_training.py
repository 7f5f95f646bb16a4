"""Packing a training run: parts of limited size that train on another machine."""

import os
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

import numpy as np
import pack_training as tool
import soundfile
from small_training import CONFIG, PLAN, job

from qse.networks.weights import load_header
from qse.train.run import train

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def begun(training_audio, tmp_path_factory):
    """A run of two steps."""
    out = tmp_path_factory.mktemp("runs") / "run"
    train(replace(CONFIG, train=replace(PLAN, steps=2)), job(training_audio, out, valid=None))
    return out


def test_pack_gives_parts_that_train_elsewhere(begun, training_audio, tmp_path):
    limit = 40_000
    made = tool.pack(
        begun, training_audio / "speech", training_audio / "noise", tmp_path / "parts", limit
    )
    assert len(made) > 1
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for part in made:
        with tarfile.open(part) as archive:
            members = archive.getmembers()
            assert len(members) == 1 or sum(512 + member.size for member in members) <= limit
        subprocess.run(["tar", "-xf", part, "-C", elsewhere], check=True)

    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": programs}
    options = ["--device", "cpu", "--set", "train.steps=4"]
    command = ["bash", elsewhere / "train.sh", tmp_path / "back", "1", *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    header = load_header(tmp_path / "back" / "checkpoint.safetensors")
    assert (header["step"], header["steps"]) == ("4", "4")
    back = sorted(path.name for path in (tmp_path / "back").iterdir())
    assert back == ["checkpoint.safetensors", "config.toml", "train.csv"]


def test_code_keeps_duration_and_sound(tmp_path):
    time = np.arange(22050) / 22050
    soundfile.write(tmp_path / "a.wav", 0.3 * np.sin(2 * np.pi * 440 * time), 22050)
    tool.code(tmp_path / "a.wav", tmp_path / "b" / "a.opus")
    coded, rate = soundfile.read(tmp_path / "b" / "a.opus")
    assert rate == 24000 and len(coded) == 24000
    expected = 0.3 * np.sin(2 * np.pi * 440 * np.arange(24000) / 24000)
    assert np.std((coded - expected)[2400:-2400]) < 0.02


def test_pack_takes_all_that_training_reads(tmp_path):
    """Other formats, linked folders, and files that differ in their suffix alone."""
    tone = 0.3 * np.sin(np.arange(8000) / 8)
    for name in ("p1/a.wav", "p1/a.flac", "p1/b.mp3", "p1/c.aiff", "other/e.wav"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        soundfile.write(tmp_path / name, tone, 16000)
    folder = tmp_path / "speech"
    folder.mkdir()
    for place in ("p1", "other"):
        (folder / place).symlink_to(tmp_path / place)
    tool.code_folder(folder, tmp_path / "out")
    packed = sorted(path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*.*"))
    names = ("other/e.wav", "p1/a.flac", "p1/a.wav", "p1/b.mp3", "p1/c.aiff")
    assert [str(path) for path in packed] == [f"{name}.opus" for name in names]


def test_pack_refuses_a_folder_with_parts(begun, training_audio, tmp_path):
    (tmp_path / "part-07.tar").touch()
    with pytest.raises(SystemExit, match="holds parts already"):
        tool.pack(begun, training_audio / "speech", training_audio / "noise", tmp_path, 10**6)


@pytest.mark.parametrize("missing", ["run", "audio"])
def test_pack_refuses_folders_without_content(begun, training_audio, tmp_path, missing):
    run = tmp_path if missing == "run" else begun
    noise = tmp_path / "empty" if missing == "audio" else training_audio / "noise"
    with pytest.raises(SystemExit, match="name"):
        tool.pack(run, training_audio / "speech", noise, tmp_path / "parts", 10**6)
