"""Compressed recordings in the browser: the samples of other decoders, with the rate and channels
of the file."""

import base64
import shutil
import subprocess

import numpy as np
import pytest
import soundfile
import soxr
from browser import PAGE_FUNCTIONS, from_wav, noisy_voice, to_base64, to_wav
from speech import SAMPLE_RATE
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio.reader import open_audio

STEREO = np.stack([noisy_voice(), 0.5 * noisy_voice()[::-1]], axis=1)
DECODE = f"""async ({{ text, atOnce }}) => {{
  {PAGE_FUNCTIONS}
  const {{ RemoteWorker }} = await import("/rpc.js");
  const {{ openRecording }} = await import("/files/decode.js");
  const worker = new RemoteWorker("/files/worker.js");
  const call = (method, values, progress) => worker.call(method, values, progress);
  const rateOnly = async (...values) => ({{ // without WebCodecs
    sampleRate: (await call(...values)).sampleRate,
  }});
  const chosen = (method) => (method === "decode" && atOnce ? rateOnly : call);
  const other = {{ call: (method, ...rest) => chosen(method)(method, ...rest) }};
  const recording = await openRecording(fromBase64(text), other);
  worker.close();
  return {{ ...recording, blob: null, wav: await toBase64(recording.blob) }};
}}"""


def decode(page, content: bytes, at_once: bool = False) -> tuple[np.ndarray, int]:
    """The samples and the rate of a file as the page reads it."""
    found = page.evaluate(DECODE, {"text": to_base64(content), "atOnce": at_once})
    samples, rate = from_wav(base64.b64decode(found["wav"]))
    assert (rate, *samples.shape) == (found["sampleRate"], found["frames"], found["channels"])
    return samples, rate


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(
    "form, subtype, rate",
    [
        ("FLAC", "PCM_16", 44100),
        ("FLAC", "PCM_24", 96000),
        ("OGG", "VORBIS", 32000),
        ("OGG", "OPUS", 48000),
        ("MP3", "MPEG_LAYER_III", 44100),
        ("MP3", "MPEG_LAYER_III", 22050),
        ("WAV", "ULAW", 8000),
    ],
)
def test_compressed_file_is_read_as_libsndfile_reads_it(shared_page, form, subtype, rate, at_once):
    """In pieces, and at once as where a browser has no WebCodecs; samples decoded to 16 bits may
    have another scale, and those of MP3 are rounded."""
    content = to_wav(soxr.resample(STEREO, SAMPLE_RATE, rate), rate, subtype, form)
    found, found_rate = decode(shared_page, content, at_once)
    wanted = from_wav(content)[0]
    assert found_rate == rate and found.shape == wanted.shape
    rounded = at_once or subtype in ("PCM_16", "MPEG_LAYER_III")
    np.testing.assert_allclose(found, wanted, rtol=0, atol=5e-5 if rounded else 1e-5)


@pytest.mark.parametrize("form", ["FLAC", "MP3"])
def test_decoding_says_what_is_missing(shared_page, form):
    """Cut short, and with a damaged stretch, behind which the sound keeps its place."""
    content = to_wav(np.tile(STEREO, (3, 1)), 16000, form=form, subtype=None)
    samples, rate = from_wav(content)
    damaged = bytearray(content)
    damaged[len(content) // 2 : len(content) // 2 + 300] = bytes(300)
    for changed in (content[: len(content) * 2 // 3], bytes(damaged)):
        found = shared_page.evaluate(DECODE, {"text": to_base64(changed), "atOnce": False})
        assert found["damaged"] and found["frames"] < len(samples) and rate == found["sampleRate"]
        missing = len(samples) - found["frames"]
        assert found["missing"] == pytest.approx(missing / rate, abs=0.1)
    whole = shared_page.evaluate(DECODE, {"text": to_base64(content), "atOnce": False})
    assert not whole["damaged"] and not whole["missing"]


@pytest.mark.parametrize("suffix, codec", [("mkv", "flac"), ("mp4", "aac")])
def test_sound_that_begins_after_the_picture_keeps_its_place(shared_page, tmp_path, suffix, codec):
    if shutil.which("ffmpeg") is None:
        pytest.skip("needs ffmpeg")
    soundfile.write(tmp_path / "s.wav", STEREO, SAMPLE_RATE)
    picture = ["-f", "lavfi", "-i", "color=size=64x64:rate=10:duration=5", "-itsoffset", "1"]
    sound = ["-i", tmp_path / "s.wav", "-map", "0", "-map", "1", "-c:v", "mpeg4", "-c:a", codec]
    target = tmp_path / f"late.{suffix}"
    subprocess.run(["ffmpeg", "-loglevel", "error", *picture, *sound, target], check=True)
    with open_audio(target) as source:
        wanted = np.concatenate(list(source.blocks()))
    found, rate = decode(shared_page, target.read_bytes())
    assert rate == SAMPLE_RATE and abs(len(found) - len(wanted)) < 1100
    count = min(len(found), len(wanted))
    assert np.abs(found[:count] - wanted[:count]).max() < 0.02


@pytest.mark.parametrize(
    "suffix, codec", [("m4a", "aac"), ("webm", "libopus"), ("mkv", "libvorbis")]
)
def test_video_container_is_read_as_ffmpeg_reads_it(shared_page, tmp_path, suffix, codec):
    if shutil.which("ffmpeg") is None:
        pytest.skip("needs ffmpeg")
    source = tmp_path / "source.wav"
    target = tmp_path / f"x.{suffix}"
    decoded = tmp_path / "decoded.wav"
    soundfile.write(source, STEREO, SAMPLE_RATE)
    for arguments in ([source, "-c:a", codec, target], [target, "-c:a", "pcm_f32le", decoded]):
        subprocess.run(["ffmpeg", "-loglevel", "error", "-i", *map(str, arguments)], check=True)
    found, rate = decode(shared_page, target.read_bytes())
    wanted, wanted_rate = soundfile.read(decoded, dtype="float32")
    # ffmpeg keeps the padding of the last frame
    assert rate == wanted_rate and abs(len(found) - len(wanted)) < 1100
    length = min(len(found), len(wanted))
    # two decoders of Opus
    np.testing.assert_allclose(found[:length], wanted[:length], rtol=0, atol=2e-4)


PICTURE = ("-f", "lavfi", "-i", "color=size=64x64:rate=5:duration=5")
VIDEO = ("-map", "0", "-map", "1", "-c:v", "libvpx")
FAST = ("-movflags", "+faststart")
FRAGMENTS = ("-movflags", "+frag_keyframe+empty_moov", "-frag_duration", "500000")
# each in clusters of half a second, which ffmpeg makes in videos and in long files
OPUS = ("-c:a", "libopus", "-cluster_time_limit", "500")
NO_LENGTH = ("-write_xing", "0")  # of MP3
PAGES = ("-page_duration", "200000")


def made(folder, name, *options, before=()) -> bytes:
    """The content of a file of 3 s that ffmpeg writes; `before` is put before the sound."""
    source = folder / "source.wav"
    if not source.exists():
        soundfile.write(source, STEREO, SAMPLE_RATE)
    ffmpeg(*before, "-i", source, *options, folder / name)
    return (folder / name).read_bytes()


def cut(content: bytes) -> bytes:
    return content[: len(content) * 6 // 10]


def without(count: int):
    """A function that leaves out bytes in the middle."""
    return lambda content: content[: len(content) // 2] + content[len(content) // 2 + count :]


def zeroed(count: int):
    """A function that sets bytes in the middle to zero."""

    def change(content: bytes) -> bytes:
        middle = len(content) // 2
        return content[:middle] + bytes(count) + content[middle + count :]

    return change


def zeros_at_the_end(content: bytes) -> bytes:
    """A megabyte: where blocks of the disk were lost."""
    return cut(content) + bytes(1 << 20)


STATED = (  # name, options of ffmpeg, what is done to the file
    ("fast.m4a", FAST, cut),
    ("fast.m4a", FAST, without(2000)),
    ("opus.webm", OPUS, cut),
    ("opus.webm", OPUS, without(100)),
    ("opus.webm", OPUS, without(4)),
    ("opus.mka", OPUS, cut),
    ("opus.mka", OPUS, zeros_at_the_end),
    ("pages.opus", PAGES, zeroed(3000)),
    ("pages.opus", PAGES, without(500)),
)
UNSTATED = (
    ("crc.mka", OPUS, zeroed(8)),
    ("crc.opus", PAGES, zeroed(8)),
    ("live.webm", (*OPUS, "-live", "1"), cut),
    ("fragments.mp4", FRAGMENTS, cut),
    ("plain.mp3", NO_LENGTH, without(1001)),
    ("plain.mp3", NO_LENGTH, zeroed(1001)),
)
INTACT = (
    ("frames.aac", ()),
    ("priming.m4a", ()),
    ("fast.m4a", (*FAST, "-ar", "44100")),
    ("low.m4a", ("-ar", "8000")),
    ("fragments.mp4", FRAGMENTS),
    ("mixed.mp4", ("-movflags", "+frag_keyframe", "-frag_duration", "500000")),
    ("opus.mp4", ("-c:a", "libopus")),
    ("opus.webm", OPUS),
    ("long.webm", ("-c:a", "libopus", "-frame_duration", "60")),
    ("live.webm", (*OPUS, "-live", "1")),
    ("vorbis.mka", ("-c:a", "libvorbis")),
    ("aac.mkv", ("-c:a", "aac")),
    ("flac.mka", ("-c:a", "flac")),
    ("pcm.mka", ("-c:a", "pcm_s16le")),
    ("stated.mp3", ()),
    ("plain.mp3", NO_LENGTH),
    ("opus.opus", ()),
    ("later.opus", ("-output_ts_offset", "30")),
    ("later.ogg", ("-c:a", "libvorbis", "-output_ts_offset", "30")),
)


@needs_ffmpeg
def test_damage_that_decoders_leave_out_is_said(shared_page, tmp_path):
    """With the seconds that are missing, where the file states its duration."""
    for name, options, change in (*STATED, *UNSTATED):
        content = change(made(tmp_path, name, *options))
        found = shared_page.evaluate(DECODE, {"text": to_base64(content), "atOnce": False})
        assert found["damaged"], name
        missing = 3 - found["frames"] / found["sampleRate"]
        if (name, options, change) in STATED:
            assert found["missing"] > 0.1, name
            assert found["missing"] == pytest.approx(missing, abs=0.1), name


@needs_ffmpeg
def test_aac_is_read_behind_a_tag_between_its_frames(shared_page, tmp_path):
    """As where the segments of a broadcast were joined."""
    content = made(tmp_path, "sound.aac")
    tag = b"ID3\4\0\0\0\0\1\0" + bytes(128)
    for joined in (content + tag + content, tag + content):
        found = shared_page.evaluate(DECODE, {"text": to_base64(joined), "atOnce": False})
        seconds = 3 * joined.count(content)
        assert not found["damaged"]
        assert found["frames"] / found["sampleRate"] == pytest.approx(seconds, abs=0.3)
    found = shared_page.evaluate(DECODE, {"text": to_base64(content[:-50]), "atOnce": False})
    assert found["damaged"]


@needs_ffmpeg
def test_intact_files_are_not_called_damaged(shared_page, tmp_path):
    """Nor are they shorter than their sound, also where the picture is longer."""
    files = {name: made(tmp_path, name, *options) for name, options in INTACT}
    for suffix, codec in (("mp4", "aac"), ("webm", "libopus"), ("mkv", "libvorbis")):
        coding = ("-c:a", codec, "-c:v", "mpeg4") if suffix == "mp4" else (*VIDEO, "-c:a", codec)
        files[suffix] = made(tmp_path, f"longer.{suffix}", *coding, before=PICTURE)
    ffmpeg("-ss", "1", "-i", tmp_path / "opus.opus", "-c", "copy", tmp_path / "part.opus")
    for name, content in files.items():
        found = shared_page.evaluate(DECODE, {"text": to_base64(content), "atOnce": False})
        assert not found["damaged"] and not found["missing"], name
        assert 2.99 < found["frames"] / found["sampleRate"] < 3.15, name
    part = to_base64((tmp_path / "part.opus").read_bytes())
    assert not shared_page.evaluate(DECODE, {"text": part, "atOnce": False})["damaged"]
