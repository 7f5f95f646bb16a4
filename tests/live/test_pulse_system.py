"""The list of devices of a sound server, without a server."""

import pytest

from qse.live import pulse_system
from qse.live.pulse_system import PulseSystem


@pytest.fixture
def server(monkeypatch):
    """Three sources, of which the default one may be set."""
    chosen = {"source": "headset"}

    def listed(kind):
        names = ("builtin", "headset", "qse_microphone") if kind == "sources" else ()
        return [{"Name": name, "Sample Specification": "float32le 1ch 48000Hz"} for name in names]

    monkeypatch.setattr(pulse_system, "listed", listed)
    monkeypatch.setattr(pulse_system, "defaults", lambda: chosen)
    return chosen


def default_input(system) -> str:
    id, _ = system.default.device
    return system.query_devices()[id]["pulse"]


def test_microphone_stays_when_the_virtual_one_becomes_the_default(server):
    system = PulseSystem(hidden=lambda name: name.startswith("qse"))
    assert default_input(system) == "headset"
    server["source"] = "qse_microphone"
    system._initialize()
    assert default_input(system) == "headset"
    server["source"] = "builtin"
    system._initialize()
    server["source"] = "qse_microphone"
    system._initialize()
    assert default_input(system) == "builtin"


def test_first_microphone_where_the_virtual_one_is_the_default_from_the_beginning(server):
    server["source"] = "qse_microphone"
    assert default_input(PulseSystem(hidden=lambda name: name.startswith("qse"))) == "builtin"
