"""Check what computes a GRU, by device, type and size, without a GPU and without Triton."""

import sys
import types
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from qse.networks import build_network
from qse.nn import gru_choice, recurrent
from qse.nn.gru import gru
from qse.nn.gru_choice import MOST_UNITS, chosen_gru
from qse.nn.recurrent import QuaternionGRU
from qse.train.recipe import read_config

CUDA = torch.device("cuda", 0)
RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture
def asked(monkeypatch):
    """The types and units for which a kernel was asked, which every call gets."""
    requests = []

    def kernel(device, product, units):
        assert device == CUDA
        requests.append((product, units))
        return "kernel"

    monkeypatch.setattr(gru_choice, "_kernel", kernel)
    return requests


@pytest.fixture
def autocast():
    """Switch autocast of CUDA on, as torch.autocast does where there is a GPU."""
    before = torch.get_autocast_dtype("cuda")

    def switch(kind):
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", kind)

    yield switch
    torch.set_autocast_enabled("cuda", False)
    torch.set_autocast_dtype("cuda", before)


@pytest.fixture
def card(monkeypatch):
    """A graphics card that can run the kernel; the choices for it are made anew."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    kernel = torch.compiler.disable(gru_choice._kernel.__wrapped__.__wrapped__)
    monkeypatch.setattr(gru_choice, "_kernel", kernel)


def module(monkeypatch, gru) -> None:
    """Stand in for gru_kernel, which cannot be imported without Triton."""
    stand_in = types.SimpleNamespace(gru=gru)
    monkeypatch.setitem(sys.modules, "qse.nn.gru_kernel", stand_in)
    monkeypatch.setattr("qse.nn.gru_kernel", stand_in, raising=False)


def on_cpu(x, hidden, weights, product):
    return gru(x, hidden, weights).to(x.dtype)


def test_cpu_has_its_own_recurrence_for_training(asked):
    assert chosen_gru(torch.device("cpu"), torch.float32, 32, True) is gru
    assert chosen_gru(torch.device("cpu"), torch.float32, 32, False) is None
    assert asked == []


@pytest.mark.parametrize("device", ["meta", "mps"])
def test_other_devices_have_torch(asked, device):
    assert chosen_gru(torch.device(device), torch.float32, 32, True) is None
    assert asked == []


@pytest.mark.parametrize("training", [False, True])
def test_cuda_has_the_kernel_where_it_fits(asked, autocast, training):
    assert chosen_gru(CUDA, torch.float32, 64, training) == "kernel"
    assert chosen_gru(CUDA, torch.float32, 65, training) is None
    assert chosen_gru(CUDA, torch.float64, 32, training) is None
    autocast(torch.bfloat16)
    assert chosen_gru(CUDA, torch.float32, 128, training) == "kernel"
    assert chosen_gru(CUDA, torch.float32, 129, training) is None
    autocast(torch.float16)
    assert chosen_gru(CUDA, torch.float32, 80, training) == "kernel"
    assert asked == [(torch.float32, 64), (torch.bfloat16, 128), (torch.float16, 80)]


def test_all_recipes_fit_in_bfloat16():
    sizes = {}
    for path in RECIPES.glob("*.toml"):
        network = build_network(read_config(path).model)
        for layer in network.modules():
            if isinstance(layer, QuaternionGRU):
                sizes.setdefault(path.stem, set()).add(layer.bias_hidden[0].numel())
    assert sizes["base-48k"] == {80} and sizes["live-tiny"] == {32} and sizes["live-large"] == {128}
    assert max(set.union(*sizes.values())) <= MOST_UNITS[torch.bfloat16]


def test_missing_triton_is_no_error(monkeypatch, card):
    monkeypatch.delitem(sys.modules, "qse.nn.gru_kernel", raising=False)
    monkeypatch.delattr("qse.nn.gru_kernel", raising=False)
    monkeypatch.setitem(sys.modules, "triton", None)
    with warnings.catch_warnings(action="error"):
        assert gru_choice._kernel(CUDA, torch.float32, 32) is None


@pytest.mark.parametrize(("capability", "hip"), [((7, 5), None), ((9, 4), "7.1")])
def test_cards_without_bfloat16_and_of_amd_have_torch(monkeypatch, card, capability, hip):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.version, "hip", hip)
    module(monkeypatch, on_cpu)
    assert gru_choice._kernel(torch.device("cpu"), torch.float32, 32) is None


def test_kernel_is_tried_forward_and_backward_before_it_is_chosen(monkeypatch, card):
    calls = []

    def recorded(x, hidden, weights, product):
        calls.append((torch.is_grad_enabled(), product))
        return on_cpu(x, hidden, weights, product)

    module(monkeypatch, recorded)
    chosen = gru_choice._kernel(torch.device("cpu"), torch.bfloat16, 32)
    assert calls == [(False, torch.bfloat16), (True, torch.bfloat16)]
    assert chosen.func is recorded


def test_kernel_that_does_not_run_is_left_out_with_a_warning(monkeypatch, card):
    def failing(*_, product):
        raise RuntimeError("out of resource: shared memory\nRequired: 106496")

    module(monkeypatch, failing)
    with pytest.warns(UserWarning, match=r"80 units uses cuDNN.* on cpu: out of resource: shared"):
        assert gru_choice._kernel(torch.device("cpu"), torch.bfloat16, 80) is None


def test_layer_uses_what_is_chosen(monkeypatch):
    layer = QuaternionGRU(3, 5).eval()
    x = torch.randn(4, 9, 4, 3)
    state = torch.randn(4, 4, 5)
    expected, end = layer(x, state)
    asked = []

    def chosen(*question):
        asked.append(question)
        return gru

    monkeypatch.setattr(recurrent, "chosen_gru", chosen)
    y, last = layer(x, state)
    assert asked == [(torch.device("cpu"), torch.float32, 20, False)]
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(last, end)
