"""One set of weights at every latency: the streaming network that reads frames ahead."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from qse.networks.streaming import StreamingConfig, StreamingEnhancer
from qse.nn import contract

LIVE = StreamingConfig(
    n_fft=64,
    hop_length=24,
    overlap=16,
    ranges=((16, 2), (16, 4)),
    channels=(4, 4, 4),
    growth=2,
    dilations=(1, 2),
    blocks=3,
)
AHEAD = replace(LIVE, look_ahead=8, look_ahead_blocks=(1, 2))


def trained(config: StreamingConfig = AHEAD) -> StreamingEnhancer:
    torch.manual_seed(0)
    network = StreamingEnhancer(config)
    for parameter in network.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    return network.eval()


@pytest.mark.parametrize("look_ahead", [0, 1, 4, 8])
def test_every_look_ahead_keeps_the_contract(look_ahead):
    network = trained().at(16000, look_ahead)
    contract.verify_stream(network, 0.1 * torch.randn(2, 40 * 24), dim=1, unit=24)


@pytest.mark.parametrize("look_ahead", [0, 1, 3, 8])
@torch.no_grad()
def test_the_output_depends_on_as_many_frames_ahead_and_no_more(look_ahead):
    network = trained().at(16000, look_ahead)
    noisy = 0.1 * torch.randn(1, 60 * 24)
    other = noisy.clone()
    start = 30 * 24
    other[:, start:] += 0.1 * torch.randn_like(other[:, start:])
    difference = (network.enhance(noisy) - network.enhance(other)).abs()[0]
    reach = 24 + network.latency
    assert difference[: start - reach].max() == 0
    assert difference[start - reach : start - reach + 24 + 16].max() > 0


@torch.no_grad()
def test_latency_is_the_sum_of_what_the_layers_look_ahead():
    network = trained()
    assert [layer.look_ahead for layer in network.bottleneck.blocks.values()] == [0, 4, 0, 4, 0]
    assert network.latency == 16 + 8 * 24
    assert network.at(16000, 1).latency == 16 + 24
    assert network.at(16000, 0).latency == 16


@torch.no_grad()
def test_without_its_taps_the_network_is_the_live_one():
    network = trained()
    live = StreamingEnhancer(LIVE).eval()
    kept = {name: weight for name, weight in network.state_dict().items() if ".ahead" not in name}
    live.load_state_dict(kept)
    noisy = 0.1 * torch.randn(1, 40 * 24)
    assert torch.equal(network.at(16000, 0)(noisy)[0], live(noisy)[0])


@torch.no_grad()
def test_a_new_network_puts_out_what_the_live_one_does():
    """Apart from the beginning, where its later layers see the silence of the delay lines first."""
    torch.manual_seed(0)
    network = StreamingEnhancer(AHEAD).eval()
    noisy = 0.1 * torch.randn(1, 200 * 24)
    ahead = network.enhance(noisy)
    live = network.at(16000, 0).enhance(noisy)
    torch.testing.assert_close(ahead[:, -100 * 24 :], live[:, -100 * 24 :], atol=1e-5, rtol=0)


@pytest.mark.parametrize("waiting", ["spec", "skip0", "skip1"])
@torch.no_grad()
def test_a_path_that_does_not_wait_is_noticed(waiting):
    """The cheat: a skip connection or the spectrum that is joined without its delay."""

    class NoDelay(torch.nn.Module):
        def forward(self, x, past=None):
            return x, {}

    network = StreamingEnhancer(AHEAD).eval()
    network.delays[waiting] = NoDelay()
    noisy = 0.1 * torch.randn(1, 200 * 24)
    ahead = network.enhance(noisy)
    live = network.at(16000, 0).enhance(noisy)
    difference = (ahead - live)[:, -100 * 24 :].abs().max()
    assert difference > 1e-4


def test_at_shares_weights_and_gradients():
    network = trained()
    network.train().at(16000, 2)(torch.randn(1, 240))[0].square().sum().backward()
    taps = network.bottleneck.blocks["ahead1"].taps
    assert taps["1"].weight.grad.abs().sum() > 0
    assert taps["2"].weight.grad is None


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"look_ahead": -1}, "0 frames or more"),
        ({"look_ahead": 2, "look_ahead_blocks": (3,)}, "blocks 0 to 2"),
        ({"look_ahead": 6, "look_ahead_blocks": (1, 2)}, "3, 3 frames ahead; choose powers of two"),
    ],
)
def test_wrong_look_aheads_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(LIVE, **changes)
    with pytest.raises(ValueError, match="at most 8 frames"):
        trained().at(16000, 9)
