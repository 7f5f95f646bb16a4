"""Share helpers of the browser tests: audio files, their way into a page and back,
an opened page."""

import base64
import io
import threading
from itertools import pairwise

import numpy as np
import soundfile
from speech import hiss, voice

from qse.web.server import make_server

FADE = 128  # samples over which live sound begins, and passes over skipped samples
# Functions for scripts that run in a page.
PAGE_FUNCTIONS = """
const toBase64 = async (blob) => {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) {
    text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  }
  return btoa(text);
};
const fromBase64 = (text) => new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))]);
const modelOf = async (name) => {
  const { modelsOf } = await import("/model/bands.js");
  const manifest = await (await fetch("manifest.json")).json();
  return modelsOf(manifest, document.baseURI).find((model) => model.name === name);
};
"""


def noisy_voice(seconds: float = 3.0) -> np.ndarray:
    """A voice in hiss, float32 at 16 kHz."""
    clean = voice(seconds)
    return (clean + 0.02 * hiss(len(clean), 7)).astype(np.float32)


def full_band_voice(seconds: float = 2.0) -> np.ndarray:
    """A voice in hiss up to 24 kHz, float32 at 48 kHz."""
    clean = np.repeat(voice(seconds), 3)  # with images of the voice above 8 kHz
    return (clean + 0.02 * hiss(len(clean), 7)).astype(np.float32)


def to_wav(
    audio: np.ndarray, sample_rate: int, subtype: str = "PCM_16", form: str = "WAV"
) -> bytes:
    """The bytes of an audio file."""
    file = io.BytesIO()
    soundfile.write(file, audio, sample_rate, subtype=subtype, format=form)
    return file.getvalue()


def from_wav(content: bytes) -> tuple[np.ndarray, int]:
    """Samples (float32) and sample rate of an audio file's bytes."""
    return soundfile.read(io.BytesIO(content), dtype="float32")


def open_page(browser, address):
    """A page at `address`, with what it asked for in `requests` and its script errors in
    `errors`."""
    page = browser.new_page()
    page.requests = []
    page.errors = []
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.goto(address)
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


def serve(site):
    """A running server of `site` on a free port."""
    server = make_server(site, 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def to_base64(content: bytes) -> str:
    """The bytes as text, as `fromBase64` in a page reads it."""
    return base64.b64encode(content).decode()


def wait(page, script: str, seconds: float = 60) -> None:
    """Wait until a script is true; the page's content security policy forbids Playwright's
    own way."""
    for _ in range(int(10 * seconds)):
        if page.evaluate(script):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"never true: {script}; the page says: {page.inner_text('main')}")


def played(result: dict, enhanced: np.ndarray):
    """Pairs of what was played and what should have been, for each stretch without a gap."""
    events = [*result["events"], [len(result["output"]), None]]
    for (start, first), (end, _) in pairwise(events):
        if first is not None:
            length = min(end - start, len(enhanced) - first)
            yield (
                result["output"][start + FADE : start + length],
                enhanced[first + FADE : first + length],
            )
