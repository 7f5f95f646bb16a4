"""Training a network above 16 kHz: at both of its rates,
from the weights of a network for 16 kHz."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import soundfile
from small_training import CONFIG, PLAN, TINY, lines

from qse.data.mix_config import MixConfig
from qse.data.source import Batch
from qse.errors import QseError
from qse.losses.loss_config import LossConfig
from qse.networks import build_network, weights
from qse.train import checkpoint
from qse.train.job import Job
from qse.train.new_ranges import fit_ranges
from qse.train.recipe import write_config
from qse.train.run import train
from qse.train.stateful_training import TrainingLoss
from qse.train.warm_start import grow, start_from

RANGES = {"ranges": ((16, 2), (16, 4))}
WIDE = {**TINY, **RANGES, "hop_length": 24, "overlap": 16}
FULL = {
    **WIDE,
    "sample_rate": 48000,
    "n_fft": 192,
    "hop_length": 72,
    "overlap": 48,
    "ranges": (*RANGES["ranges"], (64, 8)),
}
LOSS = LossConfig(mrstft=0, si_sdr=0, rms=1, complex_l1=0, pesq=0, snr=1, high_band=1)
MIX = MixConfig(sample_rate=48000, segment=0.25, rooms=1)
PLAN48 = replace(PLAN, steps=6, carry_state_probability=0.5)


@pytest.fixture(scope="module")
def audio(tmp_path_factory):
    """A second of full-band speech and of noise."""
    folder = tmp_path_factory.mktemp("audio")
    rng = np.random.default_rng(0)
    for kind in ("speech", "noise"):
        (folder / kind / "a").mkdir(parents=True)
        soundfile.write(folder / kind / "a" / "a.wav", 0.1 * rng.standard_normal(48000), 48000)
    return folder


def run(audio, out, **how):
    train(
        replace(CONFIG, model=FULL, mix=MIX, loss=LOSS, train=PLAN48),
        Job(audio / "speech", audio / "noise", out, **how),
    )
    return weights.load_tensors(out / "checkpoint.safetensors")


def test_train_at_two_rates_carries_states_of_both(audio, tmp_path):
    tensors, header = run(audio, tmp_path / "run")
    rates = {name.split(".")[2].split("/")[0] for name in tensors if name.startswith("carried.0")}
    assert header["step"] == "6" and rates == {"16000", "48000"}
    (row,) = lines(tmp_path / "run/train.csv")[-1:]
    assert float(row["high_band"]) != 0


def test_resumed_run_at_two_rates_gives_the_numbers_of_a_whole_one(audio, tmp_path):
    whole, _ = run(audio, tmp_path / "whole")
    config = replace(CONFIG, model=FULL, mix=MIX, loss=LOSS, train=PLAN48)
    job = Job(audio / "speech", audio / "noise", tmp_path / "parts", hours=0)
    train(config, job)
    for _ in range(8):
        if weights.load_header(job.checkpoint)["step"] == "6":
            break
        train(config, replace(job, resume=True))
    parts, _ = weights.load_tensors(job.checkpoint)
    for name, value in whole.items():
        assert torch.equal(value, parts[name]), name


def test_grow_drops_the_range_on_top_and_keeps_the_others():
    small = build_network(WIDE)
    large = build_network(FULL)
    grow(small, large.state_dict())
    noisy = torch.randn(1, 48 * 24)
    with torch.no_grad():
        assert torch.equal(small.eval()(noisy)[0], large.eval().at(16000)(noisy)[0])


def test_grow_adds_the_range_on_top_and_keeps_the_others():
    small = build_network(WIDE)
    large = build_network(FULL)
    grow(large, small.state_dict())
    narrow = large.at(16000)
    noisy = torch.randn(1, 48 * 24)
    with torch.no_grad():
        assert torch.equal(small.eval()(noisy)[0], narrow.eval()(noisy)[0])
    split = large.encoder.split.convs
    merge = large.decoder.join.ups
    assert split[2].weight.sum().item() == pytest.approx(split[1].weight.sum().item(), rel=0.3)
    filters = [up.conv.weight.unflatten(1, (up.factor, -1)) for up in merge[1:]]
    assert torch.equal(filters[1][:, 0], filters[0][:, 0]) and torch.equal(
        filters[1][:, -1], filters[0][:, -1]
    )


def test_start_from_refuses_other_ranges_below(tmp_path):
    """All names and shapes fit, so that the weights would be taken over for other frequencies."""
    small = build_network(WIDE)
    checkpoint.save(tmp_path / "weights.safetensors", small.state_dict(), {}, None)
    write_config(tmp_path / "config.toml", replace(CONFIG, model=WIDE), small)
    start_from(build_network(FULL), tmp_path)
    other = build_network({**FULL, "ranges": ((32, 2), (32, 4), (32, 8))})
    with pytest.raises(
        QseError,
        match=r"bands \[\[16, 2\], \[16, 4\]\].* \[\[32, 2\].*only ranges on top may be others",
    ):
        start_from(other, tmp_path)


def test_fit_ranges_changes_nothing_else():
    network = build_network(WIDE)
    kept = network.state_dict()
    found = fit_ranges(network, kept)
    assert found.keys() == kept.keys() and all(
        torch.equal(found[name], kept[name]) for name in kept
    )


def test_training_loss_judges_each_rate_at_its_own(audio):
    loss = TrainingLoss(LOSS)
    network = build_network(FULL)
    for rate, terms in ((48000, {"rms", "snr", "high_band"}), (16000, {"rms", "snr"})):
        noisy = torch.randn(2, 12000)  # of one length: the batch says its rate
        assert loss(network, Batch(noisy, noisy, rate), {})[1].keys() == terms


def test_highest_range_only_keeps_the_network_below(audio, tmp_path):
    plan = replace(PLAN48, highest_range_only=True, weight_decay=0.0, wide_band_share=0.0)
    config = replace(CONFIG, model=FULL, mix=MIX, loss=LOSS, train=plan)
    train(config, Job(audio / "speech", audio / "noise", tmp_path / "first", hours=0))
    before, _ = weights.load_tensors(tmp_path / "first/checkpoint.safetensors")
    train(config, Job(audio / "speech", audio / "noise", tmp_path / "first", resume=True))
    after, header = weights.load_tensors(tmp_path / "first/checkpoint.safetensors")
    before = weights.pick(before, "model")
    after = weights.pick(after, "model")
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert header["step"] == "6" and changed == {
        "bottleneck.blocks.block0.band",
        "decoder.join.ups.2.conv.bias",
        "decoder.join.ups.2.conv.weight",
        "encoder.split.convs.2.weight",
    }
    name = "bottleneck.blocks.block0.band"
    assert torch.equal(before[name][:3], after[name][:3]) and not torch.equal(
        before[name][3:], after[name][3:]
    )


def test_highest_range_only_needs_no_weight_decay():
    with pytest.raises(ValueError, match="set weight_decay"):
        replace(PLAN48, highest_range_only=True)
