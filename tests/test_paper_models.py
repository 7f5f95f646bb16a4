"""The paper's networks: sizes, alignment, the mask's equations, components that stay together, recipes, `qse info`."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from qse.errors import QseError
from qse.losses.composite import LossConfig
from qse.networks import axial_attention as axial
from qse.networks import build_network, enhance
from qse.networks import dilated_densenet as dilated
from qse.networks.axial_attention import ConvModule
from qse.networks.dilated_densenet import GatedLayer, NormedConv, Unit
from qse.networks.paper_models import ROWS, macs
from qse.nn.attention import SharedScoreAttention
from qse.nn.conv import QuaternionConv2d
from qse.nn.conv_attention import ConvolutionAttention
from qse.nn.layout import to_features, to_tokens
from qse.nn.polar import PolarMask
from qse.nn.quaternion import hamilton_product
from qse.train.recipe import read_config
from qse.train.stateful_training import loss_of

RECIPES = Path(__file__).parents[1] / "recipes"
PARAMS = {  # Tables 2 and 3, in millions
    "qconformer": 0.80,
    "qconformer-hamilton": 0.80,
    "qtransformer": 0.62,
    "qtransformer-hamilton": 0.62,
    "qdensenet": 0.74,
    "qtn": 0.63,
    "conformer": 3.19,
}


def tiny(name: str) -> nn.Module:
    """The architecture `name` in miniature."""
    torch.manual_seed(0)
    sizes = {"n_fft": 32, "hop_length": 8, "encoder": (1, 2), "decoder": (2, 1), "layers": 1, "kernel": 5}
    return build_network({"network": name, "channels": 8 if name == "conformer" else 4, **sizes})


def unsettle(network: nn.Module) -> nn.Module:
    """Batch norms, gains, biases and slopes that are not those of a fresh network."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean)
            nn.init.uniform_(module.running_var, 0.5, 2.0)
    for parameter in network.parameters():
        if parameter.ndim < 3:
            nn.init.normal_(parameter, 0.5, 0.3)
    return network


def test_info_lists_every_model_within_five_percent(command):
    status, out, _ = command("info", "models")
    assert status == 0
    listed = {line.split()[0]: float(line.split()[1]) for line in out.splitlines() if line.split()[0] in PARAMS}
    assert listed.keys() == PARAMS.keys()
    assert listed == pytest.approx(PARAMS, rel=0.05)
    assert {row.name: row.params for row in ROWS} == PARAMS


def test_info_without_torch_is_one_sentence():
    block = "import sys; sys.modules['torch'] = None; sys.argv[1:] = ['info', 'models']"
    code = f"{block}; from qse_cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and 'pip install "qse-speech[train]"' in done.stderr


def test_macs_of_a_convolution():
    """Real product by real product; expanding the weights, 16 x 4 for each, is in it."""
    x = torch.empty(1, 4, 3, 7, 5)
    assert macs(NormedConv(3, 2, (3, 3)), x) == (4 * 3) * (4 * 2) * 9 * 7 * 5 + 16 * 4 * (3 * 2 * 9)


@pytest.mark.parametrize("name", PARAMS)
def test_a_mask_of_zeros_gives_the_input_back_in_step(name):
    network = tiny(name).eval()
    last = (network.core.out if name == "conformer" else network.core.decoder.out)[-1]
    nn.init.zeros_(last.weight)
    for samples in (1, 8, 403):
        noisy = 0.3 * torch.randn(2, samples)
        torch.testing.assert_close(enhance(network, noisy), noisy, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", PARAMS)
def test_every_parameter_learns_and_silence_is_finite(name):
    network, loss = tiny(name).train(), loss_of(LossConfig(mrstft=0.0, pesq=0.0, n_fft=32, hop_length=8))
    noisy = 0.1 * torch.randn(2, 400)
    noisy[1] = 0
    loss(network, noisy, 0.5 * noisy)[0].backward()
    for path, parameter in network.named_parameters():
        assert parameter.grad is not None and torch.isfinite(parameter.grad).all(), path
        assert parameter.grad.abs().max() > 0, path


@pytest.mark.parametrize("name", ["qconformer", "qdensenet", "conformer"])
def test_eval_in_pieces_is_eval_at_once(name, monkeypatch):
    network, noisy = unsettle(tiny(name)).eval(), 0.3 * torch.randn(1, 1203)
    expected = network(noisy)
    assert (expected - noisy).abs().max() > 1e-2
    monkeypatch.setattr(axial, "TILE", 40)
    monkeypatch.setattr(dilated, "TILE", 40)
    torch.testing.assert_close(network(noisy), expected, rtol=0, atol=1e-5)


def convolved(conv: NormedConv, x: torch.Tensor, channels: slice) -> torch.Tensor:
    """Convolution and batch norm by other means: some output channels of them, in eval mode."""
    plain = QuaternionConv2d(*conv.weight.shape[2:0:-1], conv.weight.shape[3:], padding=conv.padding, bias=False)
    plain.weight, plain.dilation = conv.weight, conv.dilation
    norm = conv.batch_norm
    y = F.batch_norm(plain(x).flatten(1, 2), norm.running_mean, norm.running_var, norm.weight, norm.bias)
    return y.unflatten(1, (4, -1))[:, :, channels]


def test_gated_layer_is_figure_6c():
    layer, x = unsettle(GatedLayer(3, 2, dilation=2, dropout=0.1)).eval(), torch.randn(2, 4, 3, 9, 5)
    hidden = F.leaky_relu(convolved(layer.widen[0], x, slice(None)), 0.25)
    value, gate = convolved(layer.both, hidden, slice(0, 2)), convolved(layer.both, hidden, slice(2, 4))
    torch.testing.assert_close(layer(x), F.prelu(value, layer.act.weight) * torch.sigmoid(gate), rtol=1e-4, atol=1e-5)


def test_glu_gates_whole_quaternions():
    """Closing the gate of one quaternion channel silences its four components before the convolution, no others."""
    module, seen = ConvModule(4, 3, 0.0).eval(), []
    module.local.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    with torch.no_grad():
        module.widen.bias[:, 4 + 1] = -1e4
    module(torch.randn(2, 6, 4, 4))
    silent = seen[0].abs().amax(dim=(0, 3, 4)) == 0  # 4, C
    assert silent[:, 1].all() and not silent[:, [0, 2, 3]].any()


@pytest.mark.parametrize("kind", [SharedScoreAttention, ConvolutionAttention])
def test_attention_turns_with_its_input(kind):
    """Whole quaternions in every head: turning all input quaternions by one unit quaternion turns the output."""
    torch.manual_seed(0)
    attention, x = kind(8, 4), torch.randn(2, 5, 4, 8)
    turn = F.normalize(torch.randn(4), dim=0)[:, None]
    turned = hamilton_product(turn, x, dim=-2)
    torch.testing.assert_close(attention(turned), hamilton_product(turn, attention(x), dim=-2), rtol=1e-4, atol=1e-5)


def test_mask_of_eqs_68_and_69():
    spec, o = torch.randn(2, 2, 5, 7), 4 * torch.randn(2, 2, 5, 7)
    noisy = torch.complex(spec[:, 0], spec[:, 1])
    expected = torch.polar(2 * torch.sigmoid(o[:, 0]) * noisy.abs(), noisy.angle() + o[:, 1])
    torch.testing.assert_close(PolarMask()(spec, o), torch.view_as_real(expected).movedim(-1, 1), rtol=1e-4, atol=1e-5)


def test_layouts_stay_channels_innermost():
    """What the speed hangs on: units and layers hand on (B, T, F, 4, C) in memory, also for one item."""
    x = to_features(torch.randn(1, 9, 5, 4, 3))
    for layer in (Unit(3, 2, (3, 3)), Unit(3, 2, (1, 1)), GatedLayer(3, 2, 1, 0.1)):
        for mode in (True, False):
            assert to_tokens(layer.train(mode)(x)).is_contiguous()


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
    assert (network.config.n_fft, network.config.hop_length) == stft == (config.loss.n_fft, config.loss.hop_length)
    assert config.mix.samples == seconds * 16000
    loss = config.loss
    assert (loss.mrstft, loss.si_sdr, loss.rms, loss.complex_l1, loss.pesq) == (3.5, 2.0, 1.0, 2.5, 1.0)
    assert (loss.si_sdr_unit, loss.compressed) == (1.0, 0.0)
    train = config.train
    assert (train.batch, train.betas, train.clip_norm) == (batch, (0.5, 0.999), 1.0)
    assert config.dataset == recipe and train.steps == 0
    steps = train.counted(items, processes=1).steps
    assert steps == epochs * (items // batch) == train.counted(2 * items, processes=2).steps
    assert {train.rate(step) for step in (0, 1, steps // 2, steps - 1)} == {rate}


@pytest.mark.parametrize("wrong", [{"attention": "soft"}, {"block": "lstm"}, {"hop_length": 150}, {"heads": 3}])
def test_wrong_configs_are_refused(wrong):
    with pytest.raises(QseError):
        build_network({"network": "qconformer", **wrong})
