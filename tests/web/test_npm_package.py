"""The npm package, packed and installed: what it holds, recordings, and the example page."""

import base64
import gzip
import hashlib
import json
import re

import numpy as np
import pytest
from browser import PAGE_FUNCTIONS, full_band_voice, noisy_voice, to_base64, wait
from npm_package import PACKAGE

import qse
from qse.runtime.zoo import find
from qse.web.site import build_site

DENOISE = f"""async ({{ samples, rate, kind, options }}) => {{
  {PAGE_FUNCTIONS}
  const {{ denoise }} = await import("/dist/npm/index.js");
  const noisy = new Float32Array(await fromBase64(samples).arrayBuffer());
  if (kind === "array") return toBase64(new Blob([await denoise(noisy, rate, options)]));
  const buffer = new AudioBuffer({{ length: noisy.length, numberOfChannels: 2, sampleRate: rate }});
  buffer.copyToChannel(noisy, 1);
  const cleaned = await denoise(buffer, undefined, options);
  const silent = cleaned.getChannelData(0).every((sample) => Math.abs(sample) < 1e-6);
  return silent ? toBase64(new Blob([cleaned.getChannelData(1)])) : null;
}}"""


def denoised(page, audio, rate: int, kind: str = "array", **options):
    values = {"samples": to_base64(audio.tobytes()), "rate": rate, "kind": kind, "options": options}
    return np.frombuffer(base64.b64decode(page.evaluate(DENOISE, values)), np.float32)


@pytest.mark.parametrize(
    "model, rate, kind, strength",
    [
        ("live-base", 16000, "array", None),
        ("live-tiny", 48000, "buffer", None),
        ("live-tiny", 16000, "array", 6),
        ("studio-base", 16000, "array", None),
    ],
)
def test_recording_equals_python(npm_page, model, rate, kind, strength):
    noisy = noisy_voice() if rate == 16000 else full_band_voice()
    found = denoised(npm_page, noisy, rate, kind, model=model, strength=strength)
    wanted = qse.denoise(noisy, rate, model, strength=strength)
    np.testing.assert_allclose(found, wanted, atol=1e-4, rtol=0)


def test_recording_at_another_rate_has_its_length(npm_page):
    noisy = noisy_voice()
    found = denoised(npm_page, noisy, 22050, model="live-tiny")
    wanted = qse.denoise(noisy, 22050, "live-tiny")
    assert len(found) == len(noisy)
    assert np.sum(wanted**2) > 1e4 * np.sum((found - wanted) ** 2)


def test_package_holds_the_models_of_this_checkout(npm_package):
    dist = npm_package / "dist"
    for model in json.loads((dist / "models.json").read_text(encoding="utf-8"))["models"]:
        for band, rate in (("wide", 16000), ("full", 48000)):
            graph = find(model["name"], rate).read_bytes()
            entry = model[band]
            assert gzip.decompress((dist / entry["url"]).read_bytes()) == graph
            assert entry["sha256"] == hashlib.sha256(graph).hexdigest()


def test_package_has_the_version_and_the_licences_of_qse(npm_package):
    described = json.loads((npm_package / "package.json").read_text(encoding="utf-8"))
    assert described["version"] == qse.__version__
    assert described["license"] == "Apache-2.0 AND MIT"
    notice = (npm_package / "NOTICE.md").read_text(encoding="utf-8")
    for path in re.findall(r"`(dist[^`]*LICENSE[^`]*)`", notice):
        assert (npm_package / path).stat().st_size > 500
    runtime = (npm_package / "dist/model/runtime.js").read_text(encoding="utf-8")
    version = re.search(r'VERSION = "(.+)"', runtime)[1]
    assert f"ONNX Runtime Web {version}" in notice
    assert (npm_package / "dist/vendor/LICENSE.onnxruntime").is_file()


def test_package_has_no_code_that_the_page_has_too(npm_package):
    """Files beside dist/npm are those of the page, byte by byte; the page has none of dist/npm."""
    site = build_site()
    own = ("LICENSE", "models.json")
    for path in (npm_package / "dist").rglob("*"):
        name = path.relative_to(npm_package / "dist").as_posix()
        if path.is_dir() or name in own or name.startswith("models/"):
            continue
        assert name.startswith("npm/") or path.read_bytes() == site[name], name
    assert not [name for name in site if name.startswith("npm")]


def test_types_name_what_is_exported():
    types = (PACKAGE / "index.d.ts").read_text(encoding="utf-8")
    code = (PACKAGE / "index.js").read_text(encoding="utf-8")
    exported = set(re.findall(r"export \{ (\w+) \}", code))
    assert exported == set(re.findall(r"export (?:function|class) (\w+)", types))


def test_example_cleans_the_microphone(npm_page, npm_address):
    npm_page.goto(f"{npm_address}example.html")
    npm_page.click("#start")
    wait(npm_page, "document.getElementById('status').textContent === 'Cleaned by live-base.'")
    wait(npm_page, "document.getElementById('player').currentTime > 0.5")
    npm_page.click("#stop")
    wait(npm_page, "!document.getElementById('player').srcObject.active")


@pytest.mark.parametrize(
    "call, cure",
    [
        ("denoise([0.1], 16000)", "pass a Float32Array"),
        ("denoise(new Float32Array(9), 0)", "give it in Hz"),
        ("denoise(new Float32Array(9), 16000, { strength: -1 })", "from 0 up, or null"),
        ("denoise(new Float32Array(9), 16000, { model: 'best' })", "live-tiny, live-base"),
        ("denoise(new Float32Array(9), 16000, { assets: '/nowhere/' })", "the option assets"),
    ],
)
def test_bad_recordings_are_answered_with_the_cure(npm_page, call, cure):
    said = npm_page.evaluate(f"""async () => {{
      const {{ denoise }} = await import("/dist/npm/index.js");
      return {call}.then(() => "", (error) => error.message);
    }}""")
    assert said.startswith("qse-web: ") and cure in said
