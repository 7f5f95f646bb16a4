"""Time mixers and band attention by name: shapes."""

import pytest

torch = pytest.importorskip("torch")

from qse.networks.time_mixers import (
    BAND_ATTENTION,
    TIME_MIXERS,
    find_band_attention,
    find_time_mixer,
)


@pytest.mark.parametrize("name", TIME_MIXERS)
def test_time_mixers_keep_the_shape(name):
    x = torch.randn(6, 7, 4, 4)  # two streams of three bands
    mixer = find_time_mixer(name).of_sizes(bands=3, channels=4, heads=2, window=5)
    assert mixer(x)[0].shape == x.shape


@pytest.mark.parametrize("name", TIME_MIXERS)
def test_time_mixers_run_in_mixed_precision(name):
    x = torch.randn(6, 7, 4, 4)
    mixer = find_time_mixer(name).of_sizes(bands=3, channels=4, heads=2, window=5)
    whole, _ = mixer(x)
    with torch.autocast("cpu", torch.bfloat16):
        first, state = mixer(x[:, :3])
        rest, _ = mixer(x[:, 3:], state)
    joined = torch.cat([first, rest], 1).float()
    assert (joined - whole).norm() < 0.05 * whole.norm()


@pytest.mark.parametrize("name", BAND_ATTENTION)
@pytest.mark.parametrize("qk_norm", [False, True])
def test_band_attention_keeps_the_shape(name, qk_norm):
    x = torch.randn(6, 3, 4, 4)
    assert find_band_attention(name)(4, 2, qk_norm)(x).shape == x.shape


def test_band_attention_none_treats_bands_separately():
    layer = find_band_attention("none")(4, 2, False)
    x = torch.randn(1, 3, 4, 4)
    torch.testing.assert_close(layer(x)[:, 1:2], layer(x[:, 1:2]))
