"""A sound server like a desktop's, and qse live on it; tests of other servers have their own."""

from subprocess import Popen

import pytest
from pulse import HEADSET, PipeWire, Server, serving, starting, thorough

# streams whose device vanishes, to another one; as desktops do
MOVES = ["load-module", "module-rescue-streams"]


@pytest.fixture
def server(tmp_path):
    """Yield a server with the sinks `desk`, which is the default one, and `headset`."""
    with serving(Server, tmp_path / "models") as server:
        for line in (HEADSET, MOVES, ["set-default-sink", "desk"]):
            server.pactl(*line)
        yield server


@pytest.fixture(params=[pytest.param(Server, marks=thorough), PipeWire])
def either_server(request, tmp_path):
    """Yield a server of each kind with a sink and a microphone, PulseAudio where all tests run."""
    with serving(request.param, tmp_path / "models") as server:
        yield server


@pytest.fixture
def live(server):
    """Yield a function that starts qse live with options and returns the process when its sound
    runs."""
    with starting(server, virtual=False, end=Popen.kill) as start:
        yield start
