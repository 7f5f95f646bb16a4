"""A network that adapts to a talker: its vectors, and streams that begin with them."""

import pytest

torch = pytest.importorskip("torch")

from small_networks import streaming, unsettle

from qse.networks.enrolment import beginning, describe, mean_states
from qse.nn import contract
from qse.nn.state import flatten_state
from qse.nn.talker import TalkerCode

HOP = 32


def adaptive(**changes):
    """Return a network of which one block adapts, with entries that are not zero."""
    network = streaming(talker=True, blocks=2, pruned=("block1.time",), **changes)
    torch.nn.init.normal_(network.talker.entries["block0"].weight, std=0.1)
    return unsettle(network)


def speech(hops: int = 12) -> torch.Tensor:
    return 0.3 * torch.randn(2, hops * HOP)


def test_a_network_with_a_talker_streams():
    network = adaptive()
    contract.verify_stream(network, speech(), dim=1, unit=HOP)


@torch.no_grad()
def test_without_a_talker_it_is_the_network_without_the_layer():
    network = adaptive()
    plain = streaming(blocks=2, pruned=("block1.time",))
    plain.load_state_dict(network.state_dict(), strict=False)
    audio = speech()
    assert torch.equal(network(audio)[0], plain(audio)[0])


@torch.no_grad()
def test_a_talker_is_described_by_the_mean_state_of_hops_with_speech():
    network = adaptive()
    audio = speech()
    audio[:, 4 * HOP : 7 * HOP] *= 1e-3
    audio[1, :HOP] = 0.0
    states = []
    state = None
    for hop in audio.split(HOP, 1):
        _, state = network(hop, state)
        states.append(state["bottleneck"]["block0"]["time"].unflatten(0, (2, -1)))
    spoken = torch.ones(2, 12, dtype=torch.bool)
    spoken[:, 4:7] = False
    spoken[1, 0] = False
    found, sounds = mean_states(network, audio)
    assert sounds.tolist() == [1, 1]
    assert found.keys() == {"block0"}  # the other block has no time mixer
    for item in range(2):
        heard = [row[item] for row, speaks in zip(states, spoken[item], strict=True) if speaks]
        wanted = torch.stack(heard).mean(0)
        torch.testing.assert_close(found["block0"][item], wanted, rtol=1e-4, atol=1e-6)


@torch.no_grad()
def test_a_stream_that_begins_with_a_talker_keeps_the_entry_and_sounds_otherwise():
    network = adaptive()
    begin = beginning(network, describe(network, speech()))
    entries = begin["bottleneck"]["block0"]
    audio = speech()
    enhanced, state = network(audio, begin)
    for name in ("scale", "shift"):
        assert torch.equal(state["bottleneck"]["block0"][name], entries[name])
    assert not torch.allclose(enhanced, network(audio)[0], atol=1e-4)
    halves = network(audio[:, : 6 * HOP], begin)
    rest, _ = network(audio[:, 6 * HOP :], halves[1])
    torch.testing.assert_close(torch.cat([halves[0], rest], 1), enhanced, rtol=0, atol=2e-6)


@torch.no_grad()
def test_nobody_is_described_by_silence():
    network = adaptive()
    vectors = describe(network, torch.zeros(2, 12 * HOP))
    assert not any(vector.any() for vector in vectors.values())
    state = flatten_state(beginning(network, vectors))
    assert list(state) == ["bottleneck.block0.scale", "bottleneck.block0.shift"]


@torch.no_grad()
def test_entries_of_the_bands_above_8_khz_are_zero():
    network = adaptive(sample_rate=32000, ranges=((16, 1), (16, 4)))
    wide = network.at(16000)
    entry = describe(wide, speech()[:, : 6 * HOP])["block0"]
    assert entry.shape[2] == wide.bands < network.bands
    begin = beginning(network, {"block0": entry})["bottleneck"]["block0"]
    for name, wanted in zip(("scale", "shift"), entry.unbind(1), strict=True):
        found = begin[name].unflatten(0, (2, -1))
        assert torch.equal(found[:, : wide.bands], wanted)
        assert not found[:, wide.bands :].any()


@torch.no_grad()
def test_describing_in_training_leaves_the_statistics_of_batch_norms():
    network = adaptive()
    audio = speech()
    wanted = network.talker.joined(mean_states(network, audio)[0]).mean(0)
    network.train()
    norms = [module for module in network.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    norms[0].eval()  # as one that is fixed
    before = [norm.running_mean.clone() for norm in norms]
    describe(network, audio)
    for norm, mean in zip(norms, before, strict=True):
        assert torch.equal(norm.running_mean, mean)
    assert [norm.training for norm in norms] == [False] + [True] * (len(norms) - 1)
    torch.testing.assert_close(network.talker.mean, wanted)


def test_training_reaches_the_code_and_the_entries_but_not_the_states():
    network = adaptive().train()
    entry = describe(network, speech())["block0"]
    entry.square().sum().backward()
    reached = {name for name, weight in network.named_parameters() if weight.grad is not None}
    assert reached == {"talker.code.weight", "talker.entries.block0.weight"}


@torch.no_grad()
def test_codes_have_the_same_size_whoever_is_told():
    code = TalkerCode({"a": 2, "b": 3}, bands=5)
    code.fit_(torch.randn(32, 100), torch.full((100,), 0.6), 50)
    for layer in code.entries.values():
        torch.nn.init.orthogonal_(layer.weight)
    means = {"a": 0.6 + torch.randn(4, 5, 4, 2), "b": 0.6 + 0.01 * torch.randn(4, 5, 4, 3)}
    code.eval()
    entries = code(means, torch.tensor([1.0, 1, 1, 0]))
    assert entries["a"].shape == (4, 2, 5, 4, 2) and entries["b"].shape == (4, 2, 5, 4, 3)
    for entry in entries.values():
        squares = entry.flatten(1).square().sum(1)
        torch.testing.assert_close(squares, 32.0 * torch.tensor([1.0, 1, 1, 0]))
    far = {name: 0.6 + 10 * (mean - 0.6) for name, mean in means.items()}
    torch.testing.assert_close(code(far, torch.ones(4))["a"][:3], entries["a"][:3])


@torch.no_grad()
def test_training_takes_the_mean_over_the_talkers_that_it_has_heard():
    code = TalkerCode({"a": 2}, bands=3)
    means = 0.6 + 0.1 * torch.randn(60, 3, 4, 2)
    for group in means.split(4):
        silent = torch.zeros(1, 3, 4, 2)
        code({"a": torch.cat([group, silent])}, torch.tensor([1.0, 1, 1, 1, 0]))
    assert code.talkers == 60
    torch.testing.assert_close(code.mean, means.mean(0).flatten())
    code.eval()
    code({"a": means}, torch.ones(60))
    assert code.talkers == 60


@torch.no_grad()
def test_later_talkers_keep_a_weight_in_the_mean():
    """At least one in three hundred each, however many were heard."""
    code = TalkerCode({"a": 2}, bands=3)
    heard = torch.ones(4)
    for _ in range(200):
        code({"a": torch.zeros(4, 3, 4, 2)}, heard)
    for _ in range(25):
        code({"a": torch.ones(4, 3, 4, 2)}, heard)
    wanted = 1 - (1 - 4 / 300) ** 25
    assert code.mean.mean().item() == pytest.approx(wanted, abs=1e-4)
    code({"a": torch.ones(4, 3, 4, 2)}, torch.zeros(4))  # nobody: nothing changes
    assert code.mean.mean().item() == pytest.approx(wanted, abs=1e-4)
