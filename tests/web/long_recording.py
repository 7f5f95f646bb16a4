"""Clean a long compressed stereo recording in the page, in an ordinary profile of Chromium, and
compare it with Python.

    PYTHONPATH=tests python tests/web/long_recording.py [--minutes 60] [--model live-tiny]

Needs ffmpeg, and about 4 GB of disk for an hour. Printed: the largest resident memory of each kind
of process of the browser, the time, the length of the download, and its SNR against `qse denoise`.
"""

import argparse
import re
import resource
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import soundfile
from browser import full_band_voice, open_page
from conftest import FLAGS, chromium_program, serve
from playwright.sync_api import sync_playwright

from qse.web.site import build_site

RATE = 44100


def write_recording(path: Path, minutes: float) -> None:
    """Write an MP3 of two channels: a voice in hiss at levels that change from minute to minute."""
    minute = np.resize(full_band_voice(20), 60 * RATE)
    line = [
        "ffmpeg",
        "-v",
        "error",
        "-y",
        "-f",
        "f32le",
        "-ar",
        str(RATE),
        "-ac",
        "2",
        "-i",
        "-",
        "-b:a",
        "192k",
        path,
    ]
    with subprocess.Popen(line, stdin=subprocess.PIPE) as encoder:
        for index in range(round(minutes)):
            stereo = np.stack([minute, np.roll(minute, 5 * RATE)], axis=1) * 10 ** (
                -(index * 7 % 11) / 20
            )
            encoder.stdin.write(stereo.astype("<f4").tobytes())
    assert encoder.returncode == 0


class Memory(threading.Thread):
    """Watch all processes of Chromium. `largest`: the most MiB that one of each kind has held."""

    def __init__(self):
        super().__init__(daemon=True)
        self.largest = {}
        self.ended = False

    def run(self) -> None:
        while not self.ended:
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    words = (
                        (folder / "cmdline")
                        .read_bytes()
                        .decode(errors="replace")
                        .replace("\0", " ")
                    )
                    pages = int((folder / "statm").read_text().split()[1])
                except OSError:  # it has ended
                    continue
                if "chromium" in words.partition(" ")[0]:
                    kind = re.search(r"--type=(\S+)", words)
                    name = kind[1] if kind else "browser"
                    self.largest[name] = max(
                        self.largest.get(name, 0), pages * resource.getpagesize() >> 20
                    )
            time.sleep(2)


def clean(folder: Path, recording: Path, model: str) -> Path:
    """Clean the recording in the page and return the download."""
    server = serve(build_site())
    memory = Memory()
    memory.start()
    with sync_playwright() as running:
        browser = running.chromium.launch_persistent_context(
            str(folder / "profile"),
            executable_path=chromium_program(),
            args=list(FLAGS),
            accept_downloads=True,
        )
        page = open_page(browser, f"http://127.0.0.1:{server.server_port}/")
        page.select_option("#model", model)
        began = time.monotonic()
        page.set_input_files("#file-input", recording)
        while "cleaned" not in (state := page.locator(".file-state").text_content()):
            assert not page.locator(".file.failed").count(), state
            print(f"{time.monotonic() - began:6.0f} s  {state}  {memory.largest}", flush=True)
            time.sleep(30)
        print(f"cleaned after {time.monotonic() - began:.0f} s; MiB: {memory.largest}")
        with page.expect_download(timeout=600_000) as started:
            page.locator(".file-actions button", has_text="Download").click()
        target = folder / "page.wav"
        started.value.save_as(target)
        memory.ended = True
        browser.close()
    print(f"downloaded after {time.monotonic() - began:.0f} s; MiB: {memory.largest}")
    return target


def compare(page: Path, python: Path) -> None:
    """Print lengths and SNR, block by block in bounded memory."""
    with soundfile.SoundFile(page) as one, soundfile.SoundFile(python) as other:
        form = f"{one.channels} channels, {one.samplerate} Hz"
        print(f"page {one.frames} frames, {form}; Python {other.frames} frames")
        error = 0.0
        energy = 0.0
        for block, wanted in zip(one.blocks(RATE * 10), other.blocks(RATE * 10), strict=True):
            error += np.square(block - wanted).sum()
            energy += np.square(wanted).sum()
        print(f"SNR against Python {10 * np.log10(energy / error):.1f} dB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--model", default="live-tiny")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_recording(folder / "long.mp3", asked.minutes)
        page = clean(folder, folder / "long.mp3", asked.model)
        line = [
            "qse",
            "denoise",
            folder / "long.mp3",
            "-o",
            folder / "python.wav",
            "--model",
            asked.model,
            "--quiet",
        ]
        subprocess.run(line, check=True)
        compare(page, folder / "python.wav")


if __name__ == "__main__":
    main()
