"""`qse web`: what is served and exported, with which headers, without PyTorch."""

import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from queue import Queue
from threading import Thread

import graphs
import pytest
from qse_cli.web import web

import qse
from qse.audio import atomic_write
from qse.errors import QseError
from qse.runtime.zoo import find
from qse.web.server import make_server
from qse.web.site import HEADERS, build_site, write_site

WEB = Path(qse.__file__).parent / "web"


@pytest.fixture(scope="module")
def site():
    return build_site()


def fetch(address: str, path: str, method: str = "GET"):
    return urllib.request.urlopen(urllib.request.Request(address + path, method=method), timeout=10)


@pytest.mark.parametrize(
    "path, kind",
    [
        ("", "text/html; charset=utf-8"),
        ("index.html?x=1", "text/html; charset=utf-8"),
        ("main.js", "text/javascript; charset=utf-8"),
        ("vendor/ort.wasm.min.js", "text/javascript; charset=utf-8"),
        ("vendor/ort-wasm-simd-threaded.wasm.gz", "application/gzip"),
        ("manifest.json", "application/json"),
        ("style.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ],
)
def test_server_sends_types_and_headers(address, path, kind):
    with fetch(address, path) as answer:
        content = answer.read()
        assert answer.headers["Content-Type"] == kind and answer.headers["Content-Encoding"] is None
        assert int(answer.headers["Content-Length"]) == len(content) > 0
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    with fetch(address, path, "HEAD") as answer:
        assert answer.read() == b"" and int(answer.headers["Content-Length"]) == len(content)


def test_server_headers_allow_shared_memory_and_no_other_origin():
    assert HEADERS["Cross-Origin-Opener-Policy"] == "same-origin"
    assert HEADERS["Cross-Origin-Embedder-Policy"] == "require-corp"
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "http" not in policy and "*" not in policy
    page = (WEB / "index.html").read_text(encoding="utf-8")
    # which a page cannot say of itself
    without_header_only = policy.replace("; frame-ancestors 'none'", "")
    assert without_header_only in page


@pytest.mark.parametrize(
    "path", ["nothing.js", "../pyproject.toml", "%2e%2e/cli/web.py", "models/", "/etc/passwd"]
)
def test_server_serves_nothing_else(address, path):
    with pytest.raises(urllib.error.HTTPError, match="404"):
        fetch(address, path)


def test_server_port_in_use_is_one_sentence(site):
    with make_server(site, 0) as server, pytest.raises(QseError, match="another port"):
        make_server(site, server.server_port)


def test_server_prints_nothing_of_a_connection_that_ends_early(site, capfd):
    """As at a reload of the page: the browser resets it while a file is sent."""
    with make_server(site, 0) as server:
        with socket.create_connection(server.server_address) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(b"GET /vendor/ort-wasm-simd-threaded.wasm.gz HTTP/1.1\r\n\r\n")
        server.handle_request()
    assert capfd.readouterr().err == ""


def test_command_serves_while_the_browser_opens(monkeypatch):
    """Some browsers return only when they end: the page must be there before."""
    found = Queue()

    def visit(address):
        found.put(urllib.request.urlopen(address, timeout=30).status)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("webbrowser.open", visit)
    web(port=0, browser=True, export=None)
    assert found.get(timeout=30) == 200


def test_site_lists_streaming_models_with_checksums(models):
    """The installed models, those of QSE_MODELS first; smallest first."""
    site = build_site()
    entries = {entry["name"]: entry for entry in json.loads(site["manifest.json"])["models"]}
    assert {"live-base", "recurrent", "live-tiny"} <= entries.keys()
    graphs = {name: gzip.decompress(site[entry["wide"]["url"]]) for name, entry in entries.items()}
    assert list(graphs) == sorted(graphs, key=lambda name: len(graphs[name]))
    for name, entry in entries.items():
        assert entry["wide"]["sha256"] == hashlib.sha256(graphs[name]).hexdigest()
    assert graphs["live-base"] == (models / "live-base" / "model.onnx").read_bytes()


def test_site_holds_both_graphs_of_a_model(zoo, monkeypatch):
    """The full-band graph where there is one."""
    monkeypatch.setenv("QSE_MODELS", str(zoo))
    site = build_site()
    entries = {entry["name"]: entry for entry in json.loads(site["manifest.json"])["models"]}
    assert entries["recurrent"]["full"] is None
    full = entries["live-tiny"]["full"]
    graph = find("live-tiny", 48000).read_bytes()
    assert (
        find("live-tiny", 48000) != find("live-tiny")
        and gzip.decompress(site[full["url"]]) == graph
    )
    assert full["sha256"] == hashlib.sha256(graph).hexdigest()


def test_first_visit_loads_at_most_5_megabytes(site):
    """Compressed: the page, the runtime, and live-base for either bandwidth or both."""
    manifest = json.loads(site["manifest.json"])
    base = next(entry for entry in manifest["models"] if entry["name"] == "live-base")
    models = (base["wide"]["url"], base["full"]["url"])
    names = [name for name in site if name in models or not name.startswith("models/")]
    # with the first compressed file; of exported pages only
    later = (
        "vendor/mediabunny.min.js",
        "sw.js",
    )
    assert sum(len(gzip.compress(site[name])) for name in names if name not in later) < 5e6


def test_export_writes_the_site(site, tmp_path):
    write_site(build_site(offline=True), tmp_path / "page")
    write_site(build_site(offline=True), tmp_path / "page")  # again, in place of the first
    written = {
        path.relative_to(tmp_path / "page").as_posix() for path in (tmp_path / "page").rglob("*")
    }
    assert site.keys() <= written
    worker = (tmp_path / "page" / "sw.js").read_text(encoding="utf-8")
    assert "@" not in worker and ".mjs" not in "".join(written)
    for name in site.keys() - {"sw.js"}:
        assert f'"{name}"' in worker
    assert "Cross-Origin-Opener-Policy: same-origin" in (tmp_path / "page" / "_headers").read_text(
        encoding="utf-8"
    )


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_export_writes_through_no_link(site, tmp_path):
    """As in a folder that came in an archive and says that it is an export."""
    (project := tmp_path / "project").mkdir()
    folder = tmp_path / "out"
    write_site(site, folder)
    shutil.rmtree(folder / "files")
    (folder / "files").symlink_to(project)
    with pytest.raises(QseError, match="files is a link"):
        write_site(site, folder)
    assert not list(project.iterdir())


def test_export_keeps_a_file_that_comes_meanwhile(tmp_path, monkeypatch):
    folder = tmp_path / "out"

    def comes(step):
        if step == "written" and (folder / "a.html").exists():
            (folder / "index.html").write_text("mine", encoding="utf-8")

    monkeypatch.setattr(atomic_write, "step", comes)
    with pytest.raises(QseError, match=r"index\.html has come meanwhile: name an empty"):
        write_site({"a.html": b"a", "index.html": b"page"}, folder)
    assert (folder / "index.html").read_text(encoding="utf-8") == "mine"


def test_export_keeps_the_service_worker_of_another_site(tmp_path):
    (tmp_path / "sw.js").write_text("mine", encoding="utf-8")
    (tmp_path / "manifest.json").write_text('{"name": "mine"}', encoding="utf-8")
    with pytest.raises(QseError, match="other files"):
        write_site(build_site(offline=True), tmp_path)
    assert (tmp_path / "sw.js").read_text(encoding="utf-8") == "mine"


def test_site_holds_models_of_any_name(models, monkeypatch, tmp_path):
    """Spaces, signs of addresses, and the name that another model's second graph might have."""
    for name in ("my model #1", "live-base-48k"):
        shutil.copytree(models / "live-base", tmp_path / name)
    monkeypatch.setenv("QSE_MODELS", str(tmp_path))
    with make_server(build_site(), 0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        entries = json.loads(fetch(address, "manifest.json").read())["models"]
        assert {"my model #1", "live-base-48k"} <= {entry["name"] for entry in entries}
        for entry in entries:
            for graph in filter(None, (entry["wide"], entry["full"])):
                content = gzip.decompress(fetch(address, graph["url"]).read())
                assert hashlib.sha256(content).hexdigest() == graph["sha256"]
        server.shutdown()


@pytest.mark.parametrize("name", ["model.onnx", "model-48k.onnx", "talker.onnx"])
def test_site_holds_no_other_file_than_graphs_of_the_model(monkeypatch, tmp_path, name):
    """A folder from an archive may have links; who exports a page publishes what is in it."""
    folder = tmp_path / "models/live-talker"
    graphs.talker(folder)
    monkeypatch.setenv("QSE_MODELS", str(tmp_path / "models"))
    assert "talker" in json.loads(build_site()["manifest.json"])["models"][0]
    (private := tmp_path / "private.txt").write_text("private", encoding="utf-8")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(private)
    with pytest.raises(QseError, match=f"{name}.*not ONNX"):
        build_site()
    private.write_bytes(find("live-tiny").read_bytes())
    if name == "talker.onnx":
        with pytest.raises(QseError, match="is no graph of talkers of this model"):
            build_site()
        graphs.talkers(private)
    with pytest.raises(QseError, match=f"{name} is not put on the page .*: put a copy there"):
        build_site()
    (folder / name).unlink()
    (folder / name).hardlink_to(private)
    with pytest.raises(
        QseError, match=f"{name} is not put on the page .it is another file as well"
    ):
        build_site()


def test_site_holds_no_model_whose_folder_is_a_link(monkeypatch, tmp_path):
    graphs.talker(tmp_path / "private")
    (tmp_path / "models").mkdir()
    (tmp_path / "models/live-talker").symlink_to(tmp_path / "private")
    monkeypatch.setenv("QSE_MODELS", str(tmp_path / "models"))
    with pytest.raises(QseError, match=r"not put on the page .its folder is a link"):
        build_site()


def test_export_keeps_other_folders(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(QseError, match="other files"):
        write_site({"index.html": b""}, tmp_path)
    with pytest.raises(QseError, match="is a file"):
        write_site({"index.html": b""}, tmp_path / "thesis.txt")


@pytest.mark.parametrize("kind", ["deep", "long", "pipe"])
def test_export_keeps_folders_whose_manifest_is_none(tmp_path, kind):
    """A deep one ended with a traceback, a pipe was waited for."""
    path = tmp_path / "manifest.json"
    if kind == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("the system has no pipes in folders")
        os.mkfifo(path)
    else:
        path.write_text("[" * (200_000 if kind == "deep" else 2 << 20))
    with pytest.raises(QseError, match="other files"):
        write_site({"index.html": b""}, tmp_path)


def test_export_command_needs_no_extras(tmp_path):
    code = """
import sys
sys.modules.update(dict.fromkeys(("torch", "onnx", "safetensors", "matplotlib", "sounddevice")))
from qse_cli.main import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "web", "--export", str(tmp_path / "page")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "files" in done.stdout and (tmp_path / "page" / "index.html").is_file()


def test_vendored_runtime_has_its_checksums():
    vendor = WEB / "vendor"
    for line in (vendor / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        wanted, name = line.split()
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == wanted
    script = (WEB / "model" / "runtime.js").read_text(encoding="utf-8")
    wasm = gzip.decompress((vendor / "ort-wasm-simd-threaded.wasm.gz").read_bytes())
    assert hashlib.sha256(wasm).hexdigest() in script
    version = re.search(r'VERSION = "(.+)"', script)[1]
    assert (
        f"ONNX Runtime Web v{version}"
        in (vendor / "ort.wasm.min.js").read_text(encoding="utf-8")[:100]
    )
    assert {
        line.split()[1] for line in (vendor / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    } == {
        path.name
        for path in vendor.iterdir()
        if path.name not in ("README.md", "SHA256SUMS", "LICENSE.mediabunny")
    }
    assert "Mozilla Public License" in (vendor / "LICENSE.mediabunny").read_text(encoding="utf-8")
    assert "MIT License" in (vendor / "LICENSE.onnxruntime").read_text(encoding="utf-8")


def test_page_names_no_other_origin():
    """No script, style, font or image of another host."""
    for path in WEB.rglob("*"):
        if path.suffix in (".html", ".css", ".js") and "vendor" not in path.parts:
            found = re.findall(r"https?://[^\s\"'`)]+", path.read_text(encoding="utf-8"))
            assert all("www.w3.org" in url for url in found), (path, found)  # namespaces of SVG
