"""qse web: the browser application, served on this machine or written to a folder for a static
host."""

import webbrowser
from pathlib import Path
from threading import Thread
from typing import Annotated

import typer

from .streams import tell


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
    from qse.web.server import HOST, make_server
    from qse.web.site import build_site, write_site

    if export:
        site = build_site(offline=True)
        write_site(site, export)
        size = sum(map(len, site.values())) / 1e6
        cure = "copy the folder to any web server with HTTPS"
        tell(f"wrote {len(site)} files ({size:.1f} MB) to {export}: {cure}")
        return
    with make_server(build_site(), port) as server:
        address = f"http://{HOST}:{server.server_port}/"
        tell(f"{address} (Ctrl-C ends the server)")
        if browser:  # beside the server, for some browsers return only when they end
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            tell("")
