"""Compare qse-web with other npm packages against noise: same page, same recordings.

    PYTHONPATH=tests python tests/web/npm_peers.py CLEAN NOISY [--pairs 20]

CLEAN, NOISY: folders of recordings at 16 kHz with the same names. Needs npm with its registry,
Chromium, Playwright and pesq.

Every package processes the recordings at 48 kHz, as fast as it can: nodes in an
OfflineAudioContext, processors of tracks on stand-ins of MediaStreamTrackProcessor and
MediaStreamTrackGenerator, functions frame by frame, qse-web by `denoise`. Prints a table:

PESQ: WB-PESQ at 16 kHz, mean. CPU: time (user and system) of the page's process per second of
sound, median. Lag: of the output behind the input, by correlation, median. Bytes:
what the page loads until the first sound, compressed by gzip.
"""

import argparse
import base64
import gzip
import http.server
import shutil
import statistics
import subprocess
import tempfile
import threading
from functools import partial
from pathlib import Path

import numpy as np
import soundfile
import soxr
from browser import PAGE_FUNCTIONS, to_base64
from conftest import FLAGS, chromium_program
from npm_package import install
from pesq import pesq
from playwright.sync_api import Browser, Page, sync_playwright

RATE = 48000
PEERS = (
    "@sapphi-red/web-noise-suppressor@0.4.1",
    "@shiguredo/noise-suppression@2025.1.0",
    "@jitsi/rnnoise-wasm@0.2.1",
)
PREPARE = """
globalThis.offline = (make) => async (samples) => {
  const length = samples.length;
  const context = new OfflineAudioContext({ length, sampleRate: 48000 });
  const node = await make(context);
  const buffer = new AudioBuffer({ length, sampleRate: 48000 });
  buffer.copyToChannel(samples, 0);
  const source = new AudioBufferSourceNode(context, { buffer });
  source.connect(node).connect(context.destination);
  source.start();
  await new Promise((resolve) => setTimeout(resolve, 1000)); // for what the node loads by itself
  return (await context.startRendering()).getChannelData(0);
};
globalThis.framed = (size, process) => async (samples) => {
  const output = new Float32Array(samples.length);
  for (let start = 0; start + size <= samples.length; start += size) {
    output.set(process(samples.subarray(start, start + size)), start);
  }
  return output;
};
"""
SAPPHI = "/node_modules/@sapphi-red/web-noise-suppressor/dist"
JITSI = "/node_modules/@jitsi/rnnoise-wasm/dist/rnnoise.js"
SHIGUREDO = "/node_modules/@shiguredo/noise-suppression/dist/noise_suppression.js"


def qse_web(model: str) -> str:
    """Return a script that sets up qse-web."""
    return f"""
      const {{ denoise }} = await import("/node_modules/qse-web/dist/npm/index.js");
      globalThis.run = (samples) => denoise(samples, 48000, {{ model: "{model}" }});
    """


def sapphi_red(name: str, address: str) -> str:
    """Return a script that sets up a node of @sapphi-red/web-noise-suppressor."""
    return f"""
      const found = await import("{SAPPHI}/index.js");
      const wasmBinary = await found.load{name}({address});
      globalThis.run = offline(async (context) => {{
        await context.audioWorklet.addModule("{SAPPHI}/{name.lower()}/workletProcessor.js");
        return new found.{name}WorkletNode(context, {{ wasmBinary, maxChannels: 1 }});
      }});
    """


SETUPS = {
    "qse-web, live-tiny": qse_web("live-tiny"),
    "qse-web, live-base": qse_web("live-base"),
    "@sapphi-red/web-noise-suppressor, RNNoise": sapphi_red(
        "Rnnoise", f'{{ url: "{SAPPHI}/rnnoise.wasm", simdUrl: "{SAPPHI}/rnnoise_simd.wasm" }}'
    ),
    "@sapphi-red/web-noise-suppressor, GTCRN": sapphi_red(
        "Gtcrn", f'{{ url: "{SAPPHI}/gtcrn.wasm" }}'
    ),
    "@shiguredo/noise-suppression": f"""
      let waiting, written, left;
      globalThis.MediaStreamTrackProcessor = class {{
        readable = new ReadableStream({{ pull: (controller) => {{
          const data = waiting.shift();
          if (data) controller.enqueue(data);
          else controller.close();
        }} }});
      }};
      globalThis.MediaStreamTrackGenerator = class {{
        readyState = "live";
        writable = new WritableStream({{
          write: (data) => {{
            const samples = new Float32Array(data.numberOfFrames);
            data.copyTo(samples, {{ planeIndex: 0 }});
            written.push(samples);
          }},
          close: () => left(),
        }});
      }};
      const {{ NoiseSuppressionProcessor }} = await import("{SHIGUREDO}");
      globalThis.run = async (samples) => {{
        [waiting, written] = [[], []];
        for (let start = 0; start + 480 <= samples.length; start += 480) {{
          const data = samples.slice(start, start + 480);
          waiting.push(new AudioData({{ format: "f32-planar", sampleRate: 48000,
            numberOfFrames: 480, numberOfChannels: 1, timestamp: (1e6 * start) / 48000, data }}));
        }}
        const finished = new Promise((resolve) => (left = resolve));
        const track = {{ kind: "audio" }};
        await new NoiseSuppressionProcessor("").startProcessing(track);
        await finished;
        const output = new Float32Array(samples.length);
        written.forEach((part, i) => output.set(part, 480 * i));
        return output;
      }};
    """,
    "@jitsi/rnnoise-wasm": f"""
      const {{ default: create }} = await import("{JITSI}");
      const locateFile = (file) => new URL(file, new URL("{JITSI}", location)).href;
      const module = await create({{ locateFile }});
      const place = module._malloc(4 * 480);
      globalThis.run = (samples) => {{
        const state = module._rnnoise_create();
        return framed(480, (frame) => {{
          const heap = module.HEAPF32.subarray(place / 4, place / 4 + 480);
          heap.set(frame.map((sample) => 32768 * sample));
          module._rnnoise_process_frame(state, place, place);
          return heap.map((sample) => sample / 32768);
        }})(samples);
      }};
    """,
}


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve a folder and note what was asked for."""

    asked: set[str] = set()

    def do_GET(self) -> None:
        self.asked.add(self.translate_path(self.path))
        super().do_GET()

    def log_message(self, *arguments: object) -> None:
        pass


def processor_time(browser: Browser) -> float:
    """Return the seconds of CPU time of all processes of pages."""
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return sum(one["cpuTime"] for one in found if one["type"] == "renderer")


def process(browser: Browser, page: Page, samples: np.ndarray) -> tuple[np.ndarray, float]:
    """Return what the package of the page makes of a recording at 48 kHz, and the CPU seconds."""
    page.evaluate(
        f"""async (text) => {{ {PAGE_FUNCTIONS}
          globalThis.noisy = new Float32Array(await fromBase64(text).arrayBuffer()); }}""",
        to_base64(samples.astype(np.float32).tobytes()),
    )
    before = processor_time(browser)
    page.evaluate("async () => { globalThis.cleaned = await run(noisy); }")
    seconds = processor_time(browser) - before
    back = f"async () => {{ {PAGE_FUNCTIONS} return toBase64(new Blob([cleaned])); }}"
    return np.frombuffer(base64.b64decode(page.evaluate(back)), np.float32), seconds


def lag_of(output: np.ndarray, noisy: np.ndarray) -> int:
    """Return by how many samples `output` is behind `noisy`, 0 to 100 ms."""
    length = len(noisy) + RATE
    spectrum = np.fft.rfft(output, length) * np.conj(np.fft.rfft(noisy, length))
    return int(np.argmax(np.fft.irfft(spectrum)[: RATE // 10]))


def size_of(path: str) -> int:
    """Return the bytes of a file on the wire."""
    content = Path(path).read_bytes()
    return len(content) if path.endswith(".gz") else len(gzip.compress(content))


def measure(browser: Browser, address: str, setup: str, pairs: list) -> str:
    """Return the cells of the row of one package."""
    Handler.asked.clear()
    page = browser.new_page()
    page.goto(address)
    page.evaluate(f"async () => {{ {PREPARE} {setup} }}")
    process(browser, page, np.zeros(RATE))  # loads and compiles
    loaded = [path for path in Handler.asked if Path(path).is_file() and not path.endswith(".html")]
    size = sum(map(size_of, loaded))

    scores = []
    lags = []
    loads = []
    for clean, noisy in pairs:
        wide = soxr.resample(noisy, 16000, RATE)
        output, seconds = process(browser, page, wide)
        loads.append(1000 * seconds * RATE / len(wide))
        lag = lag_of(output, wide)
        aligned = soxr.resample(output[lag:], RATE, 16000)
        if not output.any():
            raise SystemExit(f"silence came from: {setup}")
        scores.append(pesq(16000, clean[: len(aligned)], aligned, "wb"))
        lags.append(1000 * lag / RATE)
    page.close()
    load = statistics.median(loads)
    lag = statistics.median(lags)
    return f"{np.mean(scores):.2f} | {load:.0f} ms | {lag:.0f} ms | {size / 1e6:.2f} MB"


def make_project(folder: Path) -> None:
    """Install qse-web and the other packages in `folder`/project."""
    install(folder)
    npm = shutil.which("npm")
    line = [npm, "install", "--no-audit", "--no-fund", "--no-save", *PEERS]
    subprocess.run(line, cwd=folder / "project", check=True, capture_output=True)
    (folder / "project/index.html").write_text("<!doctype html><title>empty</title>")


def read_pairs(clean: Path, noisy: Path, count: int) -> list:
    """Return `count` pairs of recordings at 16 kHz, evenly spread over the folder."""
    paths = sorted(noisy.iterdir())
    chosen = [paths[i * len(paths) // count] for i in range(count)]
    return [(soundfile.read(clean / path.name)[0], soundfile.read(path)[0]) for path in chosen]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clean", type=Path)
    parser.add_argument("noisy", type=Path)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--only", default="", help="packages whose names contain this")
    arguments = parser.parse_args()
    pairs = read_pairs(arguments.clean, arguments.noisy, arguments.pairs)
    noisy = np.mean([pesq(16000, clean, noisy, "wb") for clean, noisy in pairs])
    print(f"| package | WB-PESQ (noisy {noisy:.2f}) | CPU per second | lag | bytes |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        make_project(Path(folder))
        handler = partial(Handler, directory=str(Path(folder) / "project"))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/index.html"
        browser = running.chromium.launch(executable_path=chromium_program(), args=list(FLAGS))
        for name, setup in SETUPS.items():
            if arguments.only not in name:
                continue
            print(f"| {name} | {measure(browser, address, setup, pairs)} |", flush=True)
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
