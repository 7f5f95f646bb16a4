"""Pack the npm package, install it in an empty folder, and serve it as a web developer would."""

import fcntl
import shutil
import subprocess
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "qse/web/npm"


def install(folder: Path) -> Path:
    """Return the installed package: packed by `npm pack`, installed in an empty project."""
    run = {"check": True, "capture_output": True, "text": True}
    npm = shutil.which("npm")
    with (PACKAGE / "package.json").open() as described:
        fcntl.flock(described, fcntl.LOCK_EX)  # `npm pack` assembles the package in its own folder
        subprocess.run([npm, "pack", "--pack-destination", str(folder)], cwd=PACKAGE, **run)
    (archive,) = folder.glob("qse-web-*.tgz")
    project = folder / "project"
    project.mkdir()
    (project / "package.json").write_text('{"private": true}', encoding="utf-8")
    subprocess.run(
        [npm, "install", "--offline", "--no-audit", "--no-fund", str(archive)], cwd=project, **run
    )
    return project / "node_modules/qse-web"


def site_of(package: Path) -> dict[str, bytes]:
    """Return the files of an installed package, with an empty page."""
    site = {"index.html": b"<!doctype html><title>empty</title><main></main>"}
    for path in package.rglob("*"):
        if path.is_file():
            site[path.relative_to(package).as_posix()] = path.read_bytes()
    return site
