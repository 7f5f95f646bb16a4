"""qse as on Windows and macOS: see other_systems.py for what that shows, and what not."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path, PureWindowsPath

import numpy as np
import pytest
import soundfile

from qse.audio import writer
from qse.errors import QseError

SIMULATION = Path(__file__).with_name("other_systems.py")
LINES = [
    ["denoise", "a.wav"],
    ["denoise", "a.wav", "--overwrite"],
    ["denoise", "folder", "-o", "out"],
    ["denoise", "b.flac", "-o", "b.wav", "--strength", "12"],
    ["denoise", "c.wav", "-o", "c.wav", "--overwrite"],
    ["clean", "in.jsonl", "-o", "clean", "--manifest", "out.jsonl"],
    ["live", "--from", "a.wav", "--to", "live.wav", "--as-fast-as-possible"],
    ["live", "--from", "a.wav", "--no-monitor", "--record", "both.wav", "--plain"],
    ["web", "--export", "page"],
    ["info"],
]
REFUSED = [
    ["denoise", "a.wav"],
    ["denoise", "missing.wav"],
    ["live", "--virtual"],
    ["service", "install"],
]


@pytest.fixture
def recordings(here):
    samples = 0.1 * np.random.default_rng(0).standard_normal(4000)
    (here / "folder").mkdir()
    for name in ("a.wav", "b.flac", "c.wav", "folder/Grüße ж.wav"):
        soundfile.write(here / name, samples, 16000)
    line = {"audio_filepath": "a.wav", "duration": 0.25}
    (here / "in.jsonl").write_text(json.dumps(line) + "\n")
    return here


def outcomes(system, lines):
    done = subprocess.run(
        [sys.executable, str(SIMULATION), system, json.dumps(lines)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},  # the console's
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="simulates other systems on Linux")
@pytest.mark.parametrize("system", ["windows", "macos"])
def test_commands_of_the_light_half(recordings, system):
    found = outcomes(system, LINES + REFUSED)
    for line, (status, said) in zip(LINES, found, strict=False):
        assert status == 0, f"qse {' '.join(line)}: {said}"
    for line, (status, said) in zip(REFUSED, found[len(LINES) :], strict=True):
        assert status > 0 and "Traceback" not in said, f"qse {' '.join(line)}: {said}"
        assert "qse: " in said
    for name in ("a-enhanced.wav", "out/Grüße ж.wav", "c.wav", "live.wav", "clean/a.wav"):
        assert soundfile.info(recordings / name).frames == 4000
    assert soundfile.info(recordings / "both.wav").frames >= 4000
    assert not list(recordings.glob("**/.qse-*.part"))


@pytest.mark.parametrize("name", ["aux.wav", "CON.flac", "com1.tar.wav", "nul", "Lpt9 .wav"])
def test_names_of_devices_are_no_outputs_on_windows(monkeypatch, name):
    monkeypatch.setattr(writer, "ON_WINDOWS", True)
    with pytest.raises(QseError, match="is the name of a device on Windows"):
        writer.check_target(Path("folder") / name, True)
    monkeypatch.setattr(writer, "ON_WINDOWS", False)
    writer.check_target(Path("folder") / name, True)


def test_other_names_are_outputs_on_windows(monkeypatch, tmp_path):
    monkeypatch.setattr(writer, "ON_WINDOWS", True)
    for name in ("aux-enhanced.wav", "console.wav", "com10.wav", "a.aux"):
        writer.check_target(tmp_path / name, False)


def test_training_processes_meet_on_any_system(monkeypatch):
    parallel = pytest.importorskip("qse.train.parallel")
    assert parallel.rendezvous(Path("/tmp/x")) == "file:///tmp/x/rendezvous"
    windows = PureWindowsPath("C:\\Users\\me\\x")
    assert parallel.rendezvous(windows) == "file:///C:/Users/me/x/rendezvous"
    assert [parallel.loopback(name) for name in ("linux", "darwin", "win32")] == ["lo", "lo0", None]


def test_the_workflow_names_files_that_exist():
    root = Path(__file__).parent.parent
    text = (root / ".github/workflows/test.yml").read_text()
    named = re.findall(r"(?:tests|assets|\.ci)/[\w./]*\w", text)
    assert "tests/test_other_systems.py" in named
    for name in named:
        assert (root / name).is_file(), name
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    listed = [line.rpartition(" ")[2] for line in project["classifiers"] if ":: 3." in line]
    assert json.loads(re.search(r"python: (\[.*\])", text)[1]) == listed
