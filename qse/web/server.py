"""Serve the page on this machine."""

import sys
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import QseError
from .site import HEADERS, Site

HOST = "127.0.0.1"
OWN_HOSTS = (HOST, "localhost")
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".gz": "application/gzip",  # without Content-Encoding: the page decompresses it
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}


def make_server(site: Site, port: int) -> ThreadingHTTPServer:
    """Return a server of `site` on 127.0.0.1. Raises QseError where the port is in use."""
    try:
        return _Server((HOST, port), partial(_Handler, site))
    except OSError as error:
        raise QseError(
            f"port {port} cannot be opened ({error.strerror}): choose another port"
        ) from error


class _Server(ThreadingHTTPServer):
    # on Windows it would let two servers share a port
    allow_reuse_address = sys.platform != "win32"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing of a browser that ends a connection, as it does at a reload."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answer GET and HEAD from a dictionary of files; nothing else of the disk can be reached."""

    protocol_version = "HTTP/1.1"
    server_version = f"qse/{__version__}"

    def __init__(self, site: Mapping[str, bytes], *arguments: Any):
        self._site = site
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def _answer(self, with_content: bool) -> None:
        if not self._is_own_host():
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "this server is for this machine alone")
            return
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

    def _is_own_host(self) -> bool:
        """Return whether the request names this machine: a page of another name, whose address was
        made to be this one (DNS rebinding), may read nothing."""
        port = self.connection.getsockname()[1]
        own = [f"{name}:{port}" for name in OWN_HOSTS]
        if port == 80:  # which browsers leave out
            own += OWN_HOSTS
        hosts = self.headers.get_all("Host", [])
        return len(hosts) == 1 and hosts[0].lower() in own

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing, so that only the command writes to the terminal."""
