"""Print figures of the page in Chromium: time per hop against native, cold start, a live session.

    PYTHONPATH=tests python tests/web/figures.py [--seconds 20] [--live 60] [--buffer 20]

Times per hop: each graph natively and in the browser in turn, on a voice in noise. Cold start: from opening the page in
an empty browser until a short recording is cleaned with live-base. Live: live-base at 48 kHz with both transports.
"""

import argparse
import base64
import shutil
import time

import numpy as np
from browser import PAGE_FUNCTIONS, full_band_voice, noisy_voice, open_page, to_base64, to_wav
from conftest import CHROMIUM, ENHANCE, FLAGS, serve
from playwright.sync_api import sync_playwright
from qse_cli.web import build_site

import qse

MODELS, RATES = ("live-tiny", "live-base", "live-large"), (16000, 48000)
HOP_MS = 12.5
WARM_UP = 80  # hops that do not count
MEASURE = f"""async ({{ name, rate, samples }}) => {{
  {PAGE_FUNCTIONS}
  const {{ graphFor }} = await import("/model/bands.js");
  const worker = new Worker("/measure.js", {{ type: "module" }});
  const result = new Promise((resolve) => (worker.onmessage = ({{ data }}) => resolve(data)));
  worker.postMessage({{ graph: graphFor(await modelOf(name), rate), audio: await fromBase64(samples).arrayBuffer() }});
  const times = await result;
  worker.terminate();
  return toBase64(new Blob([times]));
}}"""
WORKER = b"""
import { loadEngine } from "./model/runtime.js";
import { ModelStream } from "./model/model_stream.js";
self.onmessage = async ({ data: { graph, audio } }) => {
  const engine = await loadEngine(graph);
  const times = [];
  const stream = new ModelStream(engine, (milliseconds) => times.push(milliseconds));
  await stream.process(new Float32Array(audio));
  self.postMessage(Float64Array.from(times));
};
"""
LIVE = f"""async ({{ transport, seconds, buffer }}) => {{
  {PAGE_FUNCTIONS}
  const {{ LiveSession }} = await import("/live/session.js");
  const settings = {{ strength: null, bypass: false }};
  const updates = {{}};
  const options = {{ model: await modelOf("live-base"), settings, transport, buffer, sampleRate: 48000 }};
  const session = new LiveSession(options, (update) => Object.assign(updates, update));
  await session.start();
  await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  await session.stop();
  return updates;
}}"""


def in_browser(page, name: str, rate: int, audio: np.ndarray) -> np.ndarray:
    text = page.evaluate(MEASURE, {"name": name, "rate": rate, "samples": to_base64(audio.tobytes())})
    return np.frombuffer(base64.b64decode(text))


def natively(name: str, rate: int, audio: np.ndarray) -> np.ndarray:
    engine = qse.load(name, sample_rate=rate)
    session, times = engine.session(), []
    for hop in audio[: len(audio) // engine.hop_length * engine.hop_length].reshape(-1, engine.hop_length):
        began = time.perf_counter()
        session.step(hop)
        times.append(1000 * (time.perf_counter() - began))
    return np.array(times)


def print_hops(page, seconds: float) -> None:
    for name in MODELS:
        for rate in RATES:
            audio = noisy_voice(seconds) if rate == 16000 else full_band_voice(seconds)
            for place, times in (
                ("native", natively(name, rate, audio)),
                ("browser", in_browser(page, name, rate, audio)),
            ):
                low, p50, p99 = np.quantile(times[WARM_UP:], (0, 0.5, 0.99))
                text = f"min {low:5.2f}  p50 {p50:5.2f}  p99 {p99:6.2f} ms  RTF {low / HOP_MS:.3f} (min)"
                print(f"{name:<10} {rate // 1000} kHz {place:<7} {text}", flush=True)


def print_cold_start(browser, address: str) -> None:
    wav = to_base64(to_wav(noisy_voice(0.1), 16000))
    values = {"wav": wav, "name": "live-base", "strength": None, "format": "pcm16", "band": None}
    for _ in range(3):
        began = time.perf_counter()
        page = open_page(browser.new_context(), address)
        opened = time.perf_counter() - began
        page.evaluate(ENHANCE, values)
        print(f"cold start: page {opened:.2f} s, first recording {time.perf_counter() - began:.2f} s", flush=True)
        page.context.close()


def print_live(page, seconds: float, buffer: float) -> None:
    for transport in ("shared", "messages"):
        found = page.evaluate(LIVE, {"transport": transport, "seconds": seconds, "buffer": buffer / 1000})
        hop, latency = found["figures"]["hop"], {name: round(1000 * s) for name, s in found["latency"].items()}
        print(f"live, {transport}, {seconds:g} s, buffer {buffer:g} ms: {found['dropouts']}, latency in ms {latency}")
        print(f"    hop min {hop['min']:.2f}  p50 {hop['p50']:.2f}  p99 {hop['p99']:.2f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--live", type=float, default=60)
    parser.add_argument("--buffer", type=float, default=20)
    arguments = parser.parse_args()
    server = serve({**build_site(), "measure.js": WORKER})
    address = f"http://127.0.0.1:{server.server_port}/"
    with sync_playwright() as running:
        program = next(filter(None, map(shutil.which, CHROMIUM)))
        browser = running.chromium.launch(executable_path=program, args=list(FLAGS))
        page = open_page(browser, address)
        print(f"Chromium {browser.version}, a hop is {HOP_MS} ms")
        print_cold_start(browser, address)
        print_hops(page, arguments.seconds)
        print_live(page, arguments.live, arguments.buffer)
        browser.close()


if __name__ == "__main__":
    main()
