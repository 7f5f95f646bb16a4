"""Print the processing time per hop of each released model, in Chromium and natively, in turn on this machine.

    python tests/web/figures.py [--seconds 20]

Speech, then digital silence: numbers that fade below 1e-38 take longer in some processors.
"""

import argparse
import base64
import shutil
import time

import numpy as np
from browser import PAGE_FUNCTIONS, noisy_voice, open_page, to_base64
from conftest import CHROMIUM, FLAGS, serve
from playwright.sync_api import sync_playwright
from qse_cli.web import build_site
from speech import SAMPLE_RATE

import qse

MEASURE = f"""async ({{ name, samples }}) => {{
  {PAGE_FUNCTIONS}
  const worker = new Worker("/measure.js", {{ type: "module" }});
  const result = new Promise((resolve) => (worker.onmessage = ({{ data }}) => resolve(data)));
  worker.postMessage({{ model: await modelOf(name), audio: await fromBase64(samples).arrayBuffer() }});
  const times = await result;
  worker.terminate();
  return toBase64(new Blob([times]));
}}"""
WORKER = b"""
import { loadEngine } from "./model/runtime.js";
import { ModelStream } from "./model/model_stream.js";
self.onmessage = async ({ data: { model, audio } }) => {
  const engine = await loadEngine(model);
  const times = [];
  const stream = new ModelStream(engine, (milliseconds) => times.push(milliseconds));
  await stream.process(new Float32Array(audio));
  self.postMessage(Float64Array.from(times));
};
"""
WARM_UP = 80  # hops that do not count


def in_browser(page, name: str, audio: np.ndarray) -> np.ndarray:
    text = page.evaluate(MEASURE, {"name": name, "samples": to_base64(audio.tobytes())})
    return np.frombuffer(base64.b64decode(text))


def natively(name: str, audio: np.ndarray) -> np.ndarray:
    engine = qse.load(name)
    session, times = engine.session(), []
    for hop in audio[: len(audio) // engine.hop_length * engine.hop_length].reshape(-1, engine.hop_length):
        began = time.perf_counter()
        session.step(hop)
        times.append(1000 * (time.perf_counter() - began))
    return np.array(times)


def row(label: str, times: np.ndarray) -> str:
    p50, p99 = np.quantile(times, (0.5, 0.99))
    return f"{label:<28} min {times.min():6.2f}  p50 {p50:6.2f}  p99 {p99:6.2f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    seconds = parser.parse_args().seconds
    audio = np.concatenate([noisy_voice(seconds), np.zeros(int(seconds * SAMPLE_RATE), np.float32)])
    server = serve({**build_site(), "measure.js": WORKER})
    with sync_playwright() as running:
        program = next(filter(None, map(shutil.which, CHROMIUM)))
        browser = running.chromium.launch(executable_path=program, args=list(FLAGS))
        page = open_page(browser, f"http://127.0.0.1:{server.server_port}/")
        print(f"Chromium {browser.version}, a hop is 12.5 ms")
        for name in ("live-tiny", "live-base", "live-large"):
            for label, times in (("native", natively(name, audio)), ("browser", in_browser(page, name, audio))):
                half = len(times) // 2
                print(row(f"{name} {label}, speech", times[WARM_UP:half]))
                print(row(f"{name} {label}, silence", times[half + WARM_UP :]))
        browser.close()


if __name__ == "__main__":
    main()
