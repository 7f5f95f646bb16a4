"""Share fixtures of the light half: a folder of small models, one engine of each, and the command
line."""

import signal
import sys

import graphs
import pytest

import qse

# of a shell's &; the programs under test shall hear it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def serverless(monkeypatch):
    """Hide all sound servers but the one that a test starts, so that `qse live` takes PortAudio or
    its stand-in."""
    monkeypatch.setenv("PULSE_SERVER", "unix:/nonexistent")


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path_factory):
    """Keep copies of corpora out of the user's cache."""
    monkeypatch.setenv("QSE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(autouse=True)
def seeded():
    """The same random tensors in each run, where a test draws some without saying from
    which seed."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture
def float64():
    """Make float64 the default type."""
    import torch

    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="session")
def zoo(tmp_path_factory):
    """A folder of models: live-base and studio-large (pure delays), recurrent, fragile; see
    graphs.py."""
    folder = tmp_path_factory.mktemp("zoo")
    for name in ("live-base", "studio-large"):  # the defaults for streams and for recordings
        graphs.delay(folder / name / "model.onnx")
    graphs.recurrent(folder / "recurrent" / "model.onnx")
    graphs.fragile(folder / "fragile" / "model.onnx")
    return folder


@pytest.fixture
def models(zoo, monkeypatch):
    """The same folder, where `load` and the commands look for names first."""
    monkeypatch.setenv("QSE_MODELS", str(zoo))
    return zoo


@pytest.fixture
def here(tmp_path, monkeypatch, models):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def delay(zoo):
    return qse.load(zoo / "live-base")


@pytest.fixture(scope="session")
def recurrent(zoo):
    return qse.load(zoo / "recurrent")


@pytest.fixture(scope="session")
def fragile(zoo):
    return qse.load(zoo / "fragile")


@pytest.fixture
def command(monkeypatch, capsys):
    """Call the command line in this process: command("denoise", "x.wav") ->
    (exit status, stdout, stderr)."""
    from qse_cli.main import main

    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # which the command sets, for this test alone

    def call(*arguments) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["qse", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return call


@pytest.fixture(scope="session")
def training_audio(tmp_path_factory):
    """Folders of speech, noise and validation pairs, 1.25 s each."""
    import numpy as np
    import soundfile

    from qse.export.streaming import speech_like

    folder = tmp_path_factory.mktemp("audio")
    rng = np.random.default_rng(0)
    clean = {
        name: speech_like(20000, 16000, seed) for seed, name in enumerate(("a/1", "b/1", "p", "q"))
    }
    files = {f"speech/{name}": clean[name] for name in ("a/1", "b/1")}
    files |= {"noise/hiss/1": 0.1 * rng.standard_normal(20000)}
    files |= {f"valid/clean/{name}": clean[name] for name in ("p", "q")}
    files |= {
        f"valid/noisy/{name}": 0.5 * clean[name] + 0.02 * rng.standard_normal(20000)
        for name in ("p", "q")
    }
    for name, samples in files.items():
        path = folder / f"{name}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, samples, 16000)
    return folder


@pytest.fixture(scope="session")
def finished_run(training_audio, tmp_path_factory):
    """A training run from beginning to end, and what it reported after every step."""
    import small_training

    from qse.train.run import train

    out = tmp_path_factory.mktemp("runs") / "whole"
    reports = small_training.Reports()
    train(small_training.CONFIG, small_training.job(training_audio, out), reports)
    assert reports.closed
    return out, reports.rows


@pytest.fixture
def shared(tmp_path):
    """Make a folder that others can write."""
    (folder := tmp_path / "shared").mkdir()
    folder.chmod(0o777)
    return folder


@pytest.fixture
def precious(tmp_path):
    """Make a file that has its content at the end, too."""
    (path := tmp_path / "precious").write_text("precious")
    yield path
    assert path.read_text() == "precious"
