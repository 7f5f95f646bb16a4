"""The polite requests to end a program: Ctrl-C, kill, a terminal that closes."""

import signal


def requests() -> list[int]:
    """Those that this system has and that nobody told this process to ignore, as nohup and a shell's & do."""
    known = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    return [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]
