"""Losses of streams that continue from step to step, against one long stream; the state in
checkpoints."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import small_training
from small_networks import offline, unsettle
from small_training import PLAN, TINY, same

from qse.data.source import Batch
from qse.losses.loss_config import LossConfig
from qse.networks import TwoGrids, build_network, weights
from qse.train import checkpoint
from qse.train.stateful_training import TrainingLoss


def network():
    torch.manual_seed(0)
    net = build_network(TINY).eval()  # with constant statistics
    torch.nn.init.normal_(net.decoder.head.weight, std=0.3)
    return net


def to_silence(noisy) -> Batch:
    return Batch(noisy, 0 * noisy, 16000)


RMS = LossConfig(mrstft=0, si_sdr=0, rms=1, complex_l1=0, pesq=0)


@torch.no_grad()
def test_training_loss_continues_carried_streams():
    net = network()
    parts = [0.1 * torch.randn(4, 1600) for _ in range(3)]
    stream = net.enhance(torch.cat(parts, 1))
    carried = {}
    loss = TrainingLoss(RMS, carry_state_probability=1.0)
    for number, part in enumerate(parts):
        part = torch.nn.functional.pad(part, (0, 7))  # more than whole hops
        begin = number * 1600
        end = (number + 1) * 1600 - net.latency
        expected = stream[:, begin:end].square().mean(1).sqrt().mean()
        total, _, carried = loss(net, to_silence(part), carried)
        torch.testing.assert_close(total, expected, rtol=0, atol=1e-6)


@torch.no_grad()
def test_training_loss_on_two_grids_continues_carried_streams():
    two = TwoGrids(network())
    parts = [0.1 * torch.randn(4, 1600) for _ in range(3)]
    stream = two.enhance(torch.cat(parts, 1))
    carried = {}
    loss = TrainingLoss(RMS, carry_state_probability=1.0, two_grids_share=1.0)
    for number, part in enumerate(parts):
        begin = number * 1600
        end = (number + 1) * 1600 - two.latency
        expected = stream[:, begin:end].square().mean(1).sqrt().mean()
        total, _, carried = loss(two.network, to_silence(part), carried)
        torch.testing.assert_close(total, expected, rtol=0, atol=1e-6)


@torch.no_grad()
def test_training_loss_draws_the_grids_of_a_step():
    net = network()
    batch = to_silence(0.1 * torch.randn(4, 1600))
    one = TrainingLoss(RMS)(net, batch, {})[0].item()
    both = TrainingLoss(RMS, two_grids_share=1.0)(net, batch, {})[0].item()
    torch.manual_seed(0)
    half = TrainingLoss(RMS, two_grids_share=0.5)
    found = {half(net, batch, {})[0].item() for _ in range(20)}
    assert found == {one, both} and one != both


@torch.no_grad()
def test_training_loss_draws_the_items_that_continue():
    net = network()
    parts = [0.1 * torch.randn(4, 1600) for _ in range(2)]
    torch.manual_seed(1)
    of_second = []
    for probability in (1e-9, 0.5, 1.0):
        loss = TrainingLoss(RMS, probability)
        carried = loss(net, to_silence(parts[0]), {})[2]
        of_second.append(loss(net, to_silence(parts[1]), carried)[0].item())
    assert len({round(value, 6) for value in of_second}) == 3

    # a loss that is not finite leaves zeros
    carried = loss(net, small_training.spoilt(to_silence(parts[0])), {})[2]
    assert loss(net, to_silence(parts[1]), carried)[0].item() == pytest.approx(
        of_second[0], abs=1e-6
    )
    assert not any(state.any() for state in carried.values())


def test_training_loss_without_states_carries_nothing():
    noisy = 0.1 * torch.randn(2, 640)
    assert TrainingLoss(RMS)(network(), Batch(noisy, noisy, 16000), {})[2] == {}
    assert TrainingLoss(RMS, 0.5)(offline("qtn"), Batch(noisy, noisy, 16000), {})[2] == {}


def test_training_loss_compares_the_spec_of_the_mask():
    """Eq. 72 takes the spec of Eqs. 68-69, which is no STFT of the enhanced signal: its frames
    disagree."""
    net = unsettle(offline("qtransformer-hamilton")).eval()
    noisy, clean = 0.3 * torch.randn(2, 2, 640)
    target = torch.complex(*net.analysis(clean).unbind(1))
    mask = torch.complex(*net.core(net.analysis(noisy)).unbind(1))
    resynthesised = torch.complex(*net.analysis(net(noisy)).unbind(1))
    expected = (mask - target).real.abs().mean() + (mask - target).imag.abs().mean()
    other = (resynthesised - target).real.abs().mean() + (resynthesised - target).imag.abs().mean()
    config = LossConfig(mrstft=0, si_sdr=0, rms=0, complex_l1=1, pesq=0, n_fft=32, hop_length=8)
    found = {
        of: TrainingLoss(replace(config, complex_l1_of=of))(net, Batch(noisy, clean, 16000), {})[0]
        for of in ("mask", "waveform")
    }
    torch.testing.assert_close(found["mask"], expected)
    # its frames differ at both ends
    assert found["waveform"].item() == pytest.approx(other.item(), rel=0.01)
    assert abs(expected / other - 1) > 0.03


def test_trainer_restore_continues_carried_states(tmp_path):
    on = small_training.carrying(done=2)
    checkpoint.save(tmp_path / "c.safetensors", on.tensors(), on.header(), None)
    rest = small_training.carrying()
    rest.restore(*weights.load_tensors(tmp_path / "c.safetensors"))
    same(rest.carried[0], on.carried[0])
    assert any(state.any() for state in on.carried[0].values())
    terms = [on.step()[0] for _ in range(3)]
    assert [rest.step()[0] for _ in range(3)] == terms
    same(rest.tensors(), on.tensors())

    cheat = small_training.carrying()  # the test must see a state that is lost
    cheat.restore(*weights.load_tensors(tmp_path / "c.safetensors"))
    cheat.carried = [{}]
    assert [cheat.step()[0] for _ in range(3)] != terms[0]


def test_trainer_restore_continues_each_process(two_processes):
    folder, *_ = two_processes
    for rank in (0, 1):
        (on, said) = weights.load_tensors(folder / f"{'on'}{rank}.safetensors")
        (rest, found) = weights.load_tensors(folder / f"{'rest'}{rank}.safetensors")
        same(rest, on)
        assert json.loads(found["terms"]) == json.loads(said["terms"])
    states = [weights.pick(rest, f"carried.{rank}") for rank in (0, 1)]
    assert states[0] and states[0].keys() == states[1].keys()
    assert any(not torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_trainer_restore_without_carried_states_warns():
    """Checkpoints of earlier versions, and of runs with another batch size."""
    on = small_training.carrying(done=2)
    tensors = on.tensors()
    header = on.header()
    old = {name: tensor for name, tensor in tensors.items() if not name.startswith("carried.")}
    for found, head in (
        (old, header),
        (tensors, {**header, "batch": "3"}),
        (old, {**header, "batch": "2"}),
    ):
        rest = small_training.carrying()
        with pytest.warns(UserWarning, match="no carried states .* start at zero"):
            rest.restore(found, head)
        assert rest.carried == [{}] and np.isfinite(rest.step()[0]["loss"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small_training.carrying(plan=PLAN).restore(old, header)  # whose items never continue


def test_training_loss_begins_streams_with_their_talkers():
    """The first item is told its talker, the second is not."""
    torch.manual_seed(0)
    net = unsettle(build_network({**TINY, "talker": True}).eval())
    torch.nn.init.normal_(net.decoder.head.weight, std=0.3)
    entries = net.talker.entries.values()
    for layer in entries:
        torch.nn.init.zeros_(layer.weight)
    noisy = 0.1 * torch.randn(2, 3200)
    enrolment = 0.1 * torch.randn(2, 1600) * torch.tensor([[1.0], [0.0]])
    loss = TrainingLoss(RMS)
    told = Batch(noisy, 0 * noisy, 16000, enrolment)
    untold = to_silence(noisy)
    with torch.no_grad():
        assert loss(net, told, {})[0] == loss(net, untold, {})[0]  # its entries are zero
    for layer in entries:
        torch.nn.init.normal_(layer.weight, std=0.3)
    first, second = told[0][:1], told[0][1:]
    values = {}
    for name, part, speech in (("first", first, enrolment[:1]), ("second", second, enrolment[1:])):
        with torch.no_grad():
            with_talker = loss(net, Batch(part, 0 * part, 16000, speech), {})[0]
            values[name] = float((with_talker - loss(net, to_silence(part), {})[0]).abs())
    assert values["first"] > 1e-4 and values["second"] == 0
    loss(net, told, {})[0].backward()
    for layer in (net.talker.code, *entries):
        assert layer.weight.grad.abs().max() > 0
