"""Batches at two sample rates."""

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import soundfile
import soxr

from qse.data import open_sources
from qse.data.mix_config import MixConfig
from qse.data.multi_rate import MultiRateSource, wide_band
from qse.data.open_sources import folders
from qse.data.source import Batch
from qse.errors import QseError

MIX = MixConfig(sample_rate=48000, segment=0.1, rooms=1, low_pass=(3400.0, 20000.0))
CPU = torch.device("cpu")


class Constant:
    """Batches of one number and of a length of their own."""

    def __init__(self, value: float, samples: int, segments: int):
        self.value = value
        self.samples = samples
        self.segments = segments

    def batch(self, step, size, rank=0):
        x = torch.full((size, self.samples), self.value)
        return Batch(x, x + step, 8000 * int(self.value))


def test_multi_rate_source_draws_by_its_share_and_alike_in_all_processes():
    source = MultiRateSource(Constant(1, 30, 5), Constant(2, 10, 7), wide_share=0.25, seed=3)
    lengths = [source.batch(step, 2)[0].shape[1] for step in range(400)]
    assert source.segments == 12 and set(lengths) == {10, 30}
    assert lengths.count(10) / 400 == pytest.approx(0.25, abs=0.08)
    assert lengths[:50] == [source.batch(step, 2, rank=1)[0].shape[1] for step in range(50)]
    other = MultiRateSource(source.full, source.wide, 0.25, seed=4)
    assert lengths != [other.batch(step, 2)[0].shape[1] for step in range(400)]


def test_wide_band_keeps_low_pass_filters_below_8_khz():
    mix = wide_band(MIX)
    assert (mix.sample_rate, mix.low_pass, mix.segment) == (16000, (3400.0, 7500.0), 0.1)


@pytest.fixture
def audio(tmp_path):
    """Speech and noise: recordings that reach 24 kHz, and others at 48 kHz whose content ends at 8
    kHz."""
    rng = np.random.default_rng(0)
    for kind in ("speech", "noise"):
        for group, level in (("full", 0.1), ("narrow", 0.01)):
            (tmp_path / kind / group).mkdir(parents=True)
            x = level * rng.standard_normal(48000)
            if group == "narrow":
                x = soxr.resample(x[:16000], 16000, 48000)
            soundfile.write(tmp_path / kind / group / "a.wav", x, 48000, "PCM_16")
    return tmp_path


def test_folders_take_full_band_recordings_alone_above_16_khz(audio):
    source = folders(audio / "speech", audio / "noise", MIX, 0, CPU, wide_share=0.5)
    assert source.full._speakers.corpus.names == (
        "full",
    ) and source.wide._speakers.corpus.names == ("full", "narrow")
    drawn = [source.batch(step, 2) for step in range(20)]
    assert all(batch.noisy.shape[1] == batch.sample_rate // 10 for batch in drawn)
    shapes = {batch.noisy.shape for batch in drawn}
    assert shapes == {(2, 4800), (2, 1600)}


@pytest.mark.parametrize("sample_rate", [24000, 32000])
def test_folders_take_full_band_recordings_at_rates_between(audio, sample_rate):
    mix = dataclasses.replace(MIX, sample_rate=sample_rate)
    source = folders(audio / "speech", audio / "noise", mix, 0, CPU)
    assert source._speakers.corpus.names == ("full",) and source.batch(0, 2)[0].shape == (
        2,
        sample_rate // 10,
    )


def test_folders_without_full_band_recordings_are_refused(audio):
    (audio / "noise/full/a.wav").unlink()
    with pytest.raises(QseError, match=r"noise: no recording has content up to 18\.5 kHz"):
        folders(audio / "speech", audio / "noise", MIX, 0, CPU)


def test_folders_with_a_cache_draw_the_same_batches(audio, tmp_path):
    in_memory = folders(audio / "speech", audio / "noise", MIX, 0, CPU, wide_share=0.5, cache=None)
    cached = folders(
        audio / "speech", audio / "noise", MIX, 0, CPU, wide_share=0.5, cache=tmp_path / "cache"
    )
    for step in range(8):
        for one, other in zip(in_memory.batch(step, 2)[:2], cached.batch(step, 2)[:2], strict=True):
            assert torch.equal(one, other)
    names = {"speech-16000", "speech-48000", "noise-16000", "noise-48000"}
    files = {path.name for path in (tmp_path / "cache").iterdir()}
    assert files == {f"{name}.int16" for name in names} | {f"{name}.json" for name in names}
    (audio / "noise/full/a.wav").unlink()
    with pytest.raises(QseError, match=r"noise: no recording has content up to 18\.5 kHz"):
        folders(audio / "speech", audio / "noise", MIX, 0, CPU, cache=tmp_path / "cache")


def test_write_cache_makes_the_copies_alone(audio, tmp_path, monkeypatch):
    """No mixer is built, which would simulate rooms; sources that follow do not write the copies
    again."""
    cache = tmp_path / "cache"
    with monkeypatch.context() as patch:
        patch.setattr(open_sources, "NoiseMixer", None)
        open_sources.write_cache(audio / "speech", audio / "noise", MIX, 0.5, cache)
    written = {path.name: path.stat().st_mtime_ns for path in cache.iterdir()}
    folders(audio / "speech", audio / "noise", MIX, 0, CPU, wide_share=0.5, cache=cache)
    assert len(written) == 8 and written == {
        path.name: path.stat().st_mtime_ns for path in cache.iterdir()
    }
