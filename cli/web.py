"""qse web: the browser application, served on this machine or written to a folder for a static host."""

import gzip
import hashlib
import json
import webbrowser
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any

import typer

import qse
from qse.errors import QseError

HOST = "127.0.0.1"
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",  # with the next, pages may share memory with their workers
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(self)",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".gz": "application/gzip",  # without Content-Encoding: the page decompresses it
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
BANDS = ("wide", "full")
BUILD, FILES = b"@BUILD@", b'"@FILES@"'  # placeholders in sw.js

Site = dict[str, bytes]  # path below the root -> content


def web(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any that is free.")
    ] = 8021,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    export: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the page to a folder for a static host, and exit."),
    ] = None,
) -> None:
    """Clean recordings and a microphone in the browser; sound never leaves this machine."""
    if export:
        site = build_site(offline=True)
        write_site(site, export)
        size = sum(map(len, site.values())) / 1e6
        typer.echo(
            f"wrote {len(site)} files ({size:.1f} MB) to {export}: copy the folder to any web server with HTTPS"
        )
        return
    with make_server(build_site(), port) as server:
        address = f"http://{HOST}:{server.server_port}/"
        typer.echo(f"{address} (Ctrl-C ends the server)")
        if browser:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo()


def build_site(offline: bool = False) -> Site:
    """Return all files of the page: the static ones, the installed streaming models, and `manifest.json`.

    `offline`: the browser stores the page for use without a network. Raises QseError for a damaged model or
    an installation without the page.
    """
    root = Path(qse.__file__).parent / "web"
    files = sorted(path for path in root.rglob("*") if path.is_file())
    site = {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
    if not {"index.html", "sw.js"} <= site.keys():
        raise QseError(f"{root} does not hold the page: install qse-speech again")
    models = _models()
    graphs = {
        _url(name, band): graph for name, bands in models.items() for band, graph in bands.items()
    }
    site |= {url: gzip.compress(graph, mtime=0) for url, graph in graphs.items()}
    entries = [
        {"name": name, **{band: _entry(name, band, bands) for band in BANDS}}
        for name, bands in models.items()
    ]
    manifest = {"version": qse.__version__, "offline": offline, "models": entries}
    site["manifest.json"] = json.dumps(manifest, indent=1).encode()
    build = _sha256(json.dumps({name: _sha256(content) for name, content in site.items()}).encode())
    cached = json.dumps(sorted(name for name in site if name != "sw.js")).encode()
    site["sw.js"] = site["sw.js"].replace(BUILD, build[:16].encode()).replace(FILES, cached)
    return site


def _models() -> dict[str, dict[str, bytes]]:
    """Return the graphs of the installed streaming models by band, checked, smallest model first.

    "full" is there only for a model that has such a graph.
    """
    from qse.runtime.bands import FULL_BAND
    from qse.runtime.zoo import WIDE_BAND, available, find, load

    models = {}
    for name in available():
        paths = {
            band: find(name, rate) for band, rate in zip(BANDS, (WIDE_BAND, FULL_BAND), strict=True)
        }
        if paths["wide"] == paths["full"]:
            del paths["full"]
        if all(load(path).streams for path in paths.values()):
            models[name] = {band: path.read_bytes() for band, path in paths.items()}
    return dict(sorted(models.items(), key=lambda model: len(model[1]["wide"])))


def _url(name: str, band: str) -> str:
    return f"models/{name}{'-48k' if band == 'full' else ''}.onnx.gz"


def _entry(name: str, band: str, bands: Mapping[str, bytes]) -> dict[str, str] | None:
    """Return URL and checksum of a graph; None where the model has none for this band."""
    return {"url": _url(name, band), "sha256": _sha256(bands[band])} if band in bands else None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write_site(site: Site, folder: Path) -> None:
    """Write the files below `folder`, which may hold an earlier export, with the headers in `_headers`.

    Raises QseError where the folder holds something else.
    """
    if folder.exists() and not folder.is_dir():
        raise QseError(f"{folder} is a file: name a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "sw.js").is_file():
        raise QseError(f"{folder} holds other files: name an empty or a new folder")
    lines = ["/*", *(f"  {name}: {value}" for name, value in HEADERS.items())]
    texts = {
        "_headers": "\n".join(lines) + "\n",
        ".nojekyll": "",
    }  # of Netlify and Cloudflare; of GitHub Pages
    for name, content in {**site, **{name: text.encode() for name, text in texts.items()}}.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def make_server(site: Site, port: int) -> ThreadingHTTPServer:
    """Return a server of `site` on 127.0.0.1. Raises QseError where the port is in use."""
    try:
        return ThreadingHTTPServer((HOST, port), partial(_Handler, site))
    except OSError as error:
        raise QseError(
            f"port {port} cannot be opened ({error.strerror}): choose another with --port"
        ) from error


class _Handler(BaseHTTPRequestHandler):
    """Answer GET and HEAD from a dictionary of files; nothing else of the disk can be reached."""

    protocol_version = "HTTP/1.1"
    server_version = f"qse/{qse.__version__}"

    def __init__(self, site: Mapping[str, bytes], *arguments: Any):
        self._site = site
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def _answer(self, with_content: bool) -> None:
        name = self.path.partition("?")[0].lstrip("/") or "index.html"
        content = self._site.get(name)
        self.send_response(HTTPStatus.OK if content is not None else HTTPStatus.NOT_FOUND)
        kind = TYPES.get(Path(name).suffix, "text/plain; charset=utf-8")
        content = b"not found\n" if content is None else content
        for header, value in {**HEADERS, "Cache-Control": "no-cache", "Content-Type": kind}.items():
            self.send_header(header, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if with_content:
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing, so that only the command writes to the terminal."""
