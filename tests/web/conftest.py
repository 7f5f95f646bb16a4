"""Shared by the tests of qse web: a server, a headless Chromium with a microphone that plays a
file, calls of its page.

Playwright and Chromium are needed; where one is missing, the tests that use them are skipped.
"""

import base64
import shutil
from contextlib import contextmanager

import pytest
import soundfile
from browser import PAGE_FUNCTIONS, from_wav, noisy_voice, open_page, serve, to_base64
from npm_package import install, site_of
from speech import SAMPLE_RATE

from qse.web.site import build_site

FLAGS = (
    "--no-sandbox",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
    "--autoplay-policy=no-user-gesture-required",
)
ENHANCE = f"""async ({{ wav, name, strength, format, band }}) => {{
  {PAGE_FUNCTIONS}
  const {{ RemoteWorker }} = await import("/rpc.js");
  const worker = (globalThis.worker ??= new RemoteWorker("/files/worker.js"));
  const noisy = fromBase64(wav);
  const asked = {{ blob: noisy, model: await modelOf(name), band }};
  const {{ blob: enhanced }} = await worker.call("enhanceFile", asked);
  const result = await worker.call("encodeFile", {{ noisy, enhanced, strength, format }});
  return toBase64(result);
}}"""


def chromium_program() -> str | None:
    """Return the path of the installed Chromium; None without one."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def address():
    """Serve the page with the released models and yield its address."""
    server = serve(build_site())
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A headless Chromium whose microphone plays `noisy_voice` over and over."""
    playwright = pytest.importorskip("playwright.sync_api")
    program = chromium_program()
    if program is None:
        pytest.skip("needs Chromium")
    microphone = tmp_path_factory.mktemp("microphone") / "voice.wav"
    soundfile.write(microphone, noisy_voice(), SAMPLE_RATE, subtype="PCM_16")
    with playwright.sync_playwright() as running:
        capture = f"--use-file-for-fake-audio-capture={microphone}"
        browser = running.chromium.launch(executable_path=program, args=[*FLAGS, capture])
        yield browser
        browser.close()


@contextmanager
def checked_page(chromium, address):
    """Yield the page, opened and ready; fail at the end on script errors and on requests to another
    origin."""
    page = open_page(chromium, address)
    yield page
    page.close()
    assert page.errors == []
    assert [
        url for url in page.requests if not url.startswith((address, f"blob:{address}", "data:"))
    ] == []


@pytest.fixture
def page(chromium, address):
    """A page of its own for each test."""
    with checked_page(chromium, address) as page:
        yield page


@pytest.fixture(scope="module")
def shared_page(chromium, address):
    """A page whose worker keeps its models from test to test."""
    with checked_page(chromium, address) as page:
        yield page


@pytest.fixture
def enhance_in_page(shared_page):
    """Return a function that enhances a file in the page's worker."""

    def call(
        wav: bytes,
        name: str,
        strength: float | None = None,
        form: str = "float32",
        band: str | None = None,
    ):
        """Return (samples, sample rate)."""
        values = {
            "wav": to_base64(wav),
            "name": name,
            "strength": strength,
            "format": form,
            "band": band,
        }
        return from_wav(base64.b64decode(shared_page.evaluate(ENHANCE, values)))

    return call


@pytest.fixture(scope="session")
def npm_package(tmp_path_factory):
    """The folder of the npm package, packed and installed in an empty project."""
    if shutil.which("npm") is None:
        pytest.skip("needs npm")
    return install(tmp_path_factory.mktemp("npm"))


@pytest.fixture(scope="session")
def npm_address(npm_package):
    """Serve the installed package with the headers of the page; yield its address."""
    server = serve(site_of(npm_package))
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def npm_page(chromium, npm_address):
    """An empty page beside the package; script errors and other origins fail the test."""
    page = chromium.new_page()
    errors = []
    requests = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(npm_address)
    yield page
    page.close()
    assert errors == []
    assert [url for url in requests if not url.startswith((npm_address, "data:"))] == []
