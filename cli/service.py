"""qse service: run qse live in the background, as a systemd service of the user."""

from typing import Annotated, Literal

import typer

from qse.errors import UsageError

Action = Literal["install", "uninstall", "status", "show"]


def service(
    action: Annotated[
        Action, typer.Argument(help="install and start, uninstall, status, or show the unit.")
    ],
    options: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- OPTIONS]", help="Options of qse live. [default: --virtual]"),
    ] = None,
) -> None:
    """Run qse live in the background from login to logout (Linux with systemd).

    qse service install -- --virtual --strength 20 gives other programs a clean microphone at every
    login.
    """
    from qse.live.service import install, status, uninstall, unit_text

    if options and action in ("uninstall", "status"):
        raise UsageError(
            f"qse service {action} takes no options of qse live: leave out {' '.join(options)}"
        )
    wanted = options or ["--virtual"]
    if action == "install":
        typer.echo(f"installed and started: {install(wanted)}")
    elif action == "uninstall":
        typer.echo(f"stopped and removed: {uninstall()}")
    else:
        typer.echo(status() if action == "status" else unit_text(wanted), nl=False)
