"""CAF files whose packet table or description contradicts the samples."""

from pathlib import Path

import numpy as np
import pytest
from audio_files import make, outcome
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio.caf import Caf

OPUS = Path(__file__).parents[1] / "recorded" / "opus.caf"  # 2 s, by ffmpeg 5.1: 9 writes none
SAMPLES = 50_000


def noise(channels: int = 1) -> np.ndarray:
    return 0.2 * np.random.default_rng(0).standard_normal((SAMPLES, channels))


def flip(path, chunk: bytes, offset: int, bit: int) -> None:
    """Flip a bit of the body of a chunk."""
    data = bytearray(path.read_bytes())
    data[data.find(chunk) + 12 + offset] ^= 1 << bit
    path.write_bytes(data)


@pytest.mark.parametrize("subtype", ["ALAC_16", "ALAC_24", "PCM_16", "PCM_24", "FLOAT", "ULAW"])
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_intact_file(tmp_path, subtype, channels):
    assert outcome(make(tmp_path / "a.caf", noise(channels), subtype)) == (SAMPLES, "")


@needs_ffmpeg
@pytest.mark.parametrize("coding", ["alac", "pcm_s24be", "pcm_f64be", "pcm_mulaw", "adpcm_ima_qt"])
def test_intact_file_of_ffmpeg(tmp_path, coding):
    """ffmpeg states whole packets, also where the last one is shorter."""
    make(tmp_path / "a.wav", noise(2))
    ffmpeg("-i", tmp_path / "a.wav", "-c:a", coding, tmp_path / "a.caf")
    samples, said = outcome(tmp_path / "a.caf")
    assert SAMPLES <= samples < SAMPLES + 64 and not said


@pytest.mark.parametrize("offset", [3, 24, 25, 26, 27, 31])  # packets; sizes
def test_damaged_packet_table(tmp_path, offset):
    for bit in range(8):
        path = make(tmp_path / "a.caf", noise(), "ALAC_16")
        flip(path, b"pakt", offset, bit)
        samples, said = outcome(path)
        assert not samples and "packet table states" in said


@pytest.mark.parametrize("subtype", ["ALAC_16", "ALAC_24"])
def test_damaged_parameters_of_alac(tmp_path, subtype):
    """All but those that say how many bytes there are: silence, or noise, would be read."""
    for offset in (*range(9), 9, *range(20, 24)):
        for bit in range(8):
            path = make(tmp_path / "a.caf", noise(), subtype)
            flip(path, b"kuki", offset, bit)
            assert "is damaged" in outcome(path)[1] or not outcome(path)[0]


@needs_ffmpeg
def test_packets_of_zeros(tmp_path):
    """ffmpeg takes them for shorter ones."""
    assert outcome(OPUS)[1] == ""
    path = tmp_path / "a.caf"
    data = bytearray(OPUS.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 512] = bytes(512)
    path.write_bytes(data)
    assert "more than there are" in outcome(path)[1] or "damaged" in outcome(path)[1]


def test_table_that_states_more_samples(tmp_path):
    path = make(tmp_path / "a.caf", noise(), "ALAC_16")
    flip(path, b"pakt", 13, 0)
    assert "65536 more samples than can be read" in outcome(path)[1]


@pytest.mark.parametrize("subtype", ["PCM_16", "ULAW"])
@pytest.mark.parametrize("bit", [1, 2])
def test_other_channels(tmp_path, subtype, bit):
    path = make(tmp_path / "a.caf", noise(), subtype)
    flip(path, b"desc", 27, bit)
    samples, said = outcome(path)
    assert not samples and "channels in packets of" in said


def test_table_of_no_use_is_no_traceback(tmp_path):
    path = make(tmp_path / "a.caf", noise(), "ALAC_16")
    whole = path.read_bytes()
    at = whole.find(b"pakt")
    for size in (0, 23, 24):
        path.write_bytes(whole[: at + 4] + size.to_bytes(8, "big") + whole[at + 12 :])
        assert outcome(path)[1]
    path.write_bytes(whole[: at + 12] + b"\xff" * 24 + whole[at + 36 :])
    assert outcome(path)[1]
    assert Caf.at(path).packets.count == -1


@needs_ffmpeg
@pytest.mark.parametrize("subtype", ["PCM_16", "FLOAT"])
@pytest.mark.parametrize("letter", range(4))
def test_coding_in_capitals(tmp_path, subtype, letter):
    """ffmpeg reads it as samples of 8 bits."""
    path = make(tmp_path / "a.caf", noise(), subtype)
    flip(path, b"desc", 8 + letter, 5)
    samples, said = outcome(path)
    assert not samples and "states an unknown coding, '" in said


@needs_ffmpeg
@pytest.mark.parametrize("before, said", [(312, False), (20_000, True)])
def test_samples_that_an_encoder_put_in_front(tmp_path, before, said):
    """ffmpeg gives them as sound, up to version 7."""
    path = tmp_path / "a.caf"
    data = OPUS.read_bytes()
    at = data.index(b"pakt") + 12 + 16
    path.write_bytes(data[:at] + before.to_bytes(4, "big") + data[at + 4 :])
    samples, text = outcome(path)
    is_heard = samples == outcome(OPUS)[0]
    assert ("0.42 s in front of its sound" in text) is (said and is_heard)
