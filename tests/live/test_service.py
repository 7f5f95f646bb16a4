"""The unit file, and the calls of systemctl, by a program of that name that records them."""

import configparser
import os
import shlex
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="systemd is Linux's")


def logged(log):
    """Return the first lines of a shell script that writes its arguments to a file."""
    return ["#!/bin/sh", f'echo "$*" >> {shlex.quote(str(log))}']


@pytest.fixture
def systemctl(tmp_path, monkeypatch):
    """Return the file to which a systemctl of the test writes its arguments, and the path of the
    unit."""
    log = tmp_path / "log"
    program = tmp_path / "bin" / "systemctl"
    program.parent.mkdir()
    lines = [*logged(log), 'echo "said: $*"', "exit ${FAKE_STATUS:-0}", ""]
    program.write_text("\n".join(lines))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("QSE_MODELS", raising=False)
    return log, tmp_path / "config/systemd/user/qse-live.service"


def parsed(unit):
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str
    parser.read_string(unit)
    return parser


def words(line):
    """The words of an ExecStart line as systemd makes them of quotes and doubled signs."""
    return [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(line)]


def test_service_install_writes_unit_and_starts_it(command, systemctl):
    log, unit = systemctl
    status, out, _ = command("service", "install", "--", "--virtual", "--strength", "20")
    assert status == 0 and str(unit) in out
    text = parsed(unit.read_text())
    line = words(text["Service"]["ExecStart"])
    assert line[:2] == [sys.executable, "-P"] and line[4:] == [
        "live",
        "--plain",
        "--every",
        "600",
        "--virtual",
        "--strength",
        "20",
    ]
    assert (
        text["Service"]["Restart"] == "on-failure"
        and text["Install"]["WantedBy"] == "default.target"
    )
    unit_calls = [
        f"--user {verb}"
        for verb in ("daemon-reload", "enable qse-live.service", "restart qse-live.service")
    ]
    assert log.read_text().splitlines() == ["--version", *unit_calls]


def test_service_uninstall_removes_unit(command, systemctl):
    log, unit = systemctl
    command("service", "install")
    log.unlink()
    assert command("service", "uninstall")[0] == 0
    assert not unit.exists()
    assert log.read_text().splitlines() == [
        "--user disable --now qse-live.service",
        "--user daemon-reload",
    ]
    status, _, err = command("service", "uninstall")
    assert status == 2 and "not installed" in err


def test_service_status(command, systemctl):
    assert command("service", "status")[1].endswith("does not exist\n")
    command("service", "install")
    assert command("service", "status")[1] == "said: --user --no-pager status qse-live.service\n"
    status, _, err = command("service", "status", "--", "--virtual")
    assert status == 2 and "takes no options" in err


def test_service_show_prints_unit_of_default_options(command, systemctl, monkeypatch):
    monkeypatch.setenv("QSE_MODELS", "/a b/models")
    out = command("service", "show")[1]
    assert words(parsed(out)["Service"]["ExecStart"])[4:] == [
        "live",
        "--plain",
        "--every",
        "600",
        "--virtual",
    ]
    assert '"QSE_MODELS=/a b/models"' in out
    assert not systemctl[1].exists()


def test_service_quotes_options(command, systemctl):
    option = 'a "b" 50% $HOME\\x'
    out = command("service", "show", "--", "--input", option)[1]
    assert words(parsed(out)["Service"]["ExecStart"])[-1] == option


def test_service_of_a_frozen_program_runs_that(command, systemctl, monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    out = command("service", "show")[1]
    line = words(parsed(out)["Service"]["ExecStart"])
    assert line == [sys.executable, "live", "--plain", "--every", "600", "--virtual"]


def test_service_imports_nothing_from_its_working_folder(command, systemctl, tmp_path):
    (tmp_path / "qse_cli.py").write_text('raise SystemExit("imported")\n')
    program = words(parsed(command("service", "show")[1])["Service"]["ExecStart"])[:4]
    done = subprocess.run([*program, "--version"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("qse")


def test_service_keeps_signs_of_the_models(command, systemctl, monkeypatch):
    """systemd puts no variables into Environment=, but specifiers."""
    monkeypatch.setenv("QSE_MODELS", "/a$b/50%")
    assert '"QSE_MODELS=/a$b/50%%"' in command("service", "show")[1]


def test_service_reports_failure_of_systemctl(command, systemctl, monkeypatch):
    monkeypatch.setenv("FAKE_STATUS", "1")
    status, _, err = command("service", "install")
    assert status == 1 and "systemctl --version" in err and not systemctl[1].exists()


@pytest.mark.parametrize("before", [None, "the former unit"])
def test_service_install_that_fails_leaves_unit_as_it_was(command, systemctl, tmp_path, before):
    """As where no systemd of the user runs: systemctl is there, but does not reach it."""
    _, unit = systemctl
    (tmp_path / "bin/systemctl").write_text(
        '#!/bin/sh\n[ "$1" = --version ] || { echo "no bus" >&2; exit 1; }\n'
    )
    if before:
        unit.parent.mkdir(parents=True)
        unit.write_text(before)
    status, _, err = command("service", "install")
    assert status == 1 and "daemon-reload: no bus" in err
    assert (unit.read_text() if unit.exists() else None) == before


def test_service_install_that_does_not_start_is_not_enabled(command, systemctl, tmp_path):
    log, unit = systemctl
    lines = [*logged(log), '[ "$2" != restart ] || { echo failed >&2; exit 1; }', ""]
    (tmp_path / "bin/systemctl").write_text("\n".join(lines))
    assert command("service", "install")[0] == 1
    assert (
        not unit.exists() and log.read_text().splitlines()[-1] == "--user disable qse-live.service"
    )


def test_service_without_systemd_is_one_sentence(command, systemctl, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    status, _, err = command("service", "install")
    assert status == 1 and "systemctl is missing" in err and not systemctl[1].exists()
