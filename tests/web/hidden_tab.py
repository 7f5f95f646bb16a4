"""The microphone in a tab behind another one, in a window of a real X server.

    python tests/web/hidden_tab.py [--seconds 60]

Needs Xvfb, Chromium and Playwright. Prints what the page shows before and after, and how much sound
the recording holds for the seconds in which the tab was hidden.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import soundfile
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from browser import noisy_voice
from conftest import FLAGS, chromium_program, serve
from speech import SAMPLE_RATE

from qse.web.site import build_site

DISPLAY = ":97"


def main() -> None:
    """Start the microphone, hide its tab, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    seconds = parser.parse_args().seconds
    server = serve(build_site())
    screen = subprocess.Popen(["Xvfb", DISPLAY, "-screen", "0", "1280x800x24"])
    try:
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
            voice = Path(folder) / "voice.wav"
            soundfile.write(voice, noisy_voice(), SAMPLE_RATE, subtype="PCM_16")
            browser = running.chromium.launch_persistent_context(
                f"{folder}/profile",  # so that pages are tabs of one window
                executable_path=chromium_program(),
                headless=False,
                args=[*FLAGS, f"--use-file-for-fake-audio-capture={voice}"],
                env={"DISPLAY": DISPLAY},
            )
            hide(browser, f"http://127.0.0.1:{server.server_port}/", seconds, folder)
            browser.close()
    finally:
        screen.kill()
        server.shutdown()


def hide(context, address: str, seconds: float, folder: str) -> None:
    """Record while the tab is hidden; print the figures."""
    page = context.pages[0]
    unwatched = {"enabled": False}  # Playwright makes pages believe that they are in front
    context.new_cdp_session(page).send("Emulation.setFocusEmulationEnabled", unwatched)
    page.goto(f"{address}#microphone")
    page.wait_for_selector("html[data-ready]")
    page.click("#live-start")
    page.wait_for_selector("#record:enabled", timeout=120000)
    time.sleep(5)
    print("before:", shown(page))
    page.click("#record")
    began = time.monotonic()
    other = context.new_page()
    other.goto("about:blank")
    other.bring_to_front()
    time.sleep(1)
    print("state of the tab:", page.evaluate("document.visibilityState"))
    time.sleep(seconds - 1)
    print("state of the tab:", page.evaluate("document.visibilityState"))
    page.bring_to_front()
    page.click("#record")
    elapsed = time.monotonic() - began
    page.wait_for_selector("#recordings li")
    with page.expect_download() as caught:
        page.click("#recordings button")
    caught.value.save_as(f"{folder}/both.wav")
    recorded = soundfile.info(f"{folder}/both.wav").duration
    print(f"recorded {recorded:.1f} s in {elapsed:.1f} s")
    print("after:", shown(page))


def shown(page) -> str:
    """Return the figures of the page."""
    return " | ".join(page.locator("#live-panel .figures div").all_inner_texts()).replace("\n", " ")


if __name__ == "__main__":
    main()
