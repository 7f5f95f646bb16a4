"""Control characters of names reach neither the terminal nor the unit of the service."""

import http.client
import os
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import qse_cli
from noisy_files import make
from qse_cli.streams import say

from qse.errors import QseError
from qse.live.service import unit_text
from qse.printable import printable
from qse.runtime.batch_plan import plan

EVIL = "a\x1b]0;title\x07\n9 files, all good\u202e.wav"
posix = pytest.mark.skipif(os.name != "posix", reason="needs such names of files")


def test_printable_escapes_controls_and_keeps_letters():
    assert printable("Ärger \u200d 日本.wav") == "Ärger \u200d 日本.wav"
    assert printable("a\x1b[2J\r\n\x9b\u202e") == r"a\x1b[2J\r\n\x9b\u202e"
    assert str(QseError(f"{EVIL} is damaged")) == printable(EVIL) + " is damaged"


def test_messages_have_a_limited_length(capsys):
    """Their beginning, which names the file, and their end, which names the cure, remain."""
    text = f"a.wav holds a tag \x1b{200_000 * 'x'}: export it again"
    for shown in (str(QseError(text)), said(text, capsys)):
        assert len(shown) < 5000 and shown.startswith(r"a.wav holds a tag \x1bxxx")
        assert "(200" in shown and shown.endswith("xx: export it again")
    assert str(QseError(3000 * "x")) == 3000 * "x"


def said(text, capsys):
    say(text)
    return capsys.readouterr().err.rstrip("\n")


@posix
def test_denoise_shows_names_of_files_escaped(here, command):
    make(here / EVIL)
    (here / ("b" + EVIL)).write_bytes(b"RIFF")
    status, out, err = command("denoise", ".", "-o", "out")
    assert status == 1 and printable(EVIL) in err and not set("\x1b\x07\u202e") & set(out + err)
    assert all(line.startswith(("qse: ", "a\\x1b", "1 file, ")) for line in err.splitlines())


@posix
def test_an_error_of_the_system_shows_names_escaped(here, command):
    status, _, err = command("denoise", EVIL)
    assert status and "\x1b" not in err and len(err.splitlines()) == 1


@pytest.mark.parametrize("word", ["a\nExecStartPre=/bin/false", "a\x1b", "a\r"])
def test_service_refuses_control_characters(word, command, monkeypatch):
    with pytest.raises(QseError, match="holds a control character"):
        unit_text(["--name", word])
    status, out, _ = command("service", "show", "--", "--name", word)
    assert status == 2 and not out
    monkeypatch.setenv("QSE_MODELS", word)
    with pytest.raises(QseError, match="holds a control character"):
        unit_text(["--virtual"])


@posix
def test_links_to_files_outside_the_folder_are_left_out_and_named(tmp_path, models):
    (tmp_path / "in").mkdir()
    inner = make(tmp_path / "in" / "a.wav")
    outer = make(tmp_path / "private.wav")
    (tmp_path / "in" / "b.wav").symlink_to(outer)
    (tmp_path / "in" / "c.wav").symlink_to("../private.wav")
    (tmp_path / "in" / "d.wav").symlink_to(inner)
    jobs, errors = plan([str(tmp_path / "in")], str(tmp_path / "out"))
    assert [job.source for job in jobs] == [inner]
    assert [str(error).split(" is a link")[0][-5:] for error in errors] == ["b.wav", "c.wav"]
    jobs, errors = plan([str(tmp_path / "in" / "b.wav")], str(tmp_path / "out"))
    assert len(jobs) == 1 and not errors  # named itself


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{}", "127.0.0.1:1", "", "localhost"]
)
def test_server_answers_no_other_host(host):
    from threading import Thread

    from qse.web.server import make_server

    with make_server({"index.html": b"page"}, 0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_port
        for own in (f"127.0.0.1:{port}", f"LOCALHOST:{port}"):
            asked = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Host": own})
            assert urllib.request.urlopen(asked, timeout=10).read() == b"page"
        other = {"Host": host.format(port)}
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/", headers=other)
        with pytest.raises(urllib.error.HTTPError, match="421"):
            urllib.request.urlopen(asked, timeout=10)
        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        asked.putrequest("GET", "/", skip_host=True)
        for name in (own, other["Host"]):
            asked.putheader("Host", name)
        asked.endheaders()
        assert asked.getresponse().status == 421  # which of two is meant depends on who reads
        asked.close()
        server.shutdown()


def test_commands_print_through_what_escapes():
    """`say` and `tell` escape; typer.echo and print would show what a name or a tag holds."""
    for path in (Path(qse_cli.__file__).parent).glob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert "typer.echo(" not in line or "qse.__version__" in line or line.endswith('.")'), (
                f"{path.name}: {line.strip()}"
            )


@posix
def test_results_and_places_are_escaped(here, command):
    make(here / "speech" / "a" / "a.wav")
    make(here / "noise" / "n" / "n.wav")
    folders = ("--speech", "speech", "--noise", "noise")
    status, out, err = command("mix", *folders, "--out", EVIL, "--count", "1", "--seconds", "0.5")
    assert not status and f"written to {printable(EVIL)}" in err
    assert not set("\x1b\x07\u202e") & set(out + err)
