"""Channel positions of WAV, FLAC and CAF files."""

import numpy as np
import pytest
import soundfile
from tagged_files import chunks, ffmpeg, needs_ffmpeg, probed, sound

from qse.audio.content import inspect
from qse.audio.reader import open_audio


def extensible(path, mask: int, channels: int, form: str = "WAVEX", subtype: str = "PCM_16"):
    soundfile.write(path, sound(0.2, channels), 16000, subtype, format=form)
    assert inspect(path).state_mask(mask, channels)
    return path


@pytest.mark.parametrize(
    "mask, channels",
    [
        (0x63F, 8),
        (0xFF, 8),
        (0x60F, 6),
        (0x3F, 6),
        (0xB, 3),
        (0x7, 3),
        (0, 4),
        (0x33, 4),
        (0x3, 2),
        (0x4, 1),
        (0, 2),
    ],
)
@pytest.mark.parametrize(
    "suffix, form", [("wav", "WAVEX"), ("rf64", "RF64"), ("w64", "W64"), ("caf", "CAF")]
)
def test_mask_comes_back(here, command, mask, channels, suffix, form):
    path = extensible(here / f"a.{suffix}", mask, channels, form)
    assert inspect(path).channel_mask == mask
    status, _, err = command("denoise", path.name)
    assert status == 0 and "positions" not in err
    assert inspect(here / f"a-enhanced.{suffix}").channel_mask == mask
    np.testing.assert_array_equal(
        soundfile.read(f"a-enhanced.{suffix}")[0], soundfile.read(path)[0]
    )


@pytest.mark.parametrize(
    "mask, channels", [(0x63F, 8), (0xFF, 8), (0x60F, 6), (0x3F, 6), (0xB, 3), (0x33, 4), (0, 2)]
)
@pytest.mark.parametrize("to", ["flac", "caf", "rf64", "w64"])
def test_mask_through_another_format(here, command, mask, channels, to):
    extensible(here / "a.wav", mask, channels)
    assert command("denoise", "a.wav", "-o", f"b.{to}")[0] == 0
    assert command("denoise", f"b.{to}", "-o", f"c.{to}")[0] == 0
    assert command("denoise", f"c.{to}", "-o", "d.wav")[0] == 0
    usual = to == "flac" and inspect(here / f"c.{to}").channel_mask is None
    assert inspect(here / "d.wav").channel_mask == (None if usual else mask)
    assert not usual or mask in (0x63F, 0x3F, 0x33)
    np.testing.assert_array_equal(soundfile.read("d.wav")[0], soundfile.read("a.wav")[0])


@needs_ffmpeg
@pytest.mark.parametrize("layout", ["7.1", "7.1(wide)", "5.1(side)", "5.1", "2.1", "quad", "3.1"])
@pytest.mark.parametrize(
    "suffix, coding", [("wav", "pcm_s24le"), ("flac", "flac"), ("caf", "pcm_s16le")]
)
def test_layouts_of_ffmpeg_come_back(here, command, layout, suffix, coding):
    ffmpeg(
        "-f",
        "lavfi",
        "-i",
        f"anoisesrc=d=0.2:r=16000,aformat=channel_layouts={layout}",
        "-c:a",
        coding,
        f"a.{suffix}",
    )
    before = probed(here / f"a.{suffix}")["streams"][0].get("channel_layout")
    status, _, err = command("denoise", f"a.{suffix}")
    assert status == 0, err
    assert probed(here / f"a-enhanced.{suffix}")["streams"][0].get("channel_layout") == before
    assert before == layout or suffix == "caf"


@needs_ffmpeg
def test_positions_that_are_lost_are_named(here, command):
    extensible(here / "a.wav", 0xB, 3)
    status, out, err = command("denoise", "a.wav", "-o", "b.aiff", "--json")
    assert status == 0 and "b.aiff does not hold these metadata of a.wav: channel positions" in err
    assert '"lost": ["channel positions"]' in out


@needs_ffmpeg
@pytest.mark.parametrize("layout, to, lost", [("5.1(side)", "m4a", True), ("2.1", "mka", False)])
def test_positions_in_files_of_ffmpeg_are_kept_or_named(here, command, layout, to, lost):
    """AAC has no 5.1(side) that ffmpeg reads again; that was not said."""
    source = f"anoisesrc=d=0.2:r=16000,aformat=channel_layouts={layout}"
    ffmpeg("-f", "lavfi", "-i", source, "-c:a", "pcm_s16le", "a.wav")
    status, _, err = command("denoise", "a.wav", "-o", f"b.{to}")
    written = probed(here / f"b.{to}")["streams"][0].get("channel_layout")
    assert status == 0 and ("channel positions" in err) == lost == (written != layout)


def test_format_chunk_is_copied(here, command):
    extensible(here / "a.wav", 0x60F, 6, subtype="PCM_24")
    command("denoise", "a.wav")
    assert (
        chunks((here / "a.wav").read_bytes())[0]
        == chunks((here / "a-enhanced.wav").read_bytes())[0]
    )


def test_mask_of_a_plain_format_chunk_of_18_bytes(here):
    """As SciPy writes it for floats; the mask makes it an extensible one."""
    wavfile = pytest.importorskip("scipy.io.wavfile")
    path = here / "a.wav"
    wavfile.write(path, 16000, sound(0.2, 2))
    assert len(chunks(path.read_bytes())[0][1]) == 18
    assert inspect(path).state_mask(0x3, 2) and inspect(path).channel_mask == 0x3
    assert len(chunks(path.read_bytes())[0][1]) == 40
    info = soundfile.info(path)
    assert (info.format, info.subtype) == ("WAVEX", "FLOAT")
    np.testing.assert_array_equal(soundfile.read(path)[0], sound(0.2, 2))


@pytest.mark.parametrize(
    "tag, mask", [(101 << 16 | 2, 0x3), (121 << 16 | 6, 0x3F)], ids=["stereo", "5.1"]
)
def test_layout_tags_of_caf(here, command, tag, mask):
    """kAudioChannelLayoutTag_Stereo, and _MPEG_5_1_A: L R C LFE Ls Rs."""
    soundfile.write(here / "a.caf", sound(0.2, tag & 0xFF), 16000, "PCM_16")
    data = (here / "a.caf").read_bytes()
    at = data.index(b"data")
    chunk = b"chan" + (12).to_bytes(8, "big") + tag.to_bytes(4, "big") + bytes(8)
    (here / "a.caf").write_bytes(data[:at] + chunk + data[at:])
    assert command("denoise", "a.caf", "-o", "b.wav")[0] == 0
    assert inspect(here / "b.wav").channel_mask == mask


@needs_ffmpeg
@pytest.mark.parametrize("coding", ["pcm_f32le", "pcm_f64le", "pcm_s32le", "pcm_s16le"])
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_w64_with_an_extended_format_is_read_by_its_coding(here, command, coding, channels):
    """libsndfile takes float for integers there."""
    samples = 0.5 * sound(0.5, channels)
    soundfile.write("a.wav", samples, 16000, "DOUBLE")
    ffmpeg("-i", "a.wav", "-c:a", coding, "b.w64")
    with open_audio(here / "b.w64") as source:
        found = np.concatenate(list(source.blocks()))
    np.testing.assert_allclose(found, samples, atol=1e-4)
    for target in ("c.w64", "c.flac"):
        assert command("denoise", "b.w64", "-o", target, "--strength", "0")[0] == 0
        np.testing.assert_allclose(soundfile.read(target, always_2d=True)[0], samples, atol=1e-4)


@needs_ffmpeg
@pytest.mark.parametrize("coding", ["pcm_mulaw", "pcm_alaw"])
def test_logarithmic_w64_with_an_extended_format(here, coding):
    soundfile.write("a.wav", 0.5 * sound(0.5, 6), 16000)
    ffmpeg("-i", "a.wav", "-c:a", coding, "b.w64")
    ffmpeg("-i", "b.w64", "-c:a", "pcm_s16le", "c.wav")
    with open_audio(here / "b.w64") as source:
        found = np.concatenate(list(source.blocks()))
    np.testing.assert_allclose(found, soundfile.read("c.wav")[0], atol=1e-4)


@needs_ffmpeg
@pytest.mark.parametrize("suffix", ["wav", "w64", "flac"])
def test_float_with_a_mask_to_w64_and_back(here, command, suffix):
    extensible(here / "a.wav", 0x3F, 6, "WAVEX", "FLOAT")
    samples = soundfile.read("a.wav")[0]
    assert command("denoise", "a.wav", "-o", "b.w64", "--strength", "0")[0] == 0
    np.testing.assert_array_equal(soundfile.read("b.w64")[0], samples)
    assert command("denoise", "b.w64", "-o", f"c.{suffix}", "--strength", "0")[0] == 0
    np.testing.assert_allclose(soundfile.read(f"c.{suffix}")[0], samples, atol=1e-6)


@needs_ffmpeg
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_a_loudness_of_sound_with_positions(here, command, channels):
    samples = 0.1 * np.random.default_rng(0).standard_normal((32000, channels))
    soundfile.write("a.wav", samples, 16000, "PCM_24", format="WAVEX")
    assert inspect(here / "a.wav").state_mask({1: 4, 2: 3, 6: 0x3F}[channels], channels)
    line = ("denoise", "a.wav", "-o", "b.wav", "--strength", "0", "--loudness", "-30")
    assert command(*line)[0] == 0
    found = soundfile.read("b.wav")[0].reshape(samples.shape)
    gain = np.sum(found * samples) / np.sum(samples**2)
    np.testing.assert_allclose(found, gain * samples, atol=1e-3)
    assert 0.05 < gain < 0.7


@needs_ffmpeg
@pytest.mark.parametrize("kind, mask", [(115, 0x107), (136, 0xF), (124, None), (147, 0)])
@pytest.mark.parametrize("to", ["wav", "flac", "ogg", "m4a", "caf"])
def test_layouts_of_core_audio(here, command, kind, mask, to):
    """Among them one of another order, which no mask states."""
    channels = 6 if kind == 124 else 4
    soundfile.write("a.caf", sound(0.2, channels), 48000, format="CAF")
    assert inspect(here / "a.caf").state_mask(0x3F, channels)
    data = (here / "a.caf").read_bytes()
    at = data.index(b"chan") + 12
    (here / "a.caf").write_bytes(
        data[:at] + (kind << 16 | channels).to_bytes(4, "big") + bytes(8) + data[at + 12 :]
    )
    assert inspect(here / "a.caf").channel_mask == mask
    status, _, said = command("denoise", "a.caf", "-o", f"b.{to}")
    if (kind, to) == (124, "ogg"):
        assert status == 1 and "Vorbis would take the fourth" in said
        return
    assert status == 0, said
    lost = {"caf": (), "m4a": (124, 136), "ogg": (115, 136, 147)}.get(to, (124,))
    is_kept = to == "m4a" and probed(here / f"b.{to}")["streams"][0].get("channel_layout") == "3.1"
    assert ("positions" in said) == (kind in lost and not (kind == 136 and is_kept))
    if to in ("wav", "flac", "caf"):
        assert inspect(here / f"b.{to}").channel_mask == mask


@needs_ffmpeg
@pytest.mark.parametrize("to", ["caf", "wav"])
def test_positions_of_a_coding_with_an_order_of_its_own(here, command, to):
    """Core Audio states that of the coding, and ffmpeg brings the channels into that of WAV."""
    extensible(here / "a.wav", 0x3F, 6)
    ffmpeg("-i", "a.wav", "-c:a", "alac", "b.caf")
    data = (here / "b.caf").read_bytes()
    stated = (121 << 16 | 6).to_bytes(4, "big")
    assert data.count(stated) == 1
    (here / "b.caf").write_bytes(data.replace(stated, (124 << 16 | 6).to_bytes(4, "big")))
    status, _, said = command("denoise", "b.caf", "-o", f"c.{to}")
    assert status == 0 and "positions" not in said
    assert inspect(here / f"c.{to}").channel_mask == 0x3F
