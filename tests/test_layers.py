"""Layers against their equations written out, component by component, in float64; and the streaming contract."""

import pytest

torch = pytest.importorskip("torch")

import contract
from torch.nn import functional as F

from qse.nn.attention import CausalSharedScoreAttention, SharedScoreAttention
from qse.nn.conv import CausalConv2d, FrequencyUpsample, QuaternionConv2d
from qse.nn.gru import gru
from qse.nn.linear import QuaternionLinear
from qse.nn.batch_norm import QuaternionBatchNorm2d
from qse.nn.norm import QuaternionLayerNorm, QuaternionRMSNorm
from qse.nn.quaternion import conjugate, hamilton_product, modulus
from qse.nn.recurrent import QuaternionGRU


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def shaken(layer: torch.nn.Module) -> torch.nn.Module:
    """The layer in float64, in eval mode, with biases, gains and statistics as after some training."""
    layer = layer.double().eval()
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if "weight" not in name or parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
        for name, buffer in layer.named_buffers():
            if "running" in name:
                buffer.copy_(0.5 + torch.rand_like(buffer))
    return layer


def close(found: torch.Tensor, expected: torch.Tensor, atol: float = 1e-11) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=atol)


def written_out(x, w, product) -> torch.Tensor:
    """Eqs. 24-27 and 29-32: the sixteen products of x = (x0..x3) and w = (w0..w3), and their signs."""
    (x0, x1, x2, x3), (w0, w1, w2, w3) = x, w
    return torch.stack(
        [
            product(x0, w0) - product(x1, w1) - product(x2, w2) - product(x3, w3),
            product(x0, w1) + product(x1, w0) + product(x2, w3) - product(x3, w2),
            product(x0, w2) - product(x1, w3) + product(x2, w0) + product(x3, w1),
            product(x0, w3) + product(x1, w2) - product(x2, w1) + product(x3, w0),
        ]
    )


# Linear


def test_linear_is_equations_24_to_27():
    layer, x = shaken(QuaternionLinear(3, 5)), draw(2, 7, 4, 3)
    expected = written_out(x.unbind(-2), layer.weight, lambda a, b: a @ b.T).movedim(0, -2)
    close(layer(x), expected + layer.bias)


@pytest.mark.parametrize(
    "layer, real",
    [
        (QuaternionLinear(3, 5, bias=False), torch.nn.Linear(12, 20, bias=False)),
        (QuaternionConv2d(3, 5, (2, 3), bias=False), torch.nn.Conv2d(12, 20, (2, 3), bias=False)),
        (CausalConv2d(3, 5, (2, 3), bias=False), torch.nn.Conv2d(12, 20, (2, 3), bias=False)),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_a_quarter_of_the_weights_of_the_real_layer(layer, real):
    quaternion, plain = (sum(p.numel() for p in module.parameters()) for module in (layer, real))
    assert 4 * quaternion == plain


def test_biases_are_one_quaternion_per_channel():
    assert QuaternionLinear(3, 5).bias.shape == QuaternionConv2d(3, 5, (1, 1)).bias.shape == (4, 5)


# Convolution

SIZES = [
    {"kernel": (1, 1)},
    {"kernel": (2, 3), "padding": (1, 1)},
    {"kernel": (3, 5), "stride": (1, 2), "padding": (0, 2), "dilation": (2, 1)},
]


@pytest.mark.parametrize("sizes", SIZES, ids=["1x1", "2x3", "3x5"])
def test_conv2d_is_equations_29_to_32(sizes):
    layer, x = shaken(QuaternionConv2d(3, 5, **sizes)), draw(2, 4, 3, 9, 12)
    rest = {key: value for key, value in sizes.items() if key != "kernel"}
    expected = written_out(x.unbind(1), layer.weight, lambda a, b: F.conv2d(a, b, **rest)).movedim(0, 1)
    close(layer(x), expected + layer.bias[None, :, :, None, None])


def test_causal_conv2d_is_the_convolution_of_what_lies_behind():
    layer, x = shaken(CausalConv2d(2, 3, (3, 5), dilation=2, stride=2)), draw(2, 4, 2, 9, 12)
    y, past = layer(x)
    assert y.shape == (2, 4, 3, 9, 6) and torch.equal(past, x[:, :, :, -4:])
    padded = F.pad(x, (2, 2, 4, 0))  # bins on both sides, frames before
    for t in range(9):
        frames = padded[:, :, :, t : t + 5 : 2]  # now, two and four frames before
        expected = written_out(frames.unbind(1), layer.conv.weight, lambda a, b: F.conv2d(a, b, stride=(1, 2)))
        close(y[:, :, :, t], expected.movedim(0, 1)[:, :, :, 0] + layer.conv.bias[None, :, :, None])


def test_upsampling_lays_the_groups_of_channels_side_by_side_in_frequency():
    layer, x = shaken(FrequencyUpsample(2, 3, factor=5)), draw(2, 4, 2, 3, 7)
    y, wide = layer(x), layer.conv(x)
    assert y.shape == (2, 4, 3, 3, 35)
    for phase in range(5):
        close(y[..., phase::5], wide[:, :, 3 * phase : 3 * phase + 3])


@pytest.mark.parametrize("kernel, dilation, stride", [((1, 3), 1, 1), ((2, 3), 1, 2), ((3, 1), 4, 1), ((4, 5), 3, 3)])
def test_causal_conv2d_keeps_the_law(kernel, dilation, stride):
    layer = shaken(CausalConv2d(2, 3, kernel, dilation=dilation, stride=stride))
    contract.verify_stream(layer, draw(2, 4, 2, 19, 6), dim=3)


# Norms


def test_rms_norm_is_equations_17_and_18():
    layer, x = shaken(QuaternionRMSNorm(3)), draw(5, 4, 3)
    y = layer(x)
    for n in range(5):
        for c in range(3):
            q = x[n, :, c]
            rms = ((q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2) / 4 + 1e-6).sqrt()
            close(y[n, :, c], q / rms * layer.gain[c])


def test_rms_norm_sets_the_modulus_and_keeps_the_direction():
    layer, x = shaken(QuaternionRMSNorm(3)), 10 + draw(5, 4, 3)
    y = layer(x)
    close(modulus(y, -2), (2 * layer.gain.abs()).expand(5, 3), 1e-6)
    close(y / modulus(y, -2)[:, None], x / modulus(x, -2)[:, None] * layer.gain.sign(), 1e-12)


def test_layer_norm_is_written_out():
    layer, x = shaken(QuaternionLayerNorm(6)), draw(5, 4, 6)
    y = layer(x)
    for n in range(5):
        rest = x[n] - x[n].sum(1, keepdim=True) / 6
        power = sum(modulus(rest[:, c], 0) ** 2 for c in range(6)) / (4 * 6)
        close(y[n], rest / (power + 1e-5).sqrt() * layer.gain + layer.bias)


@pytest.mark.parametrize("norm", [QuaternionLayerNorm, QuaternionRMSNorm])
def test_norm_commutes_with_rotations(norm):
    """A unit quaternion from the left and one from the right: together any rotation of the four components."""
    layer, x = shaken(norm(6)), draw(5, 6, 4)
    if norm is QuaternionLayerNorm:
        layer.bias.data.zero_()
    p, q = (u / modulus(u) for u in draw(2, 4))

    def turned(tokens):
        return hamilton_product(hamilton_product(p, tokens), q)

    def normed(tokens):
        return layer(tokens.mT).mT

    close(normed(turned(x)), turned(normed(x)))


@pytest.mark.parametrize("norm", [QuaternionLayerNorm, QuaternionRMSNorm])
def test_norm_of_silence_is_finite(norm):
    x = torch.zeros(2, 4, 3, requires_grad=True)
    y = norm(3)(x)
    y.sum().backward()
    assert torch.isfinite(y).all() and torch.isfinite(x.grad).all()


def test_batch_norm_treats_each_component_of_each_channel_by_itself():
    layer, x = shaken(QuaternionBatchNorm2d(3)), draw(2, 4, 3, 5, 6) * torch.arange(1, 5).view(4, 1, 1, 1) + 3
    mean, var = (stat.clone().view(4, 3) for stat in (layer.running_mean, layer.running_var))
    gain, bias = layer.weight.view(4, 3), layer.bias.view(4, 3)
    y = layer(x)
    for part in range(4):
        for c in range(3):
            scale = gain[part, c] / (var[part, c] + 1e-5).sqrt()
            close(y[:, part, c], (x[:, part, c] - mean[part, c]) * scale + bias[part, c])
    layer.train()
    y = layer(x)
    for part in range(4):
        for c in range(3):
            seen = x[:, part, c]
            expected = (seen - seen.mean()) / (seen.var(correction=0) + 1e-5).sqrt()
            close(y[:, part, c], expected * gain[part, c] + bias[part, c])
            close(layer.running_mean.view(4, 3)[part, c], 0.9 * mean[part, c] + 0.1 * seen.mean())
            close(layer.running_var.view(4, 3)[part, c], 0.9 * var[part, c] + 0.1 * seen.var())


# Recurrence


@pytest.mark.parametrize("training", [False, True])
def test_gru_is_its_equations(training):
    layer, x = shaken(QuaternionGRU(3, 5)).train(training), draw(2, 7, 4, 3)
    y, last = layer(x)

    def times(tokens, w):
        return written_out(tokens.unbind(-2), w, lambda a, b: a @ b.T).movedim(0, -2)

    (w_r, w_z, w_n), (u_r, u_z, u_n) = layer.weight_input, layer.weight_hidden
    (b_r, b_z, b_n), (c_r, c_z, c_n) = layer.bias_input, layer.bias_hidden
    h = torch.zeros(2, 4, 5, dtype=torch.float64)
    for t in range(7):
        now = x[:, t]
        r = torch.sigmoid(times(now, w_r) + b_r + times(h, u_r) + c_r)
        z = torch.sigmoid(times(now, w_z) + b_z + times(h, u_z) + c_z)
        n = torch.tanh(times(now, w_n) + b_n + r * (times(h, u_n) + c_n))
        h = (1 - z) * n + z * h
        close(y[:, t], h)
    close(last, h)


@pytest.mark.parametrize("frames", [1, 16, 37])
def test_gru_in_training_is_that_of_torch(frames):
    x, hidden, seen_by_output, seen_by_last = draw(3, frames, 5), draw(3, 4), draw(3, frames, 4), draw(3, 4)
    weights = [draw(12, 5), draw(12, 4), draw(12), draw(12)]
    arguments = [x, hidden, *weights]
    for argument in arguments:
        argument.requires_grad_()
    expected, last = torch.gru(x, hidden[None], weights, True, 1, 0.0, True, False, True)
    y = gru(x, hidden, tuple(weights))
    close(y, expected)
    gradients = torch.autograd.grad((y * seen_by_output).sum() + (y[:, -1] * seen_by_last).sum(), arguments)
    loss = (expected * seen_by_output).sum() + (last[0] * seen_by_last).sum()
    for gradient, of_torch in zip(gradients, torch.autograd.grad(loss, arguments), strict=True):
        close(gradient, of_torch)


def test_gru_keeps_the_law():
    contract.verify_stream(shaken(QuaternionGRU(3, 5)), draw(4, 17, 4, 3), dim=1)


# Attention


def queries_keys_values(layer, x, heads: int) -> list:
    """Eq. 8 for each head: three tensors (N, H, L, d, 4), quaternions last; Q and K through Eqs. 17-18 if asked."""
    width = x.shape[-1] // heads
    found = []
    for part in range(3):  # the rows of the projection: queries, keys, values, and heads within each
        rows = slice(part * x.shape[-1], (part + 1) * x.shape[-1])
        y = written_out(x.unbind(-2), layer.project.linear.weight[:, rows], lambda a, b: a @ b.T).movedim(0, -1)
        y = y + layer.project.linear.bias[:, rows].T  # N, L, C, 4
        found.append(torch.stack([y[:, :, h * width : (h + 1) * width] for h in range(heads)], 1))
    for part, norm in enumerate((layer.project.norm_q, layer.project.norm_k)):
        if isinstance(norm, QuaternionRMSNorm):
            rms = (found[part].square().sum(-1, keepdim=True) / 4 + 1e-6).sqrt()
            found[part] = found[part] / rms * norm.gain[:, None]
    return found


def project_out(layer, heads_out) -> torch.Tensor:
    """(N, H, L, d, 4) -> (N, L, 4, C) through the output projection."""
    merged = torch.cat(heads_out.unbind(1), 2).mT  # N, L, 4, H d
    y = written_out(merged.unbind(-2), layer.out.weight, lambda a, b: a @ b.T).movedim(0, -2)
    return y + layer.out.bias


def scores(q, k) -> torch.Tensor:
    """Eq. 9: Re(Q (x) K+) / sqrt(4 d), the Hamilton product of each query with each conjugate key, summed over d."""
    pairs = hamilton_product(q[:, :, :, None], conjugate(k)[:, :, None])  # N, H, L, L, d, 4
    return pairs[..., 0].sum(-1) / (4 * q.shape[-2]) ** 0.5


def literal_attention(layer, x, heads: int) -> torch.Tensor:
    """Eqs. 9-13 one after the other."""
    q, k, v = queries_keys_values(layer, x, heads)
    weights = scores(q, k).exp()
    weights = weights / weights.sum(-1, keepdim=True)  # Eq. 11
    parts = [torch.einsum("nhij,nhjd->nhid", weights, v[..., part]) for part in range(4)]  # Eqs. 12-13
    return project_out(layer, torch.stack(parts, -1))


@pytest.mark.parametrize("qk_norm", [True, False])
@pytest.mark.parametrize("heads", [1, 3])
def test_attention_is_equations_8_to_13(heads, qk_norm):
    layer, x = shaken(SharedScoreAttention(6, heads, qk_norm)), draw(2, 5, 4, 6).requires_grad_()
    found, expected = layer(x), literal_attention(layer, x, heads)
    close(found, expected)
    of = [x, *layer.parameters()]
    seed = torch.randn_like(found)
    for a, b in zip(torch.autograd.grad(found, of, seed), torch.autograd.grad(expected, of, seed), strict=True):
        close(a, b, 1e-10)


def test_attention_turns_with_its_input():
    """u (x) x goes in, u (x) y comes out: scores see whole quaternions and values keep them whole, head by head."""
    layer, x = shaken(SharedScoreAttention(6, 3)), draw(2, 5, 6, 4)
    layer.project.linear.bias.data.zero_(), layer.out.bias.data.zero_()
    u = draw(4)
    u = u / modulus(u)
    turned = layer(hamilton_product(u, x).mT).mT
    close(turned, hamilton_product(u, layer(x.mT).mT))


def test_windowed_attention_is_a_loop_over_frames():
    heads, window = 2, 4
    layer, x = shaken(CausalSharedScoreAttention(4, heads, window)), draw(3, 9, 4, 4)
    q, k, v = queries_keys_values(layer, x, heads)
    all_scores, rows = scores(q, k), []
    for t in range(9):
        first = max(0, t - window + 1)
        row = all_scores[:, :, t, first : t + 1] + layer.bias[:, : t + 1 - first].flip(1)  # by distance, now = 0
        weights = row.softmax(-1)
        rows.append((weights[..., None, None] * v[:, :, first : t + 1]).sum(2))
    expected = project_out(layer, torch.stack(rows, 2))
    y, state = layer(x)
    close(y, expected)
    assert state["valid"].tolist() == [[1, 1, 1]] * 3 and state["keys"].shape == (3, heads, 3, 8)


def test_windowed_attention_knows_how_many_frames_there_have_been():
    _, state = CausalSharedScoreAttention(4, 2, window=4)(torch.randn(1, 2, 4, 4))
    assert state["valid"].tolist() == [[0, 1, 1]]


@pytest.mark.parametrize("window", [1, 5, 30])
def test_windowed_attention_keeps_the_law(window):
    contract.verify_stream(shaken(CausalSharedScoreAttention(4, 2, window)), draw(2, 17, 4, 4), dim=1)


@pytest.mark.parametrize("make", [SharedScoreAttention, lambda c, h: CausalSharedScoreAttention(c, h, 4)])
def test_heads_hold_whole_quaternions(make):
    with pytest.raises(ValueError, match="3 heads do not divide 4 quaternion channels"):
        make(4, 3)
