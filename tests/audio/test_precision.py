"""Precision, clipping, bit rates and exact lengths."""

import json

import numpy as np
import pytest
import soundfile
from tagged_files import ffmpeg, needs_ffmpeg, needs_sox, probed, sound, wav


@pytest.mark.parametrize(
    "suffix, subtype, target, expected",
    [
        ("wav", "FLOAT", "flac", "PCM_24"),
        ("wav", "DOUBLE", "flac", "PCM_24"),
        ("wav", "PCM_32", "flac", "PCM_24"),
        ("wav", "PCM_24", "flac", "PCM_24"),
        ("wav", "PCM_16", "flac", "PCM_16"),
        ("caf", "ALAC_24", "caf", "ALAC_24"),
        ("caf", "ALAC_24", "wav", "PCM_24"),
        ("caf", "ALAC_32", "wav", "PCM_32"),
        ("wav", "DOUBLE", "sph", "PCM_32"),
        ("wav", "FLOAT", "aiff", "FLOAT"),
    ],
)
def test_precision_is_kept(here, command, suffix, subtype, target, expected):
    soundfile.write(here / f"a.{suffix}", sound(), 16000, subtype)
    assert command("denoise", f"a.{suffix}", "-o", f"b.{target}")[0] == 0
    assert soundfile.info(f"b.{target}").subtype == expected


@needs_ffmpeg
@pytest.mark.parametrize("bits, form", [(16, "s16p"), (24, "s32p")])
def test_alac_keeps_its_bits(here, command, bits, form):
    wav(here / "s.wav", subtype="PCM_24")
    ffmpeg("-i", "s.wav", "-c:a", "alac", "-sample_fmt", form, "a.m4a")
    ffmpeg("-i", "s.wav", "-c:a", "alac", "-sample_fmt", form, "a.caf")
    assert command("denoise", "a.m4a", "-o", "b.m4a")[0] == 0
    stream = probed(here / "b.m4a")["streams"][0]
    assert (stream["codec_name"], stream["bits_per_raw_sample"]) == ("alac", str(bits))
    for source in ("a.m4a", "a.caf"):
        assert command("denoise", source, "-o", "b.wav", "--overwrite")[0] == 0
        info = soundfile.info("b.wav")
        assert (info.subtype, info.frames) == (f"PCM_{bits}", 16000)
        original = soundfile.read("s.wav", dtype="float32")[0]
        np.testing.assert_allclose(
            soundfile.read("b.wav")[0], original, atol=1.01 * 2 ** (1 - bits)
        )


def test_clipping_is_said(here, command):
    loud = sound()
    loud[100:103] = 1.5
    loud[200] = -2
    soundfile.write(here / "a.wav", loud, 16000, "FLOAT")
    _, out, err = command("denoise", "a.wav", "-o", "b.flac", "--json")
    assert "qse: warning: b.flac: 4 samples were clipped, by up to 6.0 dB" in err
    assert "4 samples were clipped, by up to 6.0 dB" in json.loads(out)["warning"]
    _, out, err = command("denoise", "a.wav", "--json")
    assert "clipped" not in err and json.loads(out)["warning"] is None
    soundfile.write(here / "c.wav", np.full((8000, 1), 32767, np.int16), 16000)
    assert "clipped" not in command("denoise", "c.wav")[2]


def test_limited_bandwidth_is_a_warning_in_json(here, command):
    for name in "ab":
        wav(here / f"{name}.wav", sample_rate=48000)
    _, out, _ = command("denoise", "a.wav", "b.wav", "--band", "wide", "-o", "out", "--json")
    for line in out.splitlines():
        assert "limited to 8 kHz bandwidth" in json.loads(line)["warning"]


def kbit(path) -> float:
    return int(probed(path)["format"]["bit_rate"]) / 1000


def nominal(path) -> int:
    data = path.read_bytes()
    at = data.index(b"\1vorbis")
    return int.from_bytes(data[at + 20 : at + 24], "little") // 1000


@needs_ffmpeg
@pytest.mark.parametrize(
    "rate, low", [(44100, 320), (44100, 128), (48000, 64), (22050, 56), (16000, 160), (11025, 32)]
)
def test_mp3_keeps_a_constant_bit_rate(here, command, rate, low):
    soundfile.write(here / "s.wav", sound(4.0, 2, rate), rate)
    ffmpeg("-i", "s.wav", "-b:a", f"{low}k", "a.mp3")
    assert command("denoise", "a.mp3")[0] == 0
    assert kbit(here / "a-enhanced.mp3") == pytest.approx(low, rel=0.05)


@needs_ffmpeg
@pytest.mark.parametrize("quality", [0, 4, 8])
def test_mp3_keeps_a_variable_bit_rate(here, command, quality):
    soundfile.write(here / "s.wav", sound(6.0, 2, 44100), 44100)
    ffmpeg("-i", "s.wav", "-q:a", quality, "a.mp3")
    assert command("denoise", "a.mp3")[0] == 0
    assert kbit(here / "a-enhanced.mp3") == pytest.approx(kbit(here / "a.mp3"), rel=0.15)


@needs_ffmpeg
@pytest.mark.parametrize("rate", [96, 160, 320])
def test_vorbis_keeps_its_nominal_bit_rate(here, command, rate):
    soundfile.write(here / "s.wav", sound(2.0, 2, 44100), 44100)
    ffmpeg("-i", "s.wav", "-c:a", "libvorbis", "-b:a", f"{rate}k", "a.ogg")
    assert command("denoise", "a.ogg")[0] == 0
    assert nominal(here / "a-enhanced.ogg") == pytest.approx(nominal(here / "a.ogg"), rel=0.02)


@needs_ffmpeg
@pytest.mark.parametrize("channels, rate", [(1, 24), (1, 96), (2, 160), (2, 320)])
def test_opus_keeps_its_bit_rate(here, command, channels, rate):
    soundfile.write(here / "s.wav", sound(6.0, channels, 48000), 48000)
    ffmpeg("-i", "s.wav", "-c:a", "libopus", "-b:a", f"{rate}k", "a.opus")
    assert command("denoise", "a.opus")[0] == 0
    assert kbit(here / "a-enhanced.opus") == pytest.approx(kbit(here / "a.opus"), rel=0.15)


@needs_ffmpeg
@pytest.mark.parametrize("suffix, wanted", [("mp3", 192), ("opus", 48), ("ogg", 120), ("m4a", 96)])
def test_bit_rate_is_set(here, command, suffix, wanted):
    soundfile.write(here / "s.wav", sound(6.0, 1, 48000), 48000)
    assert command("denoise", "s.wav", "-o", f"b.{suffix}", "--bit-rate", wanted)[0] == 0
    found = nominal(here / "b.ogg") if suffix == "ogg" else kbit(here / f"b.{suffix}")
    assert found == pytest.approx(wanted, rel=0.12)
    assert command("denoise", "s.wav", "-o", "c.mp3", "--bit-rate", "nan")[0] == 2


@needs_ffmpeg
def test_aac_keeps_its_bit_rate(here, command):
    soundfile.write(here / "s.wav", sound(6.0, 2, 44100), 44100)
    ffmpeg("-i", "s.wav", "-c:a", "aac", "-b:a", "96k", "a.m4a")
    assert command("denoise", "a.m4a")[0] == 0
    assert kbit(here / "a-enhanced.m4a") == pytest.approx(kbit(here / "a.m4a"), rel=0.1)


@pytest.mark.parametrize(
    "suffix, subtype",
    [
        ("wav", "IMA_ADPCM"),
        ("wav", "MS_ADPCM"),
        ("wav", "GSM610"),
        ("w64", "IMA_ADPCM"),
        ("w64", "MS_ADPCM"),
        ("w64", "GSM610"),
    ],
)
@pytest.mark.parametrize("samples", [5001, 5050, 8000])
def test_adpcm_keeps_its_exact_length(here, command, suffix, subtype, samples):
    soundfile.write(here / f"a.{suffix}", sound(2.0)[:samples, 0], 8000, subtype)
    data = bytearray((here / f"a.{suffix}").read_bytes())
    at, size = (24, 8) if suffix == "w64" else (8, 4)
    at += data.index(b"fact")
    data[at : at + size] = samples.to_bytes(size, "little")
    (here / f"a.{suffix}").write_bytes(data)
    status, out, _ = command("denoise", f"a.{suffix}", "--json")
    assert status == 0 and json.loads(out)["seconds"] == samples / 8000
    result = (here / f"a-enhanced.{suffix}").read_bytes()
    at = result.index(b"fact") + (24 if suffix == "w64" else 8)
    assert int.from_bytes(result[at : at + size], "little") == samples
    assert command("denoise", f"a.{suffix}", "-o", "b.flac")[0] == 0
    assert soundfile.info("b.flac").frames == samples


@needs_sox
def test_adpcm_of_sox_keeps_its_exact_length(here, command):
    import subprocess

    soundfile.write(here / "s.wav", sound()[:5003], 8000)
    for coding in ("ima-adpcm", "ms-adpcm", "gsm"):
        subprocess.run(["sox", "s.wav", "-e", coding, "a.wav"], check=True)
        assert command("denoise", "a.wav", "--overwrite")[0] == 0
        said = [
            subprocess.run(["soxi", "-s", name], check=True, capture_output=True).stdout
            for name in ("a.wav", "a-enhanced.wav")
        ]
        assert said[0] == said[1], coding
