"""Write the screenshots of docs/web.md: both modes, wide and as on a phone (needs Pillow).

    PYTHONPATH=tests python tests/web/screenshots.py [--to docs/images]

The recordings are made from assets/noisy.wav; the first is also the input of the microphone.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import soundfile
import soxr
from browser import open_page, wait
from conftest import FLAGS, chromium_program, serve
from PIL import Image
from playwright.sync_api import sync_playwright

from qse.web.site import build_site

ASSETS = Path(__file__).parents[2] / "assets"
SHOTS = (
    ("web-recordings", "files", 1040, "light"),
    ("web-recordings-phone", "files", 390, "dark"),
    ("web-microphone", "live", 1040, "dark"),
    ("web-microphone-phone", "live", 390, "light"),
)
LEVELS = "document.getElementById('figure-latency').textContent.endsWith('ms')"


def make_recordings(folder: Path) -> list[Path]:
    """A recording at 48 kHz with hiss up to 24 kHz, and one at 16 kHz."""
    noisy, rate = soundfile.read(ASSETS / "noisy.wav")
    full = soxr.resample(noisy, rate, 48000)
    full += 0.01 * np.random.default_rng(0).standard_normal(len(full))
    paths = [folder / "Interview in the street.wav", folder / "Voice memo 14.flac"]
    soundfile.write(paths[0], full, 48000)
    soundfile.write(paths[1], noisy, rate)
    return paths


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
    wait(page, "document.querySelectorAll('figure[aria-busy=false]').length === 2")


def shrink(path: Path) -> None:
    """Reduce a PNG to 256 colours that cover all of them: rare ones, as of a small sign, stay."""
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(
            256, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE
        )
    small.save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("docs/images"))
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    server = serve(build_site())
    with sync_playwright() as running, tempfile.TemporaryDirectory() as folder:
        recordings = make_recordings(Path(folder))
        flags = [*FLAGS, f"--use-file-for-fake-audio-capture={recordings[0]}"]
        browser = running.chromium.launch(executable_path=chromium_program(), args=flags)
        for name, mode, width, scheme in SHOTS:
            context = browser.new_context(
                viewport={"width": width, "height": 600}, color_scheme=scheme
            )
            page = open_page(context, f"http://127.0.0.1:{server.server_port}/")
            prepare(page, mode, recordings)
            page.screenshot(path=arguments.to / f"{name}.png", full_page=True)
            context.close()
            shrink(arguments.to / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
