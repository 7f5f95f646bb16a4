"""qse service: run qse live in the background, as a systemd service of the user."""


def service() -> None:
    """Run qse live in the background."""
