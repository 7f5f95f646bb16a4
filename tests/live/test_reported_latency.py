"""Tell PipeWire the latency of the virtual microphone: by a pw-cli made of nothing."""

import subprocess
from types import SimpleNamespace

import pytest

from qse.live import reported_latency
from qse.live.reported_latency import ReportedLatency


@pytest.fixture
def told(monkeypatch):
    """The latencies that are told, in ms; `takes`: whether the server takes them."""
    server = SimpleNamespace(takes=True, told=[], missing=False, version="1.4.2")

    def run(line, **options):
        if server.missing:
            raise FileNotFoundError(line[0])
        if line[1:] == ["info", "0"]:
            answer = f'\tid: 0\n\tversion: "{server.version}"\n\tname: "pipewire-0"\n'
            return subprocess.CompletedProcess(line, 0, answer, "")
        assert line[2] == "53" and options["check"]
        if line[1] == "set-param":
            server.nanoseconds = line[4].strip("{} ").removeprefix("ns: ")
            server.told.append(round(int(server.nanoseconds) / 1e6))
        text = f"Long {server.nanoseconds}\n" if server.takes else ""
        return subprocess.CompletedProcess(line, 0, text, "")

    monkeypatch.setattr(reported_latency.subprocess, "run", run)
    return server


def test_changes_are_told_and_fluctuations_are_not(told):
    latency = ReportedLatency()
    for seconds in (0.130, 0.135, 0.125, 0.131):
        latency.tell("53", seconds)
    assert told.told == [130] and latency.is_known
    latency.tell("53", 0.25)
    assert told.told == [130, 250]
    for _ in range(20):
        latency.tell("53", 0.24)
    assert told.told[-1] == pytest.approx(243, abs=3)


def test_a_server_that_does_not_take_it_is_asked_once(told):
    told.takes = False
    latency = ReportedLatency()
    for seconds in (0.1, 0.2, 0.3):
        latency.tell("53", seconds)
    assert told.told == [100] and not latency.is_known
    latency.tell("", 0.1)
    assert told.told == [100] and not latency.is_known


@pytest.mark.parametrize("version", ["0.3.65", "1.2.7"])
def test_an_older_server_is_told_nothing(told, version):
    """0.3.65 puts the node into a state of error, so that its listeners hear nothing."""
    told.version = version
    latency = ReportedLatency()
    for seconds in (0.1, 0.2, 0.3):
        latency.tell("53", seconds)
    assert told.told == [] and not latency.is_known


def test_a_missing_program_is_no_error(told):
    told.missing = True
    latency = ReportedLatency()
    latency.tell("53", 0.1)
    assert not latency.is_known
