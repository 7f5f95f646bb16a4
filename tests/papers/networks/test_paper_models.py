"""The paper's models in numbers: multiply-accumulates, recipes."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")


from qse_papers.networks.dilated_densenet import NormedConv

from qse.export.cost import macs
from qse.networks import build_network
from qse.train.recipe import read_config

RECIPES = Path(__file__).parents[3] / "recipes"


def test_macs_of_a_convolution():
    """Real product by real product; expanding the weights, 16 x 4 for each, is in it."""
    x = torch.empty(1, 4, 3, 7, 5)
    assert macs(NormedConv(3, 2, (3, 3)), x) == (4 * 3) * (4 * 2) * 9 * 7 * 5 + 16 * 4 * (3 * 2 * 9)


@pytest.mark.parametrize(
    ("recipe", "stft", "seconds", "batch", "rate", "epochs", "items"),
    [
        ("voicebank", (400, 100), 1.0, 8, 2e-4, 400, 11572 - 100),
        ("dns3", (512, 256), 2.0, 16, 1e-4, 150, 760 * 3600 // 2),
    ],
)
def test_recipes_are_appendix_d3(recipe, stft, seconds, batch, rate, epochs, items):
    config = read_config(RECIPES / f"{recipe}.toml")
    network = build_network(config.model)
    assert (
        (network.config.n_fft, network.config.hop_length)
        == stft
        == (config.loss.n_fft, config.loss.hop_length)
    )
    assert config.mix.samples == seconds * 16000
    loss = config.loss
    assert (loss.mrstft, loss.si_sdr, loss.rms, loss.complex_l1, loss.pesq) == (
        3.5,
        2.0,
        1.0,
        2.5,
        1.0,
    )
    assert (loss.si_sdr_unit, loss.compressed, loss.complex_l1_of) == (1.0, 0.0, "mask")
    train = config.train
    assert (train.batch, train.betas, train.clip_norm) == (batch, (0.5, 0.999), 1.0)
    assert config.dataset == recipe and train.steps == 0
    steps = train.counted(items, seconds, processes=1).steps
    assert steps == epochs * (items // batch)
    halves = 1 if train.epoch_hours else 2  # of an epoch that does not depend on the corpus
    assert train.counted(2 * items, seconds, processes=2).steps == halves * steps // 2
    assert {train.rate(step) for step in (0, 1, steps // 2, steps - 1)} == {rate}
