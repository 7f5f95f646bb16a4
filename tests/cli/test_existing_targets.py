"""Each command that writes leaves what is there already, and says so."""

import json
import os
import stat

import pytest

pytest.importorskip("torch")

import numpy as np
import soundfile
from qse_cli.main import COMMANDS

FOREIGN = "somebody's own\n"
# service: its own unit; prepare: decoded copies, which are made again where they do not hold
NO_TARGETS = {"info", "service", "prepare"}
SPEECH = ["--speech", "speech", "--noise", "noise"]

# command line, files that it would replace
TARGETS = [
    (["denoise", "a.wav"], ["a-enhanced.wav"]),
    (["denoise", "a.wav", "-o", "b.wav"], ["b.wav"]),
    (["denoise", "speech", "-o", "out"], ["out/a/1.wav"]),
    (["clean", "in.jsonl", "-o", "out", "--manifest", "out.jsonl"], ["out/a.wav"]),
    (["clean", "in.jsonl", "-o", "out", "--manifest", "out.jsonl"], ["out.jsonl"]),
    (["live", "--from", "a.wav", "--to", "b.wav", "--as-fast-as-possible"], ["b.wav"]),
    (["live", "--from", "a.wav", "--no-monitor", "--record", "b.wav", "--plain"], ["b.wav"]),
    (["enroll", "a.wav", "-o", "me.voice"], ["me.voice"]),
    (["plot", "a.wav", "-o", "a.png"], ["a.png"]),
    (["web", "--export", "out"], ["out/index.html"]),
    (["bench", "stream", "recurrent", "--seconds", "0.01", "--json", "a.json"], ["a.json"]),
    (["mix", *SPEECH, "--out", "out", "--count", "1"], ["out/clean/0001.flac"]),
    (["train", "--recipe", "live-tiny", *SPEECH, "--out", "out"], ["out/checkpoint.safetensors"]),
    (["train", "--recipe", "live-tiny", *SPEECH, "--out", "out"], ["out/config.toml"]),
    (["bundle", *SPEECH, "--out", "out"], ["out/part-000.zip"]),
    (["export", "RUN", "out"], ["out/model.onnx", "out/model-48k.onnx", "out/card.md"]),
    (["export", "RUN", "out"], ["out/notes.txt"]),
    (["export", "RUN", "out"], ["out"]),
    (["evaluate", "recurrent", "--noisy", "speech", "--out", "out"], ["out/scores.csv"]),
    (["evaluate", "recurrent", "--noisy", "speech", "--out", "out"], ["out/summary.md"]),
    (["experiment", "reasoning", "--out", "out"], ["out/reasoning-runs.json"]),
]


@pytest.fixture
def place(here, training_audio, finished_run):
    for side in ("speech", "noise"):
        (here / side).symlink_to(training_audio / side)
    soundfile.write(here / "a.wav", 0.1 * np.random.default_rng(0).standard_normal(8000), 16000)
    line = {"audio_filepath": "a.wav", "duration": 0.5}
    (here / "in.jsonl").write_text(json.dumps(line) + "\n")
    (here / "RUN").symlink_to(finished_run[0])
    return here


def test_all_commands_are_here():
    assert {line[0] for line, _ in TARGETS} | NO_TARGETS == set(COMMANDS)


@pytest.mark.parametrize("line, files", TARGETS, ids=lambda value: " ".join(value))
def test_files_that_are_there_stay(place, command, line, files):
    for name in files:
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FOREIGN)

    status, out, said = command(*line)
    assert status != 0, out + said
    assert files[0].split("/")[0] in said
    for name in files:
        assert (place / name).read_text() == FOREIGN
    assert not list(place.glob("**/.qse-*"))


LIVE = ["live", "--from", "a.wav", "--plain", "--as-fast-as-possible", "--to", "c.wav"]
FILES = [
    (["denoise", "a.wav", "-o", "b.wav"], "b.wav"),
    (["denoise", "speech", "-o", "out"], "out/a/1.wav"),
    (["clean", "in.jsonl", "-o", "out", "--manifest", "out.jsonl"], "out/a.wav"),
    (["clean", "in.jsonl", "-o", "out", "--manifest", "out.jsonl"], "out.jsonl"),
    ([*LIVE[:-1], "b.wav"], "b.wav"),
    ([*LIVE, "--record", "b.wav"], "b.wav"),
    (["enroll", "a.wav", "-o", "me.voice"], "me.voice"),
    (["plot", "a.wav", "-o", "a.png"], "a.png"),
    (["bench", "stream", "recurrent", "--seconds", "0.01", "--json", "a.json"], "a.json"),
]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("line, name", FILES, ids=lambda value: " ".join(value))
def test_what_is_no_file_stays(place, command, line, name, linked):
    """As a device: a link to /dev/null with the suffix of the output is a usual thing."""
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pipe = place / "pipe" if linked else path
    os.mkfifo(pipe)
    if linked:
        path.symlink_to(pipe)

    status, out, said = command(*line, "--overwrite")
    assert status != 0, out + said
    assert name in said and "no" in said and "regular file" in said
    assert stat.S_ISFIFO(pipe.lstat().st_mode) and path.is_symlink() == linked
