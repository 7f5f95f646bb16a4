"""Write the screenshots of docs/web.md: both modes, wide and at the width of a phone (needs Pillow).

    python tests/web/screenshots.py RECORDING ... [--to docs/images]

The first recording is also the input of the microphone.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import soundfile
from browser import open_page, wait
from conftest import CHROMIUM, FLAGS, serve
from PIL import Image
from playwright.sync_api import sync_playwright
from qse_cli.web import build_site

SHOTS = (
    ("web-recordings", "files", 1040, "light"),
    ("web-recordings-phone", "files", 390, "dark"),
    ("web-microphone", "live", 1040, "dark"),
    ("web-microphone-phone", "live", 390, "light"),
)
LEVELS = "document.getElementById('figure-latency').textContent.endsWith('ms')"


def prepare(page, mode: str, recordings: list[Path]) -> None:
    """Bring the page into the state to show."""
    if mode == "live":
        page.click("#tab-live")
        page.click("#live-start")
        wait(page, LEVELS)
        page.wait_for_timeout(4000)
        return
    page.set_input_files("#file-input", recordings)
    wait(page, "[...document.querySelectorAll('.file progress')].every((bar) => bar.hidden)")
    page.locator("#seek").fill("2")
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(2500)  # until the pictures are drawn


def shrink(path: Path) -> None:
    """Reduce a PNG to 128 colours."""
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recordings", type=Path, nargs="+")
    parser.add_argument("--to", type=Path, default=Path("docs/images"))
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    server = serve(build_site())
    with sync_playwright() as running, tempfile.TemporaryDirectory() as folder:
        microphone = Path(folder) / "microphone.wav"
        soundfile.write(microphone, *soundfile.read(arguments.recordings[0]))
        program = next(filter(None, map(shutil.which, CHROMIUM)))
        flags = [*FLAGS, f"--use-file-for-fake-audio-capture={microphone}"]
        browser = running.chromium.launch(executable_path=program, args=flags)
        for name, mode, width, scheme in SHOTS:
            context = browser.new_context(viewport={"width": width, "height": 600}, color_scheme=scheme)
            page = open_page(context, f"http://127.0.0.1:{server.server_port}/")
            prepare(page, mode, arguments.recordings)
            page.screenshot(path=arguments.to / f"{name}.png", full_page=True)
            context.close()
            shrink(arguments.to / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
