"""The exported page on a plain static host: usable without a network, and refused where its files
do not agree."""

import functools
import gzip
import http.server
import threading

import pytest
import soundfile
from browser import noisy_voice, open_page, wait
from speech import SAMPLE_RATE

from qse.web.site import build_site, write_site

STATE = "document.querySelector('.file-state')?.textContent ?? ''"


class PlainHandler(http.server.SimpleHTTPRequestHandler):
    """A static host that sends none of our headers."""

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "voice.wav"
    soundfile.write(path, noisy_voice(), SAMPLE_RATE)
    return path


@pytest.fixture
def static_host(tmp_path):
    """A function that ends the host, and the address of the exported page below a path of it."""
    write_site(build_site(offline=True), tmp_path / "pages" / "qse")
    handler = functools.partial(PlainHandler, directory=str(tmp_path / "pages"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def end():
        server.shutdown()
        server.server_close()

    yield end, f"http://127.0.0.1:{server.server_port}/qse/"
    end()


def test_export_works_without_the_network(chromium, static_host, recording):
    end, address = static_host
    context = chromium.new_context()
    page = open_page(context, address)
    # the host sends no headers: messages, and all works
    assert not page.evaluate("crossOriginIsolated")
    page.select_option("#model", "live-tiny")
    page.set_input_files("#file-input", recording)
    wait(page, f"{STATE}.includes('cleaned with live-tiny')")
    wait(page, "navigator.serviceWorker.ready.then((registration) => Boolean(registration.active))")
    end()
    context.set_offline(True)
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.evaluate("crossOriginIsolated")  # the service worker adds the headers
    for model in ("live-tiny", "live-large"):
        page.select_option("#model", model)
        page.set_input_files("#file-input", recording)
        wait(page, f"{STATE}.includes('cleaned with {model}')")
    page.click("#tab-live")
    page.click("#live-start")
    wait(page, "/Cleaning|too slow/.test(document.getElementById('live-status').textContent)")
    context.close()


def test_two_exports_on_one_host_keep_their_copies(chromium, static_host, tmp_path):
    """Other files below the folder of an export are left to the host, also its redirects."""
    end, address = static_host
    other = build_site(offline=True)
    other["more.js"] = b"export const more = 1;"
    write_site(other, tmp_path / "pages" / "other")
    blog = tmp_path / "pages" / "qse" / "blog"
    blog.mkdir()
    (blog / "index.html").write_text("<h1>my blog</h1>", encoding="utf-8")
    context = chromium.new_context()
    page = open_page(context, address)
    active = "navigator.serviceWorker.ready.then((registration) => Boolean(registration.active))"
    wait(page, active)
    second = open_page(context, address.replace("/qse/", "/other/"))
    wait(second, active)
    page.goto(f"{address}blog")
    assert page.locator("h1").inner_text() == "my blog"
    end()
    context.set_offline(True)
    for place in (address, address.replace("/qse/", "/other/")):
        page.goto(place)
        page.wait_for_selector("html[data-ready]", state="attached")
    context.close()


def another_runtime(page):
    """A WebAssembly file of another version, as a cache between two releases may hold."""
    content = gzip.decompress(build_site()["vendor/ort-wasm-simd-threaded.wasm.gz"])
    page.route("**/*.wasm.gz", lambda route: route.fulfill(body=gzip.compress(content + b"\0", 1)))


def decompressed_runtime(page):
    """A host that decompresses .gz files on the way: nothing is wrong then."""
    content = gzip.decompress(build_site()["vendor/ort-wasm-simd-threaded.wasm.gz"])
    page.route("**/*.wasm.gz", lambda route: route.fulfill(body=content))


def another_model(page):
    page.route("**/models/*.onnx.gz", lambda route: route.fulfill(body=b"\0" * 1000))


def missing_model(page):
    page.route("**/models/*.onnx.gz", lambda route: route.fulfill(status=404))


def ended_server(page):
    page.route("**/models/*.onnx.gz", lambda route: route.abort())


@pytest.mark.parametrize(
    "change, words",
    [
        (another_runtime, "ONNX Runtime is damaged or of another version"),
        (another_model, "live-tiny is damaged or of another version"),
        (missing_model, "is missing (404)"),
        (ended_server, "is its server still running?"),
        (decompressed_runtime, "cleaned with live-tiny"),
    ],
)
def test_page_says_which_part_is_wrong(page, recording, change, words):
    change(page)
    page.select_option("#model", "live-tiny")
    page.set_input_files("#file-input", recording)
    wait(page, f"{STATE}.includes('{words}')")
    if "cleaned" in words:
        return
    page.click("#tab-live")
    page.click("#live-start")
    wait(page, f"document.getElementById('live-status').textContent.includes('{words}')")
    assert page.locator("#live-start").inner_text() == "Start microphone"
