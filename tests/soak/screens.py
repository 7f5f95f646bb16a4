"""The screen of qse live in terminals of several widths and 24 lines, through a sound server.

    python tests/soak/screens.py [120 60 50]

Needs PulseAudio and tmux. Prints for each width the list of devices, the screen while noise is
played, with bypass, with mute, after the noise and without the output, and the report at the end.
"""

import shlex
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from pulse import Server, serving
from pulse_audio import until

WIDTHS = ("120", "60", "50")
QSE = shlex.join([sys.executable, "-m", "qse", "live"])
LONG = "'device.description=\"Studio interface with a long name\"'"
HEADSET = ["load-module", "module-null-sink", "sink_name=headset", f"sink_properties={LONG}"]


class Terminal:
    """A tmux terminal of its own server, in the environment of a sound server."""

    def __init__(self, server: Server, width: str):
        self._server = server
        self._socket = str(server.home / "tmux")
        self.tmux("new-session", "-d", "-x", width, "-y", "24", "bash", "--norc")
        self.type("PS1='$ '")

    def tmux(self, *arguments: str) -> str:
        line = ["tmux", "-S", self._socket, *arguments]
        environment = {**self._server.environment, "TERM": "xterm-256color"}
        done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    def type(self, text: str) -> None:
        self.tmux("send-keys", text, "Enter")

    @property
    def shown(self) -> str:
        return self.tmux("capture-pane", "-p").rstrip()

    def show(self, title: str) -> None:
        print(f"--- {title}\n{self.shown}\n", flush=True)


@contextmanager
def noise(server: Server):
    """Play noise to the microphone meanwhile."""
    line = ["pacat", "--playback", "--device=desk", "--raw", "--volume=40000", "/dev/urandom"]
    player = subprocess.Popen(line, env=server.environment)
    try:
        yield
    finally:
        player.kill()
        player.wait()


def look(server: Server, terminal: Terminal, width: str) -> None:
    """Go through the states of the screen."""
    terminal.type(f"clear; {QSE} --list")
    until(lambda: "default" in terminal.shown and "desk.monitor" in terminal.shown)
    terminal.show(f"{width} columns, --list")

    terminal.type(f"clear; {QSE} --input desk_mic --output headset --buffer 200")
    until(lambda: "dropouts" in terminal.shown)
    with noise(server):
        time.sleep(3)
        terminal.show(f"{width} columns, noise")
        for key, title in (("b", "bypass"), ("m", "mute")):
            terminal.tmux("send-keys", key)
            time.sleep(1)
            terminal.show(f"{width} columns, {title}")
        terminal.tmux("send-keys", "bm")
    time.sleep(2)
    terminal.show(f"{width} columns, 2 s after the noise")
    rows = server.pactl("list", "short", "modules").stdout.splitlines()
    headset = next(row.split("\t")[0] for row in rows if "headset" in row)
    server.pactl("unload-module", headset)
    until(lambda: "gone" in terminal.shown)
    terminal.show(f"{width} columns, without the output")
    server.pactl(*HEADSET)
    until(lambda: "came back" in terminal.shown)
    terminal.tmux("send-keys", "q")
    until(lambda: terminal.shown.endswith("$"))
    terminal.show(f"{width} columns, report")


def main() -> None:
    """Look at every width that was asked for."""
    with serving(Server) as server:
        server.pactl(*HEADSET)
        for width in sys.argv[1:] or WIDTHS:
            terminal = Terminal(server, width)
            try:
                look(server, terminal, width)
            finally:
                terminal.tmux("kill-server")


if __name__ == "__main__":
    main()
