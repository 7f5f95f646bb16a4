"""Print figures of the page in Chromium: cold start, time per hop against native, a live session.

    PYTHONPATH=tests python tests/web/figures.py [cold] [hops] [live]
        [--models live-base] [--rounds 3] [--live 60]

cold: from opening the page in an empty browser until it is ready, and until live-base is loaded,
asked for at once.
hops: each graph natively, in the browser, and there by the public interface of ONNX Runtime, in
turn, on a voice in noise. RTF: of the median.
live: live-base at 48 kHz with both transports.
"""

import argparse
import base64
import time
from functools import partial
from itertools import product

import numpy as np
from browser import PAGE_FUNCTIONS, full_band_voice, noisy_voice, open_page, to_base64
from conftest import FLAGS, chromium_program, serve
from playwright.sync_api import sync_playwright

import qse
from qse.web.site import build_site

PARTS = ("cold", "hops", "live")
MODELS = ("live-tiny", "live-base", "live-large")
RATES = (16000, 48000)
SECONDS = 10  # of sound in each round
WARM_UP = 20  # hops of each round that do not count
MEASURE = f"""async ({{ name, rate, samples, direct }}) => {{
  {PAGE_FUNCTIONS}
  const {{ graphFor }} = await import("/model/bands.js");
  const worker = new Worker("/measure.js", {{ type: "module" }});
  const result = new Promise((resolve) => (worker.onmessage = ({{ data }}) => resolve(data)));
  const graph = graphFor(await modelOf(name), rate);
  worker.postMessage({{ graph, direct, audio: await fromBase64(samples).arrayBuffer() }});
  const times = await result;
  worker.terminate();
  return toBase64(new Blob([times]));
}}"""
WORKER = b"""
import { loadEngine } from "./model/runtime.js";
import { ModelStream } from "./model/model_stream.js";
self.onmessage = async ({ data: { graph, direct, audio } }) => {
  const engine = await loadEngine(graph);
  if (!direct) engine.module = null;
  const times = [];
  const stream = new ModelStream(engine, (milliseconds) => times.push(milliseconds));
  const samples = new Float32Array(audio);
  const end = performance.now() + 3000; // the browser still compiles
  while (performance.now() < end) {
    await stream.process(samples.subarray(0, 10 * engine.hopLength));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  times.length = 0;
  await stream.process(samples);
  self.postMessage(Float64Array.from(times));
};
"""
READY = f"""async () => {{
  {PAGE_FUNCTIONS}
  const {{ RemoteWorker }} = await import("/rpc.js");
  const opened = performance.now(); // since navigation began
  const worker = new RemoteWorker("/files/worker.js");
  await worker.call("prepare", {{ model: await modelOf("live-base"), band: "wide" }});
  return [opened / 1000, performance.now() / 1000];
}}"""
LIVE = f"""async ({{ transport, seconds, buffer }}) => {{
  {PAGE_FUNCTIONS}
  const {{ LiveSession }} = await import("/live/session.js");
  const settings = {{ strength: null, bypass: false }};
  const updates = {{}};
  const model = await modelOf("live-base");
  const options = {{ model, settings, transport, buffer, sampleRate: 48000 }};
  const session = new LiveSession(options, (update) => Object.assign(updates, update));
  await session.start();
  await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  await session.stop();
  return updates;
}}"""


def in_browser(page, name: str, rate: int, audio: np.ndarray, direct: bool) -> np.ndarray:
    values = {"name": name, "rate": rate, "samples": to_base64(audio.tobytes()), "direct": direct}
    return np.frombuffer(base64.b64decode(page.evaluate(MEASURE, values)))


def natively(name: str, rate: int, audio: np.ndarray) -> np.ndarray:
    engine = qse.load(name, sample_rate=rate)
    session = engine.session()
    times = []
    for hop in audio[: len(audio) // engine.hop_length * engine.hop_length].reshape(
        -1, engine.hop_length
    ):
        began = time.perf_counter()
        session.step(hop)
        times.append(1000 * (time.perf_counter() - began))
    return np.array(times)


def print_hops(page, models: list[str], rounds: int) -> None:
    for name, rate in product(models, RATES):
        audio = noisy_voice(SECONDS) if rate == 16000 else full_band_voice(SECONDS)
        measures = {
            "native": partial(natively, name, rate, audio),
            "browser": partial(in_browser, page, name, rate, audio, True),
            "public": partial(in_browser, page, name, rate, audio, False),
        }
        times = {kind: [] for kind in measures}
        for kind, measure in list(measures.items()) * rounds:
            times[kind].append(measure()[WARM_UP:])
        engine = qse.load(name, sample_rate=rate)
        hop = 1000 * engine.hop_length / engine.sample_rate
        for kind, found in times.items():
            low, p50, p99 = np.quantile(np.concatenate(found), (0, 0.5, 0.99))
            text = f"min {low:5.2f}  p50 {p50:5.2f}  p99 {p99:6.2f} ms  RTF {p50 / hop:.3f}"
            print(f"{name:<10} {rate // 1000} kHz {kind:<7} {text}", flush=True)


def print_cold_start(launch, address: str) -> None:
    for _ in range(5):
        browser = launch()
        page = open_page(browser, address)
        opened, loaded = page.evaluate(READY)
        print(
            f"cold start: page after {opened:.2f} s, live-base loaded after {loaded:.2f} s",
            flush=True,
        )
        browser.close()


def print_live(page, seconds: float, buffer: float) -> None:
    for transport in ("shared", "messages"):
        found = page.evaluate(
            LIVE, {"transport": transport, "seconds": seconds, "buffer": buffer / 1000}
        )
        hop = found["figures"]["hop"]
        latency = {name: round(1000 * s) for name, s in found["latency"].items()}
        settings = f"live, {transport}, {seconds:g} s, buffer {buffer:g} ms"
        print(f"{settings}: {found['dropouts']}, latency in ms {latency}")
        print(
            f"    hop min {hop['min']:.2f}  p50 {hop['p50']:.2f}  p99 {hop['p99']:.2f} ms",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--live", type=float, default=60)
    parser.add_argument("--buffer", type=float, default=40)
    arguments = parser.parse_args()
    server = serve({**build_site(), "measure.js": WORKER})
    address = f"http://127.0.0.1:{server.server_port}/"
    with sync_playwright() as running:
        launch = partial(
            running.chromium.launch, executable_path=chromium_program(), args=list(FLAGS)
        )
        if "cold" in arguments.parts:
            print_cold_start(launch, address)
        browser = launch()
        page = open_page(browser, address)
        print(f"Chromium {browser.version}")
        if "hops" in arguments.parts:
            print_hops(page, arguments.models, arguments.rounds)
        if "live" in arguments.parts:
            print_live(page, arguments.live, arguments.buffer)
        browser.close()


if __name__ == "__main__":
    main()
