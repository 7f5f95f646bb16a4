"""The microphone in a tab behind another one, in a window of a real X server.

    python tests/web/hidden_tab.py [--seconds 60] [--model live-base]

Needs Xvfb, Chromium and Playwright. Prints what the page shows before and after, for how long the
page itself knew that it was hidden, and how much sound its recording holds.

Playwright makes pages believe that they are in front, so that it is disconnected while the tab is
hidden.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import soundfile
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from browser import noisy_voice
from conftest import FLAGS, chromium_program, serve
from speech import SAMPLE_RATE

from qse.web.site import build_site

DISPLAY = ":97"
PORT = 9337  # of Chromium's remote protocol
BROWSER = f"http://127.0.0.1:{PORT}"
NOTE_STATES = """() => {
  window.states = [];
  document.addEventListener("visibilitychange", () => {
    states.push([performance.now() / 1000, document.visibilityState]);
  });
}"""


@contextmanager
def chromium(folder: str) -> Iterator[None]:
    """Start an X server and Chromium in it, with a voice as microphone."""
    voice = Path(folder) / "voice.wav"
    soundfile.write(voice, noisy_voice(), SAMPLE_RATE, subtype="PCM_16")
    line = [chromium_program(), *FLAGS, f"--use-file-for-fake-audio-capture={voice}"]
    line += [f"--remote-debugging-port={PORT}", f"--user-data-dir={folder}/profile"]
    line += ["--no-first-run", "about:blank"]
    screen = subprocess.Popen(["Xvfb", DISPLAY, "-screen", "0", "1280x800x24"])
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    browser = subprocess.Popen(line, env={"DISPLAY": DISPLAY, "HOME": folder}, **quiet)
    try:
        yield
    finally:
        for process in (browser, screen):
            process.terminate()
            process.wait()


@contextmanager
def connected(address: str) -> Iterator[Page]:
    """Connect to the browser; yield the page at `address`, or the only one there is."""
    with sync_playwright() as running:
        for _ in range(60):
            try:
                browser = running.chromium.connect_over_cdp(BROWSER)
                break
            except Exception:  # it has not started yet
                time.sleep(0.5)
        pages = browser.contexts[0].pages
        yield next((page for page in pages if page.url.startswith(address)), pages[0])
        browser.close()  # which disconnects


def ask(path: str, method: str = "GET") -> bytes:
    """Ask the browser itself, which answers without a connection to a page."""
    with urllib.request.urlopen(urllib.request.Request(BROWSER + path, method=method)) as answer:
        return answer.read()


def shown(page: Page) -> str:
    """Return the figures of the page."""
    return " | ".join(page.locator("#live-panel .figures div").all_inner_texts()).replace("\n", " ")


def begin(address: str, model: str) -> str:
    """Begin to record; return the id of the tab."""
    with connected(address) as page:
        page.goto(f"{address}#microphone")
        page.wait_for_selector("html[data-ready]", state="attached")
        page.click("#tab-live")
        page.select_option("#model", model)
        page.click("#live-start")
        page.wait_for_selector("#record:enabled", timeout=120000)
        time.sleep(5)
        page.evaluate(NOTE_STATES)
        print("before:", shown(page))
        page.click("#record")
        session = page.context.new_cdp_session(page)
        return session.send("Target.getTargetInfo")["targetInfo"]["targetId"]


def end(address: str, began: float) -> None:
    """End the recording and print the figures."""
    with connected(address) as page:
        after = shown(page)
        states = page.evaluate("states")
        page.click("#record")
        elapsed = time.monotonic() - began
        page.wait_for_selector("#recordings li")
        row = page.inner_text("#recordings li").replace("\n", " ")
    print("states of the tab:", ", ".join(f"{name} at {at:.1f} s" for at, name in states))
    print("after:", after)
    print(f"recorded in {elapsed:.1f} s: {row}")


def main() -> None:
    """Start the microphone, hide its tab, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--model", default="live-base")
    wanted = parser.parse_args()
    server = serve(build_site())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, chromium(folder):
        address = f"http://127.0.0.1:{server.server_port}/"
        tab = begin(address, wanted.model)
        began = time.monotonic()
        ask("/json/new?about:blank", "PUT")
        time.sleep(wanted.seconds)
        ask(f"/json/activate/{tab}")
        end(address, began)
    server.shutdown()


if __name__ == "__main__":
    main()
