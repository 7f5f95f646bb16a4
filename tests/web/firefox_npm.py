"""The example of the npm package in an ordinary Firefox, with its test tone as microphone.

    PYTHONPATH=tests python tests/web/firefox_npm.py

Needs npm, Firefox and PulseAudio. Packs and installs the package, opens its example page and prints
what the page says, the levels of the microphone before and after, and by how much a recording
differs from Python's.
"""

import argparse
import base64
import tempfile
from pathlib import Path

import numpy as np
from browser import PAGE_FUNCTIONS, noisy_voice, serve, to_base64
from firefox_live import Marionette, firefox
from npm_package import install, site_of
from pulse import Server, serving
from speech import SAMPLE_RATE

import qse

LEVELS = """
const done = arguments[arguments.length - 1];
const levelOf = (context, track) => {
  const analyser = new AnalyserNode(context, { fftSize: 32768 });
  const mediaStream = new MediaStream([track]);
  new MediaStreamAudioSourceNode(context, { mediaStream }).connect(analyser);
  return () => {
    const samples = new Float32Array(32768);
    analyser.getFloatTimeDomainData(samples);
    const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
    return 10 * Math.log10(power);
  };
};
(async () => {
  const { denoiseTrack } = await import("/dist/npm/index.js");
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { noiseSuppression: false } });
  const [track] = stream.getAudioTracks();
  const denoised = await denoiseTrack(track, { strength: 6 });
  const context = new AudioContext();
  const levels = [track, denoised.track].map((each) => levelOf(context, each));
  await new Promise((resolve) => setTimeout(resolve, 4000));
  return [levels[0](), levels[1](), denoised.dropouts];
})().then(done, (error) => done(String(error)));
"""
STATUS = "return document.getElementById('status').textContent;"
DENOISE = f"""
const [recording, rate, done] = arguments;
{PAGE_FUNCTIONS}
(async () => {{
  const {{ denoise }} = await import("/dist/npm/index.js");
  const noisy = new Float32Array(await fromBase64(recording).arrayBuffer());
  return toBase64(new Blob([await denoise(noisy, rate, {{ model: "live-base" }})]));
}})().then(done, (error) => done("! " + error));
"""


def clean_track(page: Marionette) -> None:
    """Start and stop the example; print the levels of the microphone before and after."""
    page.click("start")
    page.wait("document.getElementById('status').textContent.startsWith('Cleaned')", 60)
    print(page.run(STATUS))
    page.click("stop")
    print(page.run(STATUS))
    found = page.call("WebDriver:ExecuteAsyncScript", script=LEVELS, args=[])
    if isinstance(found, str):
        raise RuntimeError(found)
    before, after, dropouts = found
    print(f"test tone: {before:.1f} dBFS, at a strength of 6 dB {after:.1f}; {dropouts} dropouts")


def clean_recording(page: Marionette) -> None:
    """Print by how much a recording that Firefox cleaned differs from Python's."""
    noisy = noisy_voice()
    values = [to_base64(noisy.tobytes()), SAMPLE_RATE]
    result = page.call("WebDriver:ExecuteAsyncScript", script=DENOISE, args=values)
    if result.startswith("!"):
        raise RuntimeError(result)
    found = np.frombuffer(base64.b64decode(result), np.float32)
    wanted = qse.denoise(noisy, SAMPLE_RATE, "live-base")
    print(f"recording: differs from Python by {np.abs(found - wanted).max():.1e} at most")


def main() -> None:
    """Install the package and look at it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as profile,
        tempfile.TemporaryDirectory() as folder,
        serving(Server) as server,
        firefox(server.environment, Path(profile)) as page,
    ):
        site = serve(site_of(install(Path(folder))))
        page.call("WebDriver:SetTimeouts", script=120_000)
        page.call("WebDriver:Navigate", url=f"http://127.0.0.1:{site.server_port}/example.html")
        clean_track(page)
        clean_recording(page)
        site.shutdown()


if __name__ == "__main__":
    main()
