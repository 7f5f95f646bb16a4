"""Collect the files of the page: the static ones and the installed streaming models."""

import gzip
import hashlib
import json
import os
from dataclasses import dataclass
from errno import ELOOP, EMLINK
from pathlib import Path
from typing import Any

from .. import __version__
from ..audio.atomic_write import atomic_path
from ..audio.folder_path import link_below, make_folder, open_found
from ..errors import QseError
from ..model_folder import TALKER_GRAPH
from ..runtime.bands import FULL_BAND
from ..runtime.engine import Engine
from ..runtime.onnx_session import is_installed
from ..runtime.talker_graph import TalkerGraph
from ..runtime.zoo import WIDE_BAND, available, find, load

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
    # with the next, pages may share memory with their workers
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(self)",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
BANDS = ("wide", "full")
KINDS = (*BANDS, "talker")  # of graphs; the last makes entries of a talker, see enrolment.js
BUILD = b"@BUILD@"  # placeholders in sw.js
FILES = b'"@FILES@"'
CODE = (".py", ".pyc")  # of this folder, which is no part of the page
LONGEST_MANIFEST = 1 << 20  # bytes of one that was exported
PACKAGE = "npm"  # the folder of the npm package, which is none either

Site = dict[str, bytes]  # path below the root -> content


@dataclass(frozen=True)
class WebModel:
    """A streaming model on the page: its latency in seconds, with a hop, and its graphs by kind.

    "full" and "talker" are there only for models that have such a graph. fast: the form of a model
    that runs on one of its two grids of frames.
    """

    name: str
    latency: float
    graphs: dict[str, bytes]
    fast: bool = False

    def url(self, kind: str) -> str:
        """Return the path of a graph below the root, for names of models may hold any sign."""
        return f"models/{_sha256(self.graphs[kind])[:16]}.onnx.gz"

    def entry(self) -> dict[str, Any]:
        """Return what `manifest.json` says of the model; null for a graph that it has not."""
        entry: dict[str, Any] = {"name": self.name, "latency": self.latency, "fast": self.fast}
        for kind in KINDS:
            graph = self.graphs.get(kind)
            entry[kind] = {"url": self.url(kind), "sha256": _sha256(graph)} if graph else None
        return entry


def build_site(offline: bool = False) -> Site:
    """Return all files of the page: the static ones, the installed streaming models, and
    `manifest.json`.

    `offline`: the browser stores the page for use without a network. Raises QseError for a damaged
    model or an installation without the page.
    """
    root = Path(__file__).parent
    site: Site = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if path.is_file() and path.suffix not in CODE and name.parts[0] != PACKAGE:
            site[name.as_posix()] = path.read_bytes()
    if not {"index.html", "sw.js"} <= site.keys():
        raise QseError(f"{root} does not hold the page: install qse-speech again")

    entries = []
    for model in _models():
        for kind, graph in model.graphs.items():
            site[model.url(kind)] = gzip.compress(graph, mtime=0)
        entries.append(model.entry())
    manifest = {"version": __version__, "offline": offline, "models": entries}
    site["manifest.json"] = json.dumps(manifest, indent=1).encode()

    sums = {name: _sha256(content) for name, content in site.items()}
    build = _sha256(json.dumps(sums).encode())
    cached = json.dumps(sorted(site.keys() - {"sw.js"})).encode()
    site["sw.js"] = site["sw.js"].replace(BUILD, build[:16].encode()).replace(FILES, cached)
    return site


def _models() -> list[WebModel]:
    """Return the installed streaming models, their graphs checked, the smallest first."""
    models = []
    for name in available():
        paths = {"wide": find(name, WIDE_BAND), "full": find(name, FULL_BAND)}
        if paths["wide"] == paths["full"]:
            del paths["full"]
        engines = [model for model in map(load, paths.values()) if isinstance(model, Engine)]
        if not engines:
            continue  # it needs complete recordings
        talkers = paths["wide"].with_name(TALKER_GRAPH)
        if engines[0].keeps_one and talkers.is_file():
            TalkerGraph(talkers, engines[0].initial_state())
            paths["talker"] = talkers
        graphs = {kind: _content(path) for kind, path in paths.items()}
        models.append(WebModel(name, engines[-1].delay, graphs))
        if engines[-1].second_grid:
            fast = Engine(engines[-1].path, fast=True)
            models.append(WebModel(f"{name} (fast)", fast.delay, graphs, fast=True))
    return sorted(models, key=lambda model: len(model.graphs["wide"]))


def _content(graph: Path) -> bytes:
    """Return the content of a checked graph. Raises QseError for a link in the place of a model
    that did not come with qse, or in its folder, and for a file with a second name: an archive
    may bring them, and they would put another file on the page."""
    if is_installed(graph):
        return graph.read_bytes()
    try:
        if graph.parent.is_symlink():
            raise OSError(ELOOP, "its folder is a link")
        with open(graph, "rb", opener=open_found) as file:
            if os.fstat(file.fileno()).st_nlink > 1:
                raise OSError(EMLINK, "it is another file as well")
            return file.read()
    except OSError as error:
        cure = "put a copy there, or take the folder out of QSE_MODELS"
        raise QseError(f"{graph} is not put on the page ({error.strerror}): {cure}") from error


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _is_export(folder: Path) -> bool:
    """Return whether a folder holds an earlier export."""
    path = folder / "manifest.json"
    try:
        if not path.is_file() or path.stat().st_size > LONGEST_MANIFEST:
            return False
        manifest = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and {"version", "offline", "models"} <= manifest.keys()


def write_site(site: Site, folder: Path) -> None:
    """Write the files below `folder`, which may hold an earlier export, with the headers in
    `_headers`.

    Raises QseError where the folder holds something else.
    """
    if folder.exists() and not folder.is_dir():
        raise QseError(f"{folder} is a file: name a folder")
    is_export = _is_export(folder)
    if folder.is_dir() and any(folder.iterdir()) and not is_export:
        raise QseError(f"{folder} holds other files: name an empty or a new folder")
    rules = "/*\n"
    for name, value in HEADERS.items():
        rules += f"  {name}: {value}\n"
    files = {**site, "_headers": rules.encode(), ".nojekyll": b""}
    for name, content in files.items():  # of Netlify and Cloudflare; of GitHub Pages
        target = folder / name
        if link := link_below(folder, target):
            raise QseError(f"{link} is a link: remove it, or name an empty or a new folder")
        make_folder(target.parent)
        try:
            with atomic_path(target, overwrite=is_export, source=None) as part:
                part.write_bytes(content)
        except FileExistsError as error:
            raise QseError(f"{target} has come meanwhile: name an empty or a new folder") from error
