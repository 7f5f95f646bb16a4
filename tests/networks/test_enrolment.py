"""A network that adapts to a talker: its vectors, and streams that begin with them."""

import pytest

torch = pytest.importorskip("torch")

from small_networks import streaming, unsettle

from qse.networks.enrolment import beginning, describe
from qse.nn import contract
from qse.nn.state import flatten_state
from qse.nn.talker import TalkerScale

HOP = 32


def adaptive(**changes):
    return unsettle(streaming(talker=True, blocks=2, pruned=("block1.time",), **changes))


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
def test_the_vectors_are_the_mean_state_of_hops_with_speech():
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
    found = describe(network, audio)
    assert found.keys() == {"block0"}  # the other block has no time mixer
    for item in range(2):
        heard = [row[item] for row, speaks in zip(states, spoken[item], strict=True) if speaks]
        wanted = torch.stack(heard).mean(0)
        torch.testing.assert_close(found["block0"][item], wanted, rtol=1e-4, atol=1e-6)


@torch.no_grad()
def test_a_stream_that_begins_with_a_talker_keeps_the_vectors_and_sounds_otherwise():
    network = adaptive()
    begin = beginning(network, describe(network, speech()))
    talker = begin["bottleneck"]["block0"]["talker"]
    audio = speech()
    enhanced, state = network(audio, begin)
    assert torch.equal(state["bottleneck"]["block0"]["talker"], talker)
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
    assert list(state) == ["bottleneck.block0.talker"]


@torch.no_grad()
def test_vectors_of_a_lower_rate_leave_the_bands_above_at_zero():
    network = adaptive(ranges=((16, 1), (16, 4)))
    vectors = describe(network.at(8000), speech()[:, : 12 * HOP // 2])
    low = vectors["block0"].shape[1]
    talker = beginning(network, vectors)["bottleneck"]["block0"]["talker"].unflatten(0, (2, -1))
    assert torch.equal(talker[:, :low], vectors["block0"])
    assert talker.shape[1] > low and not talker[:, low:].any()


@torch.no_grad()
def test_describing_in_training_leaves_the_statistics_of_batch_norms():
    network = adaptive()
    audio = speech()
    wanted = describe(network, audio)["block0"]
    network.train()
    norms = [module for module in network.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    norms[0].eval()  # as one that is fixed
    before = [norm.running_mean.clone() for norm in norms]
    found = describe(network, audio)["block0"]
    for norm, mean in zip(norms, before, strict=True):
        assert torch.equal(norm.running_mean, mean)
    assert [norm.training for norm in norms] == [False] + [True] * (len(norms) - 1)
    scale = network.bottleneck.blocks["block0"].talker
    torch.testing.assert_close(found, (wanted - wanted.mean(0)) / scale.variance.sqrt())


@torch.no_grad()
def test_training_standardises_vectors_over_the_talkers_that_it_has_heard():
    scale = TalkerScale(channels=2, bands=3)
    means = 0.6 + 0.1 * torch.randn(60, 3, 4, 2)
    for group in means.split(4):
        silent = torch.zeros(1, 3, 4, 2)
        vectors = scale.standardised(torch.cat([group, silent]), torch.tensor([1.0, 1, 1, 1, 0]))
        assert not vectors[-1].any()
    assert scale.talkers == 60
    torch.testing.assert_close(scale.mean, means.mean(0))
    assert scale.variance.item() == pytest.approx(0.01, rel=0.2)
    scale.eval()
    vectors = scale.standardised(means, torch.ones(60))
    assert scale.talkers == 60
    torch.testing.assert_close(vectors.mean(0), torch.zeros(3, 4, 2), rtol=0, atol=1e-4)
    assert vectors.square().mean().item() == pytest.approx(1, rel=0.2)


@torch.no_grad()
def test_later_talkers_keep_a_weight_in_the_statistics():
    """At least one in a hundred each, however many were heard."""
    scale = TalkerScale(channels=2, bands=3)
    heard = torch.ones(4)
    for _ in range(100):
        scale.standardised(torch.zeros(4, 3, 4, 2), heard)
    for _ in range(25):
        scale.standardised(torch.ones(4, 3, 4, 2), heard)
    assert scale.mean.mean().item() == pytest.approx(1 - 0.96**25, abs=1e-4)
    scale.standardised(torch.ones(4, 3, 4, 2), torch.zeros(4))  # nobody: nothing changes
    assert scale.mean.mean().item() == pytest.approx(1 - 0.96**25, abs=1e-4)
