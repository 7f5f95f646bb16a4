"""The microphone in an ordinary Firefox, with its test tone as microphone and a PulseAudio server.

    python tests/web/firefox_live.py [--seconds 20] [--model live-base]

Needs Firefox and PulseAudio. Firefox is driven by Marionette, its own remote protocol. Prints what
the page shows every five seconds, and what a recording holds.
"""

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from conftest import serve
from pulse import Server, serving

from qse.web.site import build_site

PREFERENCES = {
    "media.navigator.streams.fake": "true",
    "media.navigator.permission.disabled": "true",
    "media.autoplay.default": "0",
    "datareporting.policy.dataSubmissionEnabled": "false",
    "browser.shell.checkDefaultBrowser": "false",
}
FIGURES = """
return [...document.querySelectorAll("#live-panel .meter-row, #live-panel .figures div")]
  .map((node) => node.innerText.replace(/\\s+/g, " ")).join(" | ");
"""


class Marionette:
    """A connection to Firefox; each message is its length, a colon and JSON."""

    def __init__(self, port: int):
        self._socket = self._connected(port)
        self._number = 0
        self._read()  # what it is
        self.call("WebDriver:NewSession")

    def _connected(self, port: int) -> socket.socket:
        for _ in range(600):
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=120)
            except ConnectionRefusedError:
                time.sleep(0.1)
        raise RuntimeError("Firefox does not answer")

    def _read(self) -> Any:
        size = b""
        while not size.endswith(b":"):
            size += self._socket.recv(1)
        text = b""
        while len(text) < int(size[:-1]):
            text += self._socket.recv(int(size[:-1]) - len(text))
        return json.loads(text)

    def call(self, command: str, **values: Any) -> Any:
        """Run a command and return its value."""
        self._number += 1
        message = json.dumps([0, self._number, command, values]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, _, error, result = self._read()
        if error:
            raise RuntimeError(f"{command}: {error['message']}")
        return result.get("value") if isinstance(result, dict) else result

    def run(self, script: str) -> Any:
        """Return what a script returns in the page."""
        return self.call("WebDriver:ExecuteScript", script=script, args=[])

    def wait(self, condition: str, seconds: float = 120.0) -> None:
        """Wait until an expression is true in the page."""
        end = time.monotonic() + seconds
        while not self.run(f"return {condition};"):
            if time.monotonic() > end:
                status = self.run("return document.getElementById('live-status').textContent;")
                raise RuntimeError(f"waited in vain for {condition}; the page says: {status}")
            time.sleep(0.2)

    def click(self, id: str) -> None:
        """Click an element."""
        self.run(f"document.getElementById('{id}').click();")


@contextmanager
def firefox(environment: dict[str, str], profile: Path) -> Iterator[Marionette]:
    """Start Firefox with an empty profile; yield the connection to it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lines = [f'user_pref("{name}", {value});' for name, value in PREFERENCES.items()]
    lines.append(f'user_pref("marionette.port", {port});')
    (profile / "user.js").write_text("\n".join(lines))
    line = ["firefox", "--marionette", "--headless", "--profile", str(profile)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    browser = subprocess.Popen(line, env=environment, **quiet)
    try:
        yield Marionette(port)
    finally:
        browser.kill()
        browser.wait()


def look(page: Marionette, model: str, seconds: float) -> None:
    """Start the microphone and print what the page shows."""
    page.wait("document.documentElement.dataset.ready !== undefined")
    print("shared memory:", page.run("return crossOriginIsolated;"))
    page.click("tab-live")
    chosen = f"Object.assign(document.getElementById('model'), {{ value: '{model}' }})"
    page.run(f"{chosen}.dispatchEvent(new Event('change', {{ bubbles: true }}));")
    page.click("live-start")
    page.wait("!document.getElementById('record').disabled")
    page.click("record")
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        time.sleep(5)
        print(page.run(FIGURES), flush=True)
    print(page.run("return document.getElementById('live-status').textContent;"))
    page.click("record")
    page.wait("document.querySelector('#recordings li') !== null")
    elapsed = time.monotonic() - began
    row = page.run("return document.querySelector('#recordings li').innerText;")
    print(f"recorded in {elapsed:.1f} s:", " ".join(row.split()))


def main() -> None:
    """Serve the page and look at it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--model", default="live-base")
    wanted = parser.parse_args()
    site = serve(build_site())
    with (
        tempfile.TemporaryDirectory() as profile,
        serving(Server) as server,
        firefox(server.environment, Path(profile)) as page,
    ):
        page.call("WebDriver:Navigate", url=f"http://127.0.0.1:{site.server_port}/")
        look(page, wanted.model, wanted.seconds)
    site.shutdown()


if __name__ == "__main__":
    main()
