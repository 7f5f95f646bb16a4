"""qse live on a terminal: keys, Ctrl-C, jobs."""

import os
import re
import select
import signal
import subprocess
import sys
import time

import pytest
import soundfile
from live_streams import noise


def expect(terminal: int, text: bytes, key: bytes = b"", seconds: float = 50.0) -> None:
    """Reads the screen until `text` is there; presses `key` again and again, as it may come before
    anyone listens."""
    seen = b""
    end = time.monotonic() + seconds
    pressed = 0.0
    while text not in seen:
        assert time.monotonic() < end, f"{text} did not appear in {seen[-2000:]}"
        if key and time.monotonic() > pressed + 1.0:
            os.write(terminal, key)
            pressed = time.monotonic()
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 4096)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a pseudo-terminal")
def test_keys_background_job_leaves_the_terminal(models, tmp_path):
    import pty

    soundfile.write(tmp_path / "short.wav", noise(16000), 16000)
    main, terminal = pty.openpty()
    line = [sys.executable, "-c", "from qse_cli.main import main; main()", "live"]
    line += ["--from", "short.wav", "--to", "x.wav", "--plain", "--as-fast-as-possible"]
    shell = (
        "import os, subprocess, sys; os.login_tty(int(sys.argv[1]));"
        "child = subprocess.Popen(sys.argv[2:], process_group=0);"
        "sys.exit(os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", shell, str(terminal), *line],
        cwd=tmp_path,
        pass_fds=[terminal],
        start_new_session=False,
    )
    expect(main, b"latency: ")
    assert process.wait(30) == 0
    assert soundfile.info(tmp_path / "x.wav").frames == 16000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a pseudo-terminal")
def test_keys_and_ctrl_c_on_a_terminal(models, tmp_path):
    import pty
    import termios

    soundfile.write(tmp_path / "long.wav", noise(16000 * 60), 16000)
    main, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)

    def enter():
        os.login_tty(terminal)

    line = [sys.executable, "-c", "from qse_cli.main import main; main()", "live"]
    line += ["--from", "long.wav", "--to", "x.wav"]
    process = subprocess.Popen(
        line, cwd=tmp_path, stdin=terminal, stdout=terminal, stderr=terminal, preexec_fn=enter
    )
    try:
        expect(main, b"dropouts")
        expect(main, b"bypass", key=b"b")
        os.write(main, b"\x03")
        expect(main, b"latency: ")
        assert process.wait(30) == 0
    finally:
        process.kill()
    assert termios.tcgetattr(terminal) == before
    assert 0 < soundfile.info(tmp_path / "x.wav").frames < 16000 * 60


@pytest.mark.skipif(not hasattr(signal, "SIGTSTP"), reason="needs job control")
def test_pauses_ctrl_z_is_a_pause(models, tmp_path):
    """Stopped for a second at least and continued: a pause, no dropout, and the end of the session
    is as always."""
    soundfile.write(tmp_path / "long.wav", noise(16000 * 60), 16000)
    line = [sys.executable, "-c", "from qse_cli.main import main; main()", "live", "--plain"]
    line += ["--from", "long.wav", "--to", "x.wav", "--buffer", "500"]
    process = subprocess.Popen(
        line, cwd=tmp_path, stdout=subprocess.PIPE, text=True, process_group=0
    )
    try:
        assert "dropouts 0" in process.stdout.readline()
        process.send_signal(signal.SIGTSTP)
        _, state = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(state)
        time.sleep(1.0)
        process.send_signal(signal.SIGCONT)
        assert any(
            re.search(r"pauses 1, [1-9]\d* s in all", process.stdout.readline()) for _ in range(5)
        )
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0 and "dropouts: 0" in out and "pauses: 1" in out


@pytest.mark.skipif(not hasattr(signal, "SIGCONT"), reason="needs job control")
def test_a_signal_to_continue_is_a_pause_only_after_a_stop(monkeypatch):
    from qse_cli import terminal

    now = [50.0]
    monkeypatch.setattr(terminal, "monotonic", lambda: now[0])
    with terminal.Pauses().watched() as pauses:
        for passed, ended in ((0.1, None), (3.0, 3.0), (0.1, None)):
            os.kill(os.getpid(), signal.SIGCONT)
            now[0] += passed
            assert pauses.ended() == ended and pauses.ended() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    "pressed, keys",
    [
        ("b", "b"),
        ("\x1b[A\x1b[B", "+-"),
        ("\x1bOA", "+"),
        ("\x1b[3~\x1b[C\x1b", ""),
        ("m+\x1b[Bq", "m+-q"),
        ("\x1b[[Bm", "m"),  # F2 on the Linux console
        ("\x1b[B" * 30, "-" * 30),  # more than one read takes
        ("m" * 62 + "\x1b[1;5B", "m" * 62),
    ],
)
def test_keys_read_all_that_were_pressed(monkeypatch, pressed, keys):
    import pty

    from qse_cli import terminal

    main, other = pty.openpty()
    with os.fdopen(other, "r", buffering=1) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with terminal.Keys() as reader:
            assert reader.listening and reader.read() == ""
            os.write(main, pressed.encode())
            found = ""
            while select.select([other], [], [], 0 if found else 10)[0]:
                found += reader.read()
            assert found == keys
    os.close(main)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a pseudo-terminal")
def test_keys_change_a_live_session(models, tmp_path):
    """Strength, mute, recording and the end of the session, by keys on a terminal."""
    import pty

    soundfile.write(tmp_path / "long.wav", noise(16000 * 60), 16000)
    main, terminal = pty.openpty()
    line = [sys.executable, "-c", "from qse_cli.main import main; main()", "live", "--plain"]
    line += ["--from", "long.wav", "--to", "x.wav"]
    process = subprocess.Popen(
        line,
        cwd=tmp_path,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        preexec_fn=lambda: os.login_tty(terminal),
    )
    try:
        expect(main, b"keys: + - strength   m mute")
        expect(main, b"dropouts")
        for key, text in ((b"-", b"at most 30 dB"), (b"m", b"mute on"), (b"r", b"recording qse-2")):
            os.write(main, key)
            expect(main, text)
        os.write(main, b"r")
        expect(main, b"recorded qse-2")
        os.write(main, b"q")
        expect(main, b"latency: ")
        assert process.wait(30) == 0
    finally:
        process.kill()
    (recording,) = tmp_path.glob("qse-2*.wav")
    # muted
    assert soundfile.info(recording).channels == 2 and not soundfile.read(recording)[0].any()
