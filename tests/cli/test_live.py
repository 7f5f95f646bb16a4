"""qse live: files, options, devices, errors."""

import sys
import time
from contextlib import contextmanager

import pytest
import soundfile
from live_streams import noise
from sound import HEADSET, MICROPHONE, Sound
from tagged_files import ffmpeg, needs_ffmpeg, probed, tags

from qse.live import ports


@pytest.fixture
def noisy(tmp_path):
    soundfile.write(tmp_path / "noisy.wav", noise(8000, 2), 16000)
    return tmp_path / "noisy.wav"


def test_live_from_file_to_file(command, models, noisy):
    assert command("denoise", noisy, "-o", noisy.with_name("a.wav"))[0] == 0
    status, out, err = command(
        "live", "--from", noisy, "--to", noisy.with_name("b.wav"), "--as-fast-as-possible"
    )
    assert (status, err) == (0, "")
    assert "live-base: 0.5 s of audio" in out and "dropouts: 0" in out and "model 10," in out
    assert noisy.with_name("a.wav").read_bytes() == noisy.with_name("b.wav").read_bytes()


def test_live_writes_the_whole_file_where_nobody_reads_its_lines(
    command, models, noisy, monkeypatch
):
    """As with `| head -1`."""
    shown = []

    def show(self, seconds):
        shown.append(seconds)
        if len(shown) == 2:
            raise BrokenPipeError

    monkeypatch.setattr("qse_cli.screen.Plain.show", show)
    monkeypatch.setattr("qse_cli.follow.abandon_stdout", lambda: None)
    soundfile.write(noisy, noise(16000 * 20), 16000)
    target = noisy.with_name("b.wav")
    assert command("live", "--from", noisy, "--to", target, "--as-fast-as-possible")[0] == 0
    assert len(shown) >= 2 and soundfile.info(target).frames == 16000 * 20


@needs_ffmpeg
@pytest.mark.parametrize("suffix", ["wav", "flac", "au", "opus"])
def test_live_carries_metadata_and_positions_as_denoise(command, here, suffix):
    """And says what is lost, and what is clipped."""
    noise(48000, 6).astype("<f4").tofile("noisy")
    known = ("-f", "f32le", "-ar", "48000", "-ch_layout", "5.1")
    ffmpeg(*known, "-i", "noisy", "-af", "volume=20", "-metadata", "title=Tea", "a.wav")
    options = ("--from", "a.wav", "--to", f"b.{suffix}", "--as-fast-as-possible")
    status, _, err = command("live", *options)
    wanted, _, said = command("denoise", "a.wav", "-o", f"c.{suffix}")
    assert (status, wanted) == (0, 0)
    assert err.replace("b.", "c.") == "".join(
        line for line in said.splitlines(True) if "warning" in line
    )
    assert "clipped" in err or suffix == "opus"
    assert tags(here / f"b.{suffix}") == tags(here / f"c.{suffix}")
    layouts = [probed(here / f"{name}.{suffix}")["streams"][0] for name in "bc"]
    assert layouts[0].get("channel_layout") == layouts[1].get("channel_layout")


def test_live_says_what_is_damaged(command, models, noisy):
    """In the words of qse denoise, once."""
    noisy.write_bytes(noisy.read_bytes()[:-10])
    _, _, wanted = command("denoise", noisy, "-o", noisy.with_name("a.wav"))
    status, _, err = command(
        "live", "--from", noisy, "--to", noisy.with_name("b.wav"), "--as-fast-as-possible"
    )
    assert status == 0 and err.count("may be cut") == 1
    assert err.strip() in wanted


def test_live_paced_records(command, models, noisy):
    begin = time.monotonic()
    target = noisy.with_name("both.wav")
    status, out, _ = command(
        "live", "--from", noisy, "--no-monitor", "--record", target, "--plain", "--strength", "6"
    )
    assert status == 0 and f"recorded: {target}" in out
    assert time.monotonic() - begin > 0.5
    assert soundfile.info(target).channels == 4


def test_live_measures_its_speed_at_the_priority_of_the_session(
    command, models, noisy, monkeypatch
):
    """A busy machine would count as a slow one otherwise, and its session would get no priority."""
    entered = []

    @contextmanager
    def steady(urgent=True):
        entered.append(urgent)
        yield
        entered.pop()

    monkeypatch.setattr("qse.live.priority.steady", steady)
    monkeypatch.setattr(
        "qse.live.speed_check.advice", lambda *_: None if entered == [True] else "not urgent"
    )
    assert command("live", "--from", noisy, "--to", noisy.with_name("b.wav"), "--plain")[0::2] == (
        0,
        "",
    )


def test_live_refuses_to_record_into_its_files(command, models, noisy):
    before = noisy.read_bytes()
    other = noisy.with_name("b.wav")
    for arguments in (
        ("--from", noisy, "--no-monitor", "--record", noisy),
        ("--from", noisy, "--to", other, "--record", other),
    ):
        status, _, err = command("live", *arguments, "--overwrite")
        assert status == 2 and "name another recording" in err
    status, _, err = command("live", "--from", noisy, "--to", noisy, "--overwrite")
    assert status == 2 and "--to is the file of --from" in err
    assert noisy.read_bytes() == before and not other.exists()


def test_live_knows_a_file_by_all_its_names(command, models, noisy, monkeypatch):
    """As on a disk that takes names in other cases for the same."""
    monkeypatch.setattr("qse.runtime.found_inputs.real_name", lambda path: str(path).lower())
    other = noisy.with_name(noisy.name.upper())
    for option in ("--to", "--record"):
        line = ("live", "--from", noisy, "--to", "to.wav", option, other, "--overwrite")
        status, _, err = command(*line, "--no-monitor")
        assert status == 2 and "is the file of --from" in err


def test_live_status_of_a_recording_that_failed(command, models, noisy, monkeypatch):
    monkeypatch.setattr(
        "qse.live.recorder.Recorder._open", lambda self, to: 1 / 0 if isinstance(to, bytes) else to
    )
    status, out, err = command(
        "live", "--from", noisy, "--no-monitor", "--record", noisy.with_name("c.wav"), "--plain"
    )
    assert status == 1 and "not recorded: " in out and "is not written any further" in err


@pytest.mark.parametrize(
    "options, words",
    [
        (["--as-fast-as-possible"], "--from FILE --to FILE"),
        (["--from", "x.wav", "--input", "1"], "name one"),
        (["--from", "nowhere.wav", "--to", "y.wav"], "no such file"),
        (
            ["--input", "attic"],
            "'attic' matches no input device; name one of: 0 Desk Microphone (ALSA)",
        ),
        (["--model", "live-huge", "--list"], "Desk Microphone"),
        (["--model", "live-huge"], "no model called live-huge"),
    ],
)
def test_live_wrong_use(command, models, monkeypatch, options, words):
    monkeypatch.setitem(sys.modules, "sounddevice", Sound(MICROPHONE, HEADSET))
    status, out, err = command("live", *options)
    assert words in out + err
    assert status == (
        0 if "--list" in options else 1 if "no such file" in words or "no model" in words else 2
    )
    assert err.count("\n") == (0 if "--list" in options else 1)


def test_live_list_shows_names_as_they_are(command, models, monkeypatch):
    monkeypatch.setitem(
        sys.modules, "sounddevice", Sound({**MICROPHONE, "name": "Mic [red]"}, HEADSET)
    )
    status, out, _ = command("live", "--list")
    assert status == 0 and "Mic [red]" in out


def test_live_list_keeps_names_whole_in_a_narrow_terminal(command, models, monkeypatch):
    name = "alsa_input.pci-0000_00_1f.3.analog-stereo"
    sound = Sound({**MICROPHONE, "name": f"Built-in Audio ({name})"}, HEADSET)
    monkeypatch.setitem(sys.modules, "sounddevice", sound)
    monkeypatch.setattr("qse_cli.live_devices.UNCUT", 50)
    monkeypatch.setenv("COLUMNS", "50")
    status, out, _ = command("live", "--list")
    assert status == 0 and name in out and "16000 Hz  1 in  default input" in out
    assert max(map(len, out.splitlines())) <= 50


def test_live_says_what_to_install(command, models, monkeypatch):
    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name == "sounddevice":
                raise OSError("PortAudio library not found")

    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    for options in ([], ["--list"]):
        status, _, err = command("live", *options)
        assert status == 2 and err.count("\n") == 1
        for how in (
            "PortAudio",
            "apt install libportaudio2",
            "dnf install portaudio",
            "brew install portaudio",
            "pip",
        ):
            assert how in err
    monkeypatch.setitem(sys.modules, "sounddevice", Sound(defaults=(-1, -1)))
    for options in ([], ["--list"]):
        status, _, err = command("live", *options)
        assert status == 2 and err.count("\n") == 1 and "apt install pulseaudio" in err


@pytest.mark.parametrize("terminal", [True, False])
def test_live_no_reconnect_ends(command, models, monkeypatch, terminal):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setitem(sys.modules, "sounddevice", Sound(MICROPHONE, HEADSET))
    monkeypatch.setattr(ports, "PATIENCE", -1.0)
    status, _, err = command("live", "--no-reconnect")
    assert status == 1 and "device gone" in err


def test_live_buffer_has_one_name(command, models, noisy):
    status, _, err = command("live", "--from", noisy, "--no-monitor", "--plain", "--buffer", "200")
    assert (status, err) == (0, "")
    assert command("live", "--buffer", "0")[0] == command("live", "--cushion", "20")[0] == 2


def test_live_does_not_make_folders_for_a_recording(command, models, noisy, tmp_path):
    target = tmp_path / "new" / "both.wav"
    status, _, err = command("live", "--from", noisy, "--no-monitor", "--record", target)
    assert status == 1 and "does not exist; make it first" in err and not target.parent.exists()
