"""Run commands of qse in this process as if it were on Windows or macOS: modules of POSIX alone
cannot be imported, functions of `os` are missing, and on Windows an open file is not replaced.

    python tests/other_systems.py windows '[["denoise", "a.wav"], ["info"]]'

Prints [[exit status, error messages], ...] as JSON. It shows what the code of qse relies on;
libraries and file systems stay those of Linux.
"""

import errno
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

POSIX_MODULES = ("fcntl", "termios", "tty", "resource", "pwd", "grp", "pty", "syslog", "spwd")
POSIX_NAMES = (
    *("geteuid", "getuid", "getegid", "getgid", "getgroups", "fork", "setsid", "killpg", "getpgrp"),
    *("tcgetpgrp", "nice", "getpriority", "setpriority", "mkfifo", "chown", "lchown", "fchown"),
    *("uname", "statvfs", "getloadavg", "sysconf", "O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY"),
    *("O_PATH", "O_CLOEXEC", "setxattr", "getxattr", "listxattr", "copy_file_range", "sendfile"),
)
DECIDING = (
    *("asyncio", "concurrent.futures", "ctypes.util", "multiprocessing", "webbrowser"),
    *("numpy", "onnxruntime", "rich.console", "soundfile", "soxr", "typer"),
)
LINUX_NAMES = ("O_PATH", "setxattr", "getxattr", "listxattr", "copy_file_range", "memfd_create")


def simulate(system: str) -> None:
    """Change this process for good."""
    _load_what_decides_at_import()
    _remove([name for name in dir(os) if name.startswith(("sched_", "SCHED_", "posix_"))])
    if system == "macos":
        _remove(LINUX_NAMES)
        sys.platform = "darwin"
        return
    locks = __import__("fcntl")
    sys.modules["msvcrt"] = _msvcrt(locks)
    for name in POSIX_MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    _remove(POSIX_NAMES)
    os.supports_dir_fd.clear()
    for name in ("replace", "rename", "unlink", "remove"):
        setattr(os, name, _refusing_open_files(getattr(os, name)))
    paths = getattr(pathlib, "_local", pathlib)  # of Python 3.13
    _keep(os, pathlib, paths, shutil, subprocess, tempfile)
    _keep(sys, sys.modules["soundfile"], shutil)  # shutil asks Windows from Python 3.12 on
    shutil._use_fd_functions = False
    os.name = "nt"
    sys.platform = "win32"


def _load_what_decides_at_import() -> None:
    """Import the libraries that choose their code by the system, while it is the true one."""
    for name in DECIDING:
        import_module(name)
    import_module("sysconfig").get_config_vars()


def _remove(names) -> None:
    for name in names:
        if hasattr(os, name):
            delattr(os, name)


def _keep(true: types.ModuleType, *modules: types.ModuleType) -> None:
    """Give modules an `os` or `sys` that goes on saying which system this truly is."""
    kept = types.ModuleType(true.__name__)
    kept.__dict__.update(true.__dict__)
    for module in modules:
        for attribute in (true.__name__, f"_{true.__name__}"):
            if hasattr(module, attribute):
                setattr(module, attribute, kept)


def _msvcrt(locks) -> types.ModuleType:
    """Return a stand-in for the module of Windows, as far as it locks files and knows of keys."""
    module = types.ModuleType("msvcrt")
    module.LK_NBLCK = 2

    def locking(descriptor: int, mode: int, count: int) -> None:
        try:
            locks.flock(descriptor, locks.LOCK_EX | locks.LOCK_NB)
        except BlockingIOError as error:
            raise PermissionError(errno.EACCES, "locked") from error

    module.locking = locking
    module.kbhit = lambda: False
    return module


def _refusing_open_files(function):
    """Return `function`, which raises PermissionError for files that this process has open."""

    def refusing(*paths, **places):
        for path in paths:
            if not places and _is_open(path):
                raise PermissionError(errno.EACCES, "used by this process", str(path))
        return function(*paths, **places)

    return refusing


def _is_open(path) -> bool:
    if not os.path.isfile(path):
        return False
    wanted = os.stat(path)
    for link in Path("/proc/self/fd").iterdir():
        try:
            state = os.stat(link)
        except OSError:
            continue
        if os.path.samestat(state, wanted):
            return True
    return False


def run(line: list[str]) -> tuple[int, str]:
    """Run one command: its exit status and what it has said."""
    from qse_cli.main import main

    sys.argv = ["qse", *line]
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0), said.getvalue()
        except BaseException as error:
            import traceback

            return -1, said.getvalue() + "".join(traceback.format_exception(error))
    return 0, said.getvalue()


if __name__ == "__main__":
    simulate(sys.argv[1])
    outcomes = [run(line) for line in json.loads(sys.argv[2])]
    print(json.dumps(outcomes), file=sys.__stdout__)
