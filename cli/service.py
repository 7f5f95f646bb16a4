"""qse service: run qse live in the background, as a systemd service of the user."""

from typing import Annotated, Any, Literal

import typer

from qse.errors import UsageError

from .streams import tell

Action = Literal["install", "uninstall", "status", "show", "set"]
SWITCHES = (("mute", "muted"), ("bypass", "bypass"))  # names on the screen, in the session


def service(
    action: Annotated[
        Action,
        typer.Argument(
            help="install and start, uninstall, status, show the unit, or set options of the"
            " running service."
        ),
    ],
    options: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- OPTIONS]", help="Options of qse live. [default: --virtual]"),
    ] = None,
    strength: Annotated[
        str | None,
        typer.Option(metavar="DB", help="set: attenuation limit in dB, or none for no limit."),
    ] = None,
    mute: Annotated[bool | None, typer.Option(help="set: silence the output.")] = None,
    bypass: Annotated[bool | None, typer.Option(help="set: let the noisy signal through.")] = None,
) -> None:
    """Run qse live in the background from login to logout (Linux with systemd).

    qse service install -- --virtual --strength 20 gives other programs a clean microphone at every
    login. qse service set --strength 12 changes it while it runs, until it starts again.
    """
    changes = _changes(strength, mute, bypass)
    if action == "set":
        _set(changes, options)
        return
    if changes:
        raise UsageError("--strength, --mute and --bypass go with qse service set, or after `--`")
    from qse.live.service import install, status, uninstall, unit_text

    if options and action in ("uninstall", "status"):
        raise UsageError(
            f"qse service {action} takes no options of qse live: leave out {' '.join(options)}"
        )
    wanted = options or ["--virtual"]
    if action == "install":
        tell(f"installed and started: {install(wanted)}")
    elif action == "uninstall":
        tell(f"stopped and removed: {uninstall()}")
    else:
        tell((status() if action == "status" else unit_text(wanted)).removesuffix("\n"))


def _changes(strength: str | None, mute: bool | None, bypass: bool | None) -> dict[str, Any]:
    """Return the settings that were named. Raises UsageError for a strength that is no number."""
    changes: dict[str, Any] = {}
    if strength is not None:
        try:
            changes["strength"] = None if strength == "none" else float(strength)
        except ValueError:
            cure = "name decibels, as in --strength 12, or none"
            raise UsageError(f"--strength {strength} is no attenuation limit: {cure}") from None
    named = {"muted": mute, "bypass": bypass}
    changes |= {name: value for name, value in named.items() if value is not None}
    return changes


def _set(changes: dict[str, Any], options: list[str] | None) -> None:
    """Change the running service, and print its settings."""
    from qse.live.control import change
    from qse.live.service import running_process

    if options or not changes:
        raise UsageError("qse service set takes --strength DB, --[no-]mute or --[no-]bypass")
    now = change(running_process(), changes)
    limit = "no limit" if now["strength"] is None else f"{now['strength']:g} dB"
    switches = [f"{name} {'on' if now[key] else 'off'}" for name, key in SWITCHES]
    tell(", ".join([f"strength {limit}", *switches]))
