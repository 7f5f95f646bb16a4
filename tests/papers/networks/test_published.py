"""The published Conformer: its size, its product, its heads and norms, and Eq. 10 beside them."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks.published import Published, PublishedConfig
from qse_papers.networks.published_conformer import Attention, RMSNorm
from qse_papers.networks.published_layers import BatchNorm, left_matrix
from tensors import close, count, draw

from qse.nn.quaternion import hamilton_product

SMALL = {"n_fft": 32, "hop_length": 16, "channels": 16, "growth": 8, "features": 16, "layers": 1}


def test_published_has_the_parameters_of_the_checkpoint():
    with torch.device("meta"):
        assert count(Published(PublishedConfig())) == 804_021


def test_left_matrix_multiplies_from_the_left():
    w = draw(4, 3, 2)
    x = draw(5, 4, 2, seed=1)
    y = x.flatten(1) @ left_matrix(w).T
    close(y.view(5, 4, 3), hamilton_product(w, x[:, :, None], -3).sum(-1))


@pytest.mark.parametrize("attention", ["published", "shared"])
def test_published_enhances_whole_signals_of_any_level(attention):
    torch.manual_seed(0)
    network = Published(PublishedConfig(**SMALL, attention=attention)).eval()
    x = torch.randn(2, 515)
    y = network.enhance(x)
    assert y.shape == x.shape and y.abs().max() > 0
    torch.testing.assert_close(network.enhance(0.01 * x), 0.01 * y, rtol=1e-3, atol=1e-6)


def heads_of(layer, x, chosen):
    """Return the output of one head by its channels, by the equations."""
    q = layer.q_norm(layer.q_proj(x))[0][:, chosen]
    k = layer.k_norm(layer.k_proj(x))[0][:, chosen]
    v = layer.v_proj(x)[0][:, chosen]
    return (q @ k.T / q.shape[1] ** 0.5).softmax(-1) @ v


@pytest.mark.parametrize("kind", ["published", "shared"])
def test_heads_hold_components_or_whole_quaternions(kind):
    """With four heads, a published head is one component; a shared one a quarter of each."""
    torch.manual_seed(0)
    layer = Attention(32, 4, 0.0, kind).double()
    x = draw(1, 5, 32)
    channels = torch.arange(32).view(4, 8)  # component, quaternion
    y = torch.zeros(5, 32).double()
    for head in range(4):
        chosen = channels[head] if kind == "published" else channels[:, 2 * head : 2 * head + 2]
        y[:, chosen.flatten()] = heads_of(layer, x, chosen.flatten())
    close(layer(x)[0], layer.out_proj(y))


def test_norms_take_neighbouring_channels_or_quaternions():
    x = draw(1, 1, 8)
    published = RMSNorm(8, quaternions=False).double()(x).view(2, 4)
    shared = RMSNorm(8, quaternions=True).double()(x).view(4, 2)
    ones = torch.ones(2).double()
    torch.testing.assert_close(published.square().mean(1), ones, atol=1e-4, rtol=0)
    torch.testing.assert_close(shared.square().mean(0), ones, atol=1e-4, rtol=0)


def test_batch_norm_has_one_variance_and_a_mean_quaternion():
    layer = BatchNorm(8).double()
    x = 3 * draw(6, 8, 5, 4) + torch.arange(4.0).repeat_interleave(2)[:, None, None]
    y = layer(x).unflatten(1, (4, 2))
    torch.testing.assert_close(y.mean((0, 2, 3, 4)), torch.zeros(4).double(), atol=1e-9, rtol=0)
    assert y.square().sum(1).mean().item() == pytest.approx(1, abs=1e-4)
    means = x.unflatten(1, (4, 2)).mean((0, 2, 3, 4))
    torch.testing.assert_close(layer.moving_mean, 0.1 * means)


def test_published_config_refuses_other_attention():
    with pytest.raises(ValueError, match="choose published or shared"):
        PublishedConfig(attention="hamilton")
