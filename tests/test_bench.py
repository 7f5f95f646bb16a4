"""Benchmarks: that what is compared computes the same, and that counts are right. How fast it is, no test says."""

import copy
import json
import re
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import graphs
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper
from qse_cli.bench import _print
from torch.nn import functional as F

from qse import bench
from qse.bench import attention, count, forms, layers, train
from qse.bench.models import graphs as models_of
from qse.bench.models import network
from qse.bench.precision import CONVERSIONS
from qse.bench.table import Column, Table
from qse.errors import QseError
from qse.machine import machine
from qse.networks import build_network
from qse.nn.hamilton import component_attention, folded_attention, written_out_
from qse.nn.quaternion import hamilton_product
from qse.runtime import timing as clock

HEADS, TOKENS, D = 2, 5, 3


# The clock and the table


def test_calls_take_turns_and_the_first_ones_do_not_count():
    order = []
    calls = {name: lambda name=name: order.append(name) for name in "ab"}
    times = clock.race(calls, 0.0, group=2, warmup=3, least=2)
    assert "".join(order) == "aaaaaabbbbbb" + "aabb" * (len(times["a"].seconds) // 2)
    assert len(times["a"].seconds) == len(times["b"].seconds) >= 4


def test_quantiles_of_known_times():
    times = clock.Times(np.arange(101) / 100)
    assert times.median == 0.5 and times.quantile(0.99) == pytest.approx(0.99) and times.longest == 1
    assert times.mean == pytest.approx(0.5)


def test_a_table_shows_units_and_keeps_plain_numbers():
    columns = (Column("name", "model"), Column("p50", "µs", ".1f", 1e6), Column("paper", "paper", ".2f"))
    rows = [{"name": "x", "p50": 2.5e-4}, {"name": "y", "p50": 1e-3, "paper": 1.27}]
    table = Table("stream", columns, rows, machine(1), ("A note.",))
    assert set(machine(1).packages) == {"qse-speech", "numpy", "onnxruntime", "torch"}
    assert table.cells() == [["x", "250.0", "-"], ["y", "1000.0", "1.27"]]
    plain = json.loads(json.dumps(table.plain()))
    assert plain["rows"][0]["p50"] == 2.5e-4 and plain["machine"]["threads"] == 1 and plain["notes"] == ["A note."]


def test_on_a_narrow_terminal_a_table_is_turned(capsys, monkeypatch):
    def printed(width):
        monkeypatch.setenv("COLUMNS", str(width))
        _print(Table("stream", columns, [{"name": "x", "p50": 2.5e-4}, {"name": "y", "p50": 1e-3}]))
        plain = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out)
        return [line.split() for line in plain.splitlines()]

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    columns = Column("name", "model"), *[Column("p50", "µs", ".1f", 1e6)] * 3
    head, x, y = ["model", "µs", "µs", "µs"], ["x", *["250.0"] * 3], ["y", *["1000.0"] * 3]
    assert printed(40) == [head, x, y]
    assert printed(30) == [list(line) for line in zip(head, x, y, strict=True)]
    assert printed(20) == [head, x, y]  # nothing is cut off where neither has room


# Attention


def hamilton(q, k, v):
    """Eqs. 14-16 from the Hamilton product itself, (1, H, T, 4, d)."""
    score = hamilton_product(q[:, :, :, None], k[:, :, None], dim=-2).sum(-1) / D**0.5  # 1, H, T, T, 4
    return torch.einsum("nhstc,nhtcd->nhscd", score.softmax(3), v)


def shared(q, k, v):
    """Eqs. 9-13."""
    score = torch.einsum("nhscd,nhtcd->nhst", q, k) / (4 * D) ** 0.5
    return torch.einsum("nhst,nhtcd->nhscd", score.softmax(-1), v)


@pytest.mark.parametrize("form", forms.FORMS)
def test_every_form_in_torch_computes_its_attention(form):
    q, k, v = torch.randn(3, 1, HEADS, TOKENS, 4, D, dtype=torch.float64)
    expected = shared if form.startswith("shared") else hamilton
    torch.testing.assert_close(forms.FORMS[form](q, k, v), expected(q, k, v), rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", attention.ONNX)
def test_every_form_in_onnx_runtime_computes_what_torch_does(form):
    q, k, v = torch.randn(3, 1, HEADS, TOKENS, 4, D)
    session = ort.InferenceSession(forms.onnx_graph(form, HEADS, TOKENS, D))
    fused = form in ("shared, fused", "hamilton, folded")
    order = (0, 2, 1, 3, 4) if fused else (0, 3, 1, 2, 4)  # 1, T, H, 4, d or 1, 4, H, T, d
    feed = {
        name: x.permute(order).reshape(session.get_inputs()[0].shape).numpy()
        for name, x in zip("qkv", (q, k, v), strict=True)
    }
    (found,) = session.run(None, feed)
    expected = forms.FORMS[form](q, k, v).permute(order).reshape(found.shape)
    np.testing.assert_allclose(found, expected.numpy(), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("tokens", "ours", "theirs"), [(512, 134e6, 336e6), (4096, 8.59e9, 21.5e9)])
def test_products_are_those_of_table_9(tokens, ours, theirs):
    """The paper counts d_model = 64 quaternions, 8 heads: 4 d = 32 real channels of each head."""
    assert attention._macs("shared, fused", tokens) == pytest.approx(ours, rel=3e-3)
    assert attention._macs("hamilton, folded", tokens) == pytest.approx(theirs, rel=3e-3)


def test_peak_memory_counts_what_is_alive_at_once():
    def call():
        a = torch.zeros(1000)
        b = a + 1
        del a
        c = b + 1  # noqa: F841
        return b.view(10, 100)

    with attention.Alive() as alive:
        call()
    assert alive.peak == 2 * 4000


def test_attention_has_a_row_for_every_form():
    table = attention.bench(bench.Request(seconds=0.0), tokens=(8,))
    found = {(row["engine"], row["form"]) for row in table.rows}
    assert {("torch", form) for form in forms.FORMS} | {("ONNX Runtime", form) for form in attention.ONNX} <= found
    literal = next(row for row in table.rows if row["form"] == "hamilton, 16 products")
    assert literal["memory_bytes"] >= 4 * attention.HEADS * 4 * 8 * 8 and all(table.cells())


# Layers


@pytest.mark.parametrize("form", layers.FORMS)
def test_every_form_of_a_layer_is_the_hamilton_product(form):
    x, weight = torch.randn(6, 4, 3, dtype=torch.float64), torch.randn(4, 2, 3, dtype=torch.float64)
    expected = hamilton_product(x[:, :, None], weight[None], dim=1).sum(-1)  # 6, 4, out
    torch.testing.assert_close(layers.FORMS[form](F.linear, x, weight), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", layers.SIZES)
def test_all_forms_of_a_layer_agree(size):
    calls = layers._calls(*layers.SIZES[size])
    expected = calls["real matrix"][0]()
    for form, (call, leaves) in calls.items():
        found = call()
        torch.testing.assert_close(found.reshape(expected.shape), expected, rtol=0, atol=2e-4)
        assert all(gradient.any() for gradient in torch.autograd.grad(found.sum(), leaves)), form


# Networks


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(
        '[model]\nnetwork = "live"\nn_fft = 64\nhop_length = 32\nranges = [[32, 2]]\nchannels = [2, 2, 4]\n'
        "growth = 2\ndilations = [1, 2]\nblocks = 1\nheads = 2\n"
    )
    return path


def test_a_network_of_a_recipe_is_the_same_every_time(recipe):
    first, second = network(str(recipe)), network(str(recipe))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    with pytest.raises(QseError, match="no network called nothing: give a recipe"):
        network("nothing")


def test_training_gives_every_weight_a_gradient(recipe):
    live = network(str(recipe))
    for precision in ("float32", "bfloat16"):
        train.stepper(live, 2, precision)()
        idle = [name for name, weight in live.named_parameters() if weight.grad is None]
        assert not idle


def test_literal_hamilton_attention_is_the_folded_one():
    n_fft, hop = 32, 16
    folded = build_network({"network": "qtransformer-hamilton", "n_fft": n_fft, "hop_length": hop}).eval()
    literal, x = written_out_(copy.deepcopy(folded)), torch.randn(1, 200)
    kinds = [{part.attend for part in network.modules() if hasattr(part, "attend")} for network in (folded, literal)]
    assert kinds == [{folded_attention}, {component_attention}]
    with torch.inference_mode():
        torch.testing.assert_close(literal(x), folded(x), rtol=0, atol=1e-5)


# Counts


def test_macs_by_hand(tmp_path):
    """Conv 3 -> 5, kernel 2 x 3, 4 x 7 outputs; Gemm 6 x 8 by 8 x 9; MatMul 2 x (3 x 4 by 4 x 5); per second."""

    def value(name, *shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    inputs = [value("audio", 1, 160), value("state.a", 2, 3), value("state.b", 7)]
    inputs += [value("x", 1, 3, 5, 9), value("w", 5, 3, 2, 3), value("g", 8, 6), value("h", 8, 9)]
    inputs += [value("m", 2, 3, 4), value("n", 2, 4, 5)]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["conv"]),
        helper.make_node("Gemm", ["g", "h"], ["gemm"], transA=1),
        helper.make_node("MatMul", ["m", "n"], ["matmul"]),
    ]
    outputs = [value("conv", 1, 5, 4, 7), value("gemm", 6, 9), value("matmul", 2, 3, 5)]
    model = helper.make_model(helper.make_graph(nodes, "hand", inputs, outputs))
    helper.set_model_props(model, {"sample_rate": "16000", "hop_length": "160"})
    onnx.save(model, tmp_path / "model.onnx")
    per_hop = 5 * 4 * 7 * 3 * 2 * 3 + 6 * 8 * 9 + 2 * 3 * 4 * 5
    found = count.cost(tmp_path / "model.onnx")
    assert found == count.Cost(3, 100 * per_hop, 4 * (6 + 7), (tmp_path / "model.onnx").stat().st_size)


# The command


def test_bench_stream_measures_models_of_the_zoo(models, command, tmp_path):
    status, out, err = command("bench", "stream", "recurrent", "--seconds", 0.01, "--json", tmp_path / "found.json")
    assert (status, err) == (0, "") and "recurrent" in out and "RTF" in out
    (row,) = json.loads((tmp_path / "found.json").read_text())["rows"]
    assert 0 < row["p50"] <= row["p90"] <= row["p99"] <= row["longest"] and 0 < row["rtf"] < 100
    assert row["state_bytes"] == 4 * 2 * graphs.HOP and row["operators"] == 7 and row["macs"] == 100 * graphs.HOP**2
    assert row["memory_bytes"] > 10e6 and row["latency"] == 0.01


def test_what_bench_cannot_do_is_told_before_it_measures(models, command, tmp_path):
    status, _, err = command("bench", "stream", "recurrent", "--json", tmp_path / "no" / "x.json")
    assert status == 2 and "there is no folder" in err
    status, _, err = command("bench", "offline", "live")
    assert status == 2 and "live is no network for whole files" in err


def test_fewer_bits_change_the_output_a_little(models, command, tmp_path):
    arguments = "recurrent", "--seconds", 0.01, "--json", tmp_path / "found.json"
    status, _, err = command("bench", "precision", *arguments)
    rows = {row["precision"]: row for row in json.loads((tmp_path / "found.json").read_text())["rows"]}
    assert (status, err) == (0, "") and list(rows) == ["float32", *CONVERSIONS]
    assert rows["float32"]["snr"] is None and rows["float16"]["bytes"] < rows["float32"]["bytes"]
    assert 50 < rows["float16"]["snr"] < 90  # a mantissa of 11 bits
    assert all(15 < rows[name]["snr"] < 50 for name in rows if name.startswith("int8"))


def test_a_model_that_does_not_stream_is_left_out_and_refused_by_name(command, monkeypatch, tmp_path):
    spec, enhanced = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("spec", "enhanced"))
    copy = helper.make_node("Identity", ["spec"], ["enhanced"])
    graph, opset = helper.make_graph([copy], "whole", [spec], [enhanced]), helper.make_opsetid("", 17)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=9)
    numbers = {"sample_rate": "16000", "n_fft": "400", "hop_length": "100"}
    helper.set_model_props(model, {"name": "whole", "version": "1", **numbers})
    graphs.recurrent(tmp_path / "recurrent" / "model.onnx")
    (tmp_path / "whole").mkdir()
    onnx.save(model, tmp_path / "whole" / "model.onnx")
    monkeypatch.setenv("QSE_MODELS", str(tmp_path))
    status, out, err = command("bench", "graphs")
    assert (status, err) == (0, "") and "recurrent" in out and "whole" not in out
    status, _, err = command("bench", "graphs", "whole")
    assert status == 1 and "whole needs whole recordings and cannot stream" in err


def test_recipes_of_one_name_are_two_rows(recipe, tmp_path):
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / recipe.name
    other.write_text(recipe.read_text().replace("growth = 2", "growth = 4"))
    with models_of((str(recipe),)) as found:
        assert list(found) == ["small, untrained"]
    graphs.recurrent(tmp_path / "small" / "model.onnx")
    with models_of((str(recipe), str(tmp_path / "small"))) as found:
        assert list(found) == ["small, untrained", str(tmp_path / "small")]
    with models_of((str(recipe), str(other))) as found:
        sizes = {path.stat().st_size for path in found.values()}
    assert list(found) == [f"{recipe}, untrained", f"{other}, untrained"] and len(sizes) == 2


def test_bench_says_what_it_does_not_know(models, command):
    status, _, err = command("bench", "layers", "live-base")
    assert (status, err) == (2, "qse: layers is measured without a model: leave live-base out\n")
    status, _, err = command("bench", "speed")
    assert (status, err) == (2, f"qse: no topic called speed: there is {', '.join(bench.TOPICS)}\n")
    status, _, err = command("bench", "stream", "nothing")
    assert status == 1 and "no model called nothing" in err


def test_bench_without_a_model_is_one_sentence(command, monkeypatch, tmp_path):
    monkeypatch.setattr("qse.bench.models.available", lambda: [])
    status, _, err = command("bench", "stream")
    assert status == 1 and err.startswith("qse: no trained model is installed: name one") and err.count("\n") == 1
