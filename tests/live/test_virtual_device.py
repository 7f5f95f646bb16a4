"""The virtual microphone on a PulseAudio server of the test's own; another program records from
it."""

import os
import signal
import subprocess
import sys
import time

import pytest
from pulse import MISSING, Server, heard_through, likeness, needs_sound_server, serving, thorough
from waiting import until

pytestmark = [
    needs_sound_server,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


@pytest.fixture
def server(tmp_path):
    with serving(Server, tmp_path / "models") as server:
        yield server


@pytest.fixture
def live(server):
    """qse live --virtual at work."""
    process = server.live()
    yield server.sounding(process)
    process.kill()
    process.wait()


def test_virtual_microphone_is_heard_by_another_program(server, live):
    assert {"qse_microphone"} <= set(server.names("sources")) and "qse_output" in server.names(
        "sinks"
    )
    assert "Description: qse microphone" in server.pactl("list", "sources").stdout
    assert "Default Source: desk_mic" in server.pactl("info").stdout
    assert "choose 'qse microphone' as the microphone in your program" in server.said
    assert likeness(*heard_through(server)) > 0.8


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=thorough),
        signal.SIGTERM,
        pytest.param(signal.SIGHUP, marks=thorough),
    ],
    ids=lambda number: number.name,
)
def test_virtual_microphone_is_removed_after_signal(server, live, number):
    live.send_signal(number)
    live.wait(30)
    assert server.names("sinks") == ["desk"] and server.names("sources") == server.SOURCES


def test_virtual_microphone_of_crashed_process_is_replaced_or_removed(server, live):
    live.kill()
    live.wait()
    assert "qse_microphone" in server.names("sources")
    again = server.live()
    until(lambda: again.poll() is not None or "dropouts" in server.said, 60)
    assert server.names("sources").count("qse_microphone") == 1 and len(server.names("sinks")) == 2
    again.kill()
    again.wait()
    assert remove(server).returncode == 0
    assert server.names("sinks") == ["desk"]
    assert "no virtual microphone" in remove(server).stderr


def test_virtual_microphone_reports_muted_input(server, live):
    """Of the sound server's mute, nothing but zeros reaches qse."""
    server.pactl("set-source-mute", "desk_mic", "1")
    with server.listening():
        until(lambda: "microphone delivers only zeros: is it muted?" in server.said, 30)


def remove(server):
    line = [
        sys.executable,
        "-c",
        "from qse_cli.main import main; main()",
        "live",
        "--remove-virtual",
    ]
    return subprocess.run(line, env=server.environment, capture_output=True, text=True)


def test_virtual_microphone_in_use_is_refused(server, live):
    second = subprocess.run(server_line(), env=server.environment, capture_output=True, text=True)
    assert second.returncode == 2 and f"process {live.pid} already" in second.stderr
    assert f"process {live.pid}" in remove(server).stderr
    assert "qse_microphone" in server.names("sources") and live.poll() is None


def server_line(*options):
    return [
        sys.executable,
        "-c",
        "from qse_cli.main import main; main()",
        "live",
        "--virtual",
        *options,
    ]


def test_virtual_microphone_refuses_output(server):
    done = subprocess.run(
        server_line("--output", "x"), env=server.environment, capture_output=True, text=True
    )
    assert done.returncode == 2 and "takes the place of --output" in done.stderr


def test_virtual_microphone_without_server_is_one_sentence(server):
    server.kill()
    done = subprocess.run(server_line(), env=server.environment, capture_output=True, text=True)
    assert done.returncode == 2 and "running" in done.stderr and done.stderr.count("\n") == 1


def test_virtual_microphone_survives_restart_of_server(server, live):
    server.kill()
    until(lambda: "gone" in server.said, 30)
    server.start()
    until(lambda: "qse_microphone" in server.names("sources"), 30)
    time.sleep(2)
    assert live.poll() is None
    assert likeness(*heard_through(server)) > 0.8
    live.send_signal(signal.SIGTERM)
    live.wait(30)
    assert server.names("sinks") == ["desk"]


def test_virtual_microphone_is_never_its_own_input(server, live):
    """Not as the default source, which the server moves recordings to, not when it is moved there,
    and not by name."""
    with server.listening():
        until(lambda: server.recorded() == ["desk_mic"], 30)
        server.pactl("set-default-source", "qse_microphone")
        time.sleep(1)
        for _ in range(2):
            until(lambda: server.recorded() == ["desk_mic"], 30)
            server.pactl("move-source-output", own_stream(server), "qse_microphone")
            until(lambda: "qse_microphone" not in server.recorded(), 5)
        until(lambda: server.recorded() == ["desk_mic"], 30)
    live.terminate()
    live.wait(30)
    for name in ("qse_microphone", "qse_output"):
        line = server_line("--input", name)
        done = subprocess.run(line, env=server.environment, capture_output=True, text=True)
        assert done.returncode == 2 and "matches no input" in done.stderr


def test_microphone_is_closed_while_the_process_is_stopped(server, live):
    """Or the server would keep what was said meanwhile, for programs to hear afterwards."""
    with server.listening():
        until(lambda: server.recorded() == ["desk_mic"], 30)
        live.send_signal(signal.SIGTSTP)
        _, state = os.waitpid(live.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(state) and server.recorded() == []
        live.send_signal(signal.SIGCONT)
        until(lambda: server.recorded() == ["desk_mic"], 30)
        until(lambda: "pauses 1" in server.said, 30)
    assert "dropouts 0" in server.said.splitlines()[-1]


def own_stream(server):
    """Return the index of the recording of qse."""
    parts = server.pactl("list", "source-outputs").stdout.split("Source Output #")
    return next(part.split()[0] for part in parts if 'application.name = "qse"' in part)
