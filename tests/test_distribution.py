"""The metadata of the distribution name every licence of what it holds, and the SBOM every library
in it."""

import tomllib
from pathlib import Path

from make_sbom import vendored

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "qse/web/vendor"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_licence_expression_covers_vendored_libraries():
    licences = {library["licenses"][0]["license"]["id"] for library in vendored()}
    assert set(PROJECT["license"].split(" AND ")) == {"Apache-2.0"} | licences


def test_licence_files_are_all_listed():
    present = {path.relative_to(ROOT).as_posix() for path in VENDOR.glob("LICENSE.*")}
    assert set(PROJECT["license-files"]) == {"LICENSE"} | present


def test_sbom_lists_every_vendored_file_with_its_checksum():
    listed = []
    for library in vendored():
        listed += library["components"]
    code = {path.name for path in VENDOR.iterdir()} - {"README.md", "SHA256SUMS"}
    code = {name for name in code if not name.startswith("LICENSE")}
    assert sorted(part["name"] for part in listed) == sorted(
        f"qse/web/vendor/{name}" for name in code
    )
    assert all(len(part["hashes"][0]["content"]) == 64 for part in listed)


def test_lock_holds_the_versions_of_the_constraints_with_hashes():
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in pinned if "==" in line and not line.startswith("torch==")]
    locked = (ROOT / "requirements-lock.txt").read_text(encoding="utf-8").splitlines()
    lines = [line for line in locked if not line.startswith("#")]
    assert [line.split(" --hash=sha256:")[0] for line in lines] == wanted
    assert all(len(line.split(" --hash=sha256:")[1]) == 64 for line in lines)
