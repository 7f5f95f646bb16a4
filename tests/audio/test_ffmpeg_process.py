"""Files through ffmpeg: none may name other files, take much memory, or keep qse waiting."""

import ast
import io
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import soundfile
from tagged_files import ffmpeg, needs_ffmpeg, wav

from qse.audio import ffmpeg_input, ffmpeg_process
from qse.audio.ffmpeg import FfmpegDecoder
from qse.audio.ffmpeg_process import Child, ended_when, run
from qse.audio.probe import probe
from qse.audio.reader import open_audio
from qse.errors import QseError

ROOT = Path(__file__).parents[2]
HLS = "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{}\n#EXT-X-ENDLIST\n"
DASH = """<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011"
 type="static" mediaPresentationDuration="PT1S" minBufferTime="PT1S"><Period><AdaptationSet>
<Representation id="0" mimeType="audio/mp4" codecs="mp4a.40.2" bandwidth="64000">
<BaseURL>{}</BaseURL></Representation></AdaptationSet></Period></MPD>
"""
CONCAT = "ffconcat version 1.0\nfile {}\n"
SDP = "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=audio 5004 RTP/AVP 0\n"
PLAYLISTS = {"hls": HLS, "dash": DASH, "ffconcat": CONCAT, "sdp": SDP}
SUFFIXES = ("wav", "m4a", "mp4", "mka", "mov", "aac")
posix = pytest.mark.skipif(os.name != "posix", reason="needs programs as scripts")


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    """A recording elsewhere that a playlist names, as sound, and as video in another file."""
    folder = tmp_path_factory.mktemp("private")
    ffmpeg("-i", wav(folder / "a.wav"), folder / "a.aac")
    picture = ["-f", "lavfi", "-i", "testsrc=size=32x32:duration=1:rate=5"]
    ffmpeg("-i", folder / "a.wav", *picture, "-shortest", folder / "a.ts")
    ffmpeg("-i", folder / "a.wav", folder / "a.m4a")
    return folder


def named(kind: str, path: Path) -> str:
    """Return a playlist of `kind` that names a file."""
    return PLAYLISTS[kind].format(path if kind == "ffconcat" else f"file://{path}")


@needs_ffmpeg
@pytest.mark.parametrize("kind", PLAYLISTS)
def test_playlist_under_the_name_of_a_recording_is_refused(here, private, command, kind):
    uploads = here / "up"
    uploads.mkdir()
    relative = os.path.relpath(private / "a.aac", uploads)
    texts = {"relative": PLAYLISTS[kind].format(relative)}
    for name in ("a.aac", "a.ts", "a.m4a"):
        texts[Path(name).suffix[1:]] = named(kind, private / name)
    files = [f"{name}.{suffix}" for name in texts for suffix in SUFFIXES]
    for file in files:
        (uploads / file).write_text(texts[Path(file).stem])
    status, _, said = command("denoise", uploads, "-o", here / "got", "--strength", 0)
    assert status == 1 and not list(here.glob("got/**/*.*"))
    for file in files:
        assert file in said
    assert said.count("it is a playlist") == len(files) or kind == "sdp"


@needs_ffmpeg
@pytest.mark.parametrize("kind", PLAYLISTS)
def test_playlist_from_standard_input_is_refused(here, private, command, monkeypatch, kind):
    text = named(kind, private / "a.aac").encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    status, _, said = command("denoise", "-", "-o", "out.wav")
    assert (
        status == 1 and "standard input" in said and ("it is a playlist" in said or kind == "sdp")
    )
    assert not (here / "out.wav").exists()


@needs_ffmpeg
def test_playlist_in_a_manifest_is_refused(here, private, command):
    (here / "a.wav").write_text(named("hls", private / "a.aac"))
    (here / "m.jsonl").write_text(json.dumps({"audio_filepath": "a.wav", "duration": 1}) + "\n")
    status, _, said = command("clean", "m.jsonl", "-o", "out", "--manifest", "out.jsonl")
    assert status == 1 and "a.wav" in said and "it is a playlist" in said
    assert not list(here.glob("out/**/*.wav"))


@needs_ffmpeg
def test_pattern_of_pictures_and_pictures_are_refused(here, command):
    for number in (1, 2):
        ffmpeg("-f", "lavfi", "-i", "testsrc=size=32x32", "-frames:v", 1, here / f"p{number}.png")
    (here / "p1.png").rename(here / "p%d.m4a")
    status, _, said = command("denoise", "p%d.m4a", "-o", "out.mp4")
    assert status == 1 and "p%d.m4a" in said and not (here / "out.mp4").exists()


def with_samples_elsewhere(movie: bytes, path: Path) -> bytes:
    """Return a QuickTime file whose data reference, an alias record, names the file at `path`."""
    name = bytes(path)
    record = bytes(150)
    record += b"\0\2" + len(name).to_bytes(2, "big") + name + bytes(len(name) % 2) + b"\xff\xff\0\0"
    entry = (12 + len(record)).to_bytes(4, "big") + b"alis" + bytes(4) + record
    start = movie.rindex(b"dref") + 12
    growth = len(entry) - int.from_bytes(movie[start : start + 4], "big")
    changed = bytearray(movie[:start] + entry + movie[start + len(entry) - growth :])
    for box in (b"moov", b"trak", b"mdia", b"minf", b"dinf", b"dref"):
        at = changed.rindex(box) - 4
        size = int.from_bytes(changed[at : at + 4], "big") + growth
        changed[at : at + 4] = size.to_bytes(4, "big")
    return bytes(changed)


@needs_ffmpeg
def test_quicktime_file_with_its_samples_elsewhere_is_not_followed(here, private, command):
    ffmpeg("-i", private / "a.wav", "-c:a", "pcm_s16le", private / "a.mov")
    movie = (private / "a.mov").read_bytes()
    at = movie.index(b"mdat") + 4
    silent = movie[:at] + bytes(32000) + movie[at + 32000 :]
    (here / "a.mov").write_bytes(with_samples_elsewhere(silent, private / "a.mov"))
    followed = ["-enable_drefs", 1, "-use_absolute_path", 1, "-i", here / "a.mov"]
    assert any(ffmpeg(*followed, "-f", "s16le", "-"))  # the file does what it should
    command("denoise", "a.mov", "-o", "out.wav", "--strength", 0)
    assert not (here / "out.wav").exists() or not soundfile.read(here / "out.wav")[0].any()


@needs_ffmpeg
def test_files_of_every_suffix_that_ffmpeg_writes_are_read(tmp_path):
    source = wav(tmp_path / "a.wav")
    for suffix in ("m4a", "mp4", "mov", "mka", "mkv", "webm", "aac", "ac3", "wma", "avi", "ts"):
        path = tmp_path / f"b.{suffix}"
        ffmpeg("-i", source, path)
        with FfmpegDecoder(path) as read:
            assert sum(map(len, read.blocks())) > 15000, suffix


@needs_ffmpeg
@posix
def test_cover_of_256_megapixels_takes_little_memory(here, command):
    ffmpeg("-f", "lavfi", "-i", "color=s=16000x16000:d=0.04,format=gray", "-frames:v", 1, "big.png")
    sound = ["-i", wav(here / "a.wav"), "-i", "big.png", "-map", "0:a", "-map", "1:v"]
    ffmpeg(*sound, "-c:v", "copy", "-disposition:v", "attached_pic", "cover.m4a")
    code = f"""
import resource, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from pathlib import Path
from qse.audio.ffmpeg import FfmpegDecoder
with FfmpegDecoder(Path("cover.m4a")) as source:
    assert sum(map(len, source.blocks())) > 15000
assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 200 << 10
"""
    done = ffmpeg_process.subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr
    status, _, said = command("denoise", "cover.m4a", "-o", "b.m4a")
    assert status == 1 and "b.m4a" in said and "pixels" in said
    status, _, said = command("denoise", "cover.m4a", "-o", "b.flac")
    assert status == 0 and "does not hold" in said and "cover" in said


def program(folder: Path, monkeypatch, lines: str) -> None:
    """Put a program in the place of ffmpeg and ffprobe."""
    for name in ("ffmpeg", "ffprobe"):
        path = folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{sys.executable}\nimport sys, time, os\n{lines}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")


@posix
def test_every_call_has_the_limits(tmp_path, monkeypatch):
    program(tmp_path, monkeypatch, "print(*sys.argv, sep='|')")
    path = tmp_path / "a.m4a"
    for name in ("ffmpeg", "ffprobe"):
        said = run(name, ffmpeg_input.input_file(path)).output.decode().split("|")
        before = said[: said.index("-i")]
        assert before[before.index("-protocol_whitelist") + 1] == "file"
        assert {"concat", "hls", "dash", "image2", "sdp"}.isdisjoint(
            before[before.index("-format_whitelist") + 1].split(",")
        )
        assert "-max_alloc" in before and "-max_pixels" in before
        assert ("-nostdin" in before) == (name == "ffmpeg")


@posix
def test_programs_of_the_working_folder_are_not_run(tmp_path, monkeypatch):
    """They may lie beside the recordings of others; Windows would take them first."""
    program(tmp_path, monkeypatch, "print('ran')")
    monkeypatch.chdir(tmp_path / "bin")
    for path in (".", "", "bin/..", "."):
        monkeypatch.setenv("PATH", path)
        assert ffmpeg_input.program("ffmpeg") is None and not ffmpeg_input.is_installed()
        with pytest.raises(FileNotFoundError):
            Child("ffmpeg", [])
    monkeypatch.setenv("PATH", f".{os.pathsep}{tmp_path / 'bin'}")
    assert ffmpeg_input.program("ffmpeg") == str(tmp_path / "bin" / "ffmpeg")


@posix
def test_program_that_stands_still_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(ffmpeg_process, "STALL", 0.3)
    program(tmp_path, monkeypatch, "time.sleep(1000)")
    path = wav(tmp_path / "a.m4a")
    assert probe(path) is None
    with pytest.raises(QseError, match=r"a\.m4a is not read: ffmpeg gives no sound"):
        FfmpegDecoder(path)


@posix
def test_program_is_ended_when_its_job_is_cancelled(tmp_path, monkeypatch):
    program(tmp_path, monkeypatch, "time.sleep(1000)")
    with ended_when(lambda: True), Child("ffmpeg", []) as child:
        assert child.read(10) == b"" and child.wait() < 0
    with Child("ffmpeg", []) as child:
        pass
    assert child._process.returncode < 0


@posix
def test_output_without_an_end_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(ffmpeg_process, "MOST_OUTPUT", 1 << 20)
    program(tmp_path, monkeypatch, "while True: os.write(1, bytes(1 << 16))")
    done = run("ffprobe", [])
    assert done.status and not done.output and "1 MiB" in done.reason
    assert probe(tmp_path / "a") is None


def test_nothing_else_starts_ffmpeg():
    files = [path for folder in ("qse", "cli", "papers") for path in (ROOT / folder).rglob("*.py")]
    starters = re.compile(r"\b(os\.(system|popen|exec|spawn|posix_spawn)|pty\.spawn)")
    for path in files:
        text = path.read_text()
        assert not starters.search(text), path
        if "subprocess" not in text or path.name == "ffmpeg_process.py":
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value.split()[:1] not in (["ffmpeg"], ["ffprobe"]), path


@needs_ffmpeg
def test_wav_text_says_what_is_wrong(tmp_path):
    (tmp_path / "a.wav").write_text(HLS.format("b.aac"))
    with pytest.raises(QseError, match=r"a\.wav is no recording: it is a playlist"):
        open_audio(tmp_path / "a.wav")
