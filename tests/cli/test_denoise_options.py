"""qse denoise: options, warnings, JSON, damaged files, videos."""

import json
import shutil
import subprocess
import sys

import pytest
from noisy_files import make, samples, tree


def test_denoise_warns_once_of_the_bandwidth(here, command):
    for name in ("a.wav", "b.wav"):
        make(here / name, 48000, sample_rate=48000)
    make(here / "c.wav")
    _, _, err = command("denoise", "a.wav", "b.wav", "--band", "wide")
    assert err.count("output is limited to 8 kHz bandwidth") == 1 and "48000 Hz" in err
    assert "bandwidth" not in command("denoise", "c.wav")[2]


def test_denoise_salvage(here, command):
    path = make(here / "a.wav", 16000)
    path.write_bytes(path.read_bytes()[:16044])
    status, _, err = command("denoise", "a.wav")
    assert status == 1 and "cut short" in err and "--salvage" in err and tree(here) == ["a.wav"]
    status, _, err = command("denoise", "a.wav", "--salvage")
    assert (
        status == 0
        and "qse: warning: a.wav is damaged: 0.50 s were read, 0.50 s are missing" in err
    )
    assert len(samples("a-enhanced.wav")) == 8000


def test_denoise_existing_outputs_are_one_error(here, command):
    for name in ("a.wav", "b.wav", "c.wav"):
        make(here / "in" / name)
    assert command("denoise", "in/a.wav", "in/b.wav", "-o", "out")[0] == 0
    status, _, err = command("denoise", "in", "-o", "out")
    errors = [line for line in err.splitlines() if line.startswith("qse: ")]
    assert status == 1 and len(errors) == 1 and "2 outputs exist already" in errors[0]
    assert tree(here / "out") == ["a.wav", "b.wav", "c.wav"]


def test_denoise_skip_existing(here, command):
    for name in ("a.wav", "b.wav"):
        make(here / "in" / name)
    assert command("denoise", "in/a.wav", "-o", "out/")[0] == 0
    before = (here / "out/a.wav").stat().st_mtime_ns
    status, _, err = command("denoise", "in", "-o", "out", "--skip-existing")
    assert status == 0 and "1 of 2" in err and (here / "out/a.wav").stat().st_mtime_ns == before
    assert tree(here / "out") == ["a.wav", "b.wav"]
    assert command("denoise", "in", "-o", "out", "--skip-existing")[0] == 0
    assert command("denoise", "in", "-o", "out", "--skip-existing", "--overwrite")[0] == 2


def test_denoise_quiet_prints_only_errors(here, command):
    make(here / "a.wav")
    assert command("denoise", "a.wav", "--quiet") == (0, "", "")
    status, out, err = command("denoise", "a.wav", "-q")
    assert (status, out) == (1, "") and err.startswith("qse: a-enhanced.wav exists already")


def test_denoise_json_is_one_object_per_file(here, command):
    make(here / "a.wav", 8000, 2)
    (here / "b.wav").write_text("words")
    status, out, err = command("denoise", "a.wav", "b.wav", "missing*.wav", "-o", "out", "--json")
    refused, first, second = map(json.loads, out.splitlines())
    assert status == 1 and len(err.splitlines()) == 2
    assert refused == {
        "status": "failed",
        "input": None,
        "output": None,
        "error": err.splitlines()[0][5:],
    }
    assert first == {
        "status": "written",
        "input": "a.wav",
        "output": "out/a.wav",
        "seconds": 0.5,
        "sample_rate": 16000,
        "channels": 2,
        "tracks": 1,
        "warning": None,
        "lost": [],
    }
    assert second["status"] == "failed" and "b.wav" in second["error"]
    status, out, _ = command("denoise", "a.wav", "-o", "out", "--json", "--skip-existing")
    assert status == 0 or json.loads(out)["status"] == "skipped"
    assert command("denoise", "a.wav", "-o", "-", "--json")[0] == 2


def test_denoise_silences_the_mp3_decoder(here):
    path = make(here / "a.mp3", 48000)
    data = bytearray(path.read_bytes())
    data[3000:3400] = bytes(400)
    path.write_bytes(data)
    code = "from qse_cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "denoise", "a.mp3"], capture_output=True, text=True
    )
    assert done.stderr and all(
        line.startswith(("qse: ", "a.mp3", "1 file")) for line in done.stderr.splitlines()
    )


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")
def test_denoise_videos_and_phone_recordings(here, command):
    wav = make(here / "w/a.wav", 32000, 2)
    line = ["ffmpeg", "-v", "error", "-i", str(wav)]
    subprocess.run(
        [*line, "-f", "lavfi", "-i", "testsrc=duration=2:size=64x48:rate=10", "in/a.mp4"],
        check=True,
        cwd=(here / "in").mkdir() or here,
    )
    subprocess.run([*line, "-c:a", "aac", "in/memo.m4a"], check=True, cwd=here)
    status, _, err = command("denoise", "in", "-o", "out")
    assert status == 0 and tree(here / "out") == ["a.mp4", "memo.m4a"], err
    probe = subprocess.run(
        ["ffmpeg", "-i", "out/a.mp4"], capture_output=True, text=True, cwd=here
    ).stderr
    assert "Video: h264" in probe or "Video: mpeg4" in probe
    assert "Audio: aac" in probe and "Duration: 00:00:02" in probe
    assert command("denoise", "in/memo.m4a", "-o", "memo.wav")[0] == 0
    assert len(samples("memo.wav")) == pytest.approx(32000, abs=2100)
    assert command("denoise", "in/a.mp4", "-o", "sound.flac")[0] == 0
    status, _, err = command("denoise", "w/a.wav", "-o", "b.mp4")
    assert status == 1 and "no video can be made of sound alone" in err


def test_denoise_says_that_ffmpeg_is_missing(here, command, monkeypatch):
    (here / "a.mp4").write_bytes(b"picture and sound")
    monkeypatch.setattr("qse.audio.ffmpeg_input.shutil.which", lambda name: None)
    status, _, err = command("denoise", ".")
    assert status == 1 and err.count("\n") == 1 and "a.mp4 needs the program ffmpeg" in err


@pytest.mark.parametrize("seconds", ["inf", "1e308", "nan", "5"])
def test_pieces_of_any_length_are_refused(here, command, seconds):
    make(here / "a.wav")
    status, _, err = command("denoise", "a.wav", "--split", seconds)
    assert status == 2 and "--split" in err
