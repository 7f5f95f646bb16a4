"""Folding: the factored transforms against those they stand for, and a folded network against the one it came from."""

import pytest

torch = pytest.importorskip("torch")

import contract

from qse.export.fourier import FactoredAnalysis, FactoredSynthesis, bins_by_place, factors
from qse.export.lowering import fold
from qse.networks.streaming import StreamingConfig, StreamingEnhancer
from qse.networks.time_mixers import TIME_MIXERS
from qse.nn.state import delay, flatten_state
from qse.nn.stft import Analysis, Synthesis

TINY = {
    "n_fft": 64, "hop_length": 32, "ranges": ((32, 2),), "channels": (2, 2, 4), "growth": 2,
    "dilations": (1, 2), "blocks": 1, "heads": 2, "window": 5,
}  # fmt: skip
VARIANTS = {
    **{f"time by {name}": {"time_mixer": [name]} for name in TIME_MIXERS},
    "one mixer per block": {"time_mixer": ["gru", "attention"], "blocks": 2},
    "real": {"algebra": "real"},
    "phm": {"algebra": "phm"},
    "without some branches": {"blocks": 2, "pruned": ["block0.feed", "block1.attention", "block1.time"]},
    "a block with its mixer alone": {"pruned": ["block0.attention", "block0.feed"]},
    "norm of queries and keys": {"qk_norm": True},
    "bands by Hamilton attention": {"attention": "hamilton"},
    "bands for themselves": {"attention": "none"},
    "every layer remembers one frame": {"dilations": (1, 1)},
    "two ranges, asymmetric windows": {"ranges": ((16, 1), (16, 4)), "hop_length": 16, "overlap": 8},
}
SIZES = [(512, 160, 160), (512, 200, 120), (320, 160, 160), (400, 100, 100), (64, 32, 32), (62, 31, 31), (480, 160, 80)]
each_size = pytest.mark.parametrize("n_fft, hop, overlap", SIZES)


@torch.no_grad()
def live(**changes) -> StreamingEnhancer:
    """In eval mode, with biases, gains and statistics as after some training."""
    network = StreamingEnhancer(StreamingConfig(**{**TINY, **changes}))
    for parameter in network.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))
    for name, buffer in network.named_buffers():
        if "running" in name:
            buffer.copy_(0.5 + torch.rand_like(buffer))
    return network.eval()


# Transforms


def by_place(spec: torch.Tensor, n_fft: int) -> torch.Tensor:
    """(B, 2, T, F) -> (B, T, R, 2, J)."""
    return spec[..., bins_by_place(n_fft)].permute(0, 2, 3, 1, 4)


@pytest.mark.parametrize("n_fft", [512, 320, 400, 64, 62, 4])
def test_two_small_products_are_the_transform(n_fft):
    first, turn, second = factors(n_fft)
    x = torch.randn(n_fft, dtype=torch.float64)
    rows = (first @ x.view(first.shape[1], -1)).view(len(turn), 1, -1)
    re, im = ((rows * turn).flatten(1) @ second).chunk(2, 1)
    expected = torch.fft.rfft(x)[bins_by_place(n_fft)]
    torch.testing.assert_close(torch.complex(re, im), expected, rtol=0, atol=1e-11)
    assert bins_by_place(n_fft).unique().numel() == n_fft // 2 + 1


def test_the_factors_of_a_large_transform_are_small():
    assert sum(part.numel() for part in factors(512)) < 5_000 < 514 * 512 / 10


@each_size
def test_factored_transforms_are_those_they_stand_for(n_fft, hop, overlap):
    analysis, synthesis, x = (
        Analysis(n_fft, hop, overlap),
        Synthesis(n_fft, hop, overlap),
        0.3 * torch.randn(2, 9 * hop),
    )
    spec, past = analysis(x)
    for found, expected in zip(FactoredAnalysis(analysis)(x), (by_place(spec, n_fft), past), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=2e-5)
    factor = torch.randn_like(spec)  # a complex number per bin
    products = by_place(spec, n_fft)[:, :, :, :, None] * by_place(factor, n_fft)[:, :, :, None]
    turned = torch.view_as_real(torch.complex(*spec.unbind(1)) * torch.complex(*factor.unbind(1))).movedim(-1, 1)
    for found, expected in zip(FactoredSynthesis(synthesis)(products), synthesis(turned), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("n_fft, hop, overlap", [(64, 16, 16), (64, 16, 5), (62, 31, 31)])
def test_factored_transforms_keep_the_law(n_fft, hop, overlap):
    analysis, synthesis = (
        FactoredAnalysis(Analysis(n_fft, hop, overlap)),
        FactoredSynthesis(Synthesis(n_fft, hop, overlap)),
    )
    contract.verify_stream(analysis, torch.randn(2, 10 * hop), dim=1, unit=hop, out_dim=1)
    products = torch.randn(2, 10, *bins_by_place(n_fft).shape[:1], 2, 2, bins_by_place(n_fft).shape[1])
    contract.verify_stream(synthesis, products, dim=1, out_dim=1)


def test_factored_analysis_refuses_a_part_of_a_hop():
    with pytest.raises(ValueError, match="33 samples are no multiple of the hop of 32"):
        FactoredAnalysis(Analysis(64, 32))(torch.zeros(1, 33))


@pytest.mark.parametrize("kept", [1, 2, 5])
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8])
def test_a_delay_cuts_what_was_and_what_is_in_two(steps, kept):
    x, past = torch.randn(2, steps, 3), torch.randn(2, kept, 3)
    line = torch.cat([past, x], 1)
    due, waiting = delay(x, past, 1)
    assert torch.equal(due, line[:, :steps]) and torch.equal(waiting, line[:, steps:])


# Networks


@torch.no_grad()
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_a_folded_network_computes_the_same(changes):
    network, x = live(**changes), 0.3 * torch.randn(2, 640)
    expected, _ = network(x)
    folded = fold(network)
    assert not any(isinstance(module, torch.nn.BatchNorm2d) for module in folded.modules())
    found, _ = folded(x)
    torch.testing.assert_close(found, expected, rtol=0, atol=2e-6)
    assert (expected[:, network.latency :] - x[:, : -network.latency]).abs().max() > 1e-3


@pytest.mark.parametrize("changes", [{}, {"hop_length": 16, "overlap": 8}], ids=["plain", "asymmetric"])
def test_a_folded_network_keeps_the_law(changes):
    folded = fold(live(**changes))
    hop = folded.config.hop_length
    contract.verify_stream(folded, 0.3 * torch.randn(2, 11 * hop), dim=1, unit=hop)


@torch.no_grad()
def test_a_folded_network_remembers_less():
    network = live(growth=1)

    def size(network):
        return sum(leaf.numel() for leaf in flatten_state(network(torch.zeros(1, 64))[1]).values())

    assert size(fold(network)) < 0.7 * size(network)


def test_folding_leaves_the_network_as_it_was():
    network = live()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    fold(network)
    after = network.state_dict()
    assert after.keys() == before.keys() and all(torch.equal(after[name], before[name]) for name in before)
