"""What the tests of the light half share: a folder of small models, one engine of each, and the command line."""

import signal
import sys

import graphs
import pytest

import qse

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a shell's &; the programs under test shall hear it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def seeded():
    """The same random tensors in each run, where a test draws some without saying from which seed."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture(scope="session")
def zoo(tmp_path_factory):
    """A folder of models: live-base (a pure delay), recurrent, fragile; see graphs.py."""
    folder = tmp_path_factory.mktemp("zoo")
    graphs.delay(folder / "live-base" / "model.onnx")
    graphs.recurrent(folder / "recurrent" / "model.onnx")
    graphs.fragile(folder / "fragile" / "model.onnx")
    return folder


@pytest.fixture
def models(zoo, monkeypatch):
    """The same folder, where `load` and the commands look for names first."""
    monkeypatch.setenv("QSE_MODELS", str(zoo))
    return zoo


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
    """Call the command line in this process: command("denoise", "x.wav") -> (exit status, stdout, stderr)."""
    from qse_cli.main import main

    def call(*arguments) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["qse", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return call
