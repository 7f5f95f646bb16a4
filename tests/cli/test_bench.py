"""qse bench: numbers of a known model, precisions, requests that are refused."""

import json

import pytest

pytest.importorskip("torch")

import graphs
import onnx
from onnx import TensorProto, helper
from qse_cli.bench import print_table
from qse_papers.bench.precision import CONVERSIONS

from qse import bench


def test_bench_stream_measures_installed_models(models, command, tmp_path):
    status, out, err = command(
        "bench", "stream", "recurrent", "--seconds", 0.01, "--json", tmp_path / "found.json"
    )
    assert (status, err) == (0, "") and "recurrent" in out and "RTF" in out
    (row,) = json.loads((tmp_path / "found.json").read_text())["rows"]
    assert 0 < row["p50"] <= row["p90"] <= row["p99"] <= row["longest"] and 0 < row["rtf"] < 100
    assert (
        row["state_bytes"] == 4 * 2 * graphs.HOP
        and row["operators"] == 7
        and row["macs"] == 100 * graphs.HOP**2
    )
    assert row["memory_bytes"] > 10e6 and row["latency"] == 0.01


def test_bench_keeps_a_file_that_comes_meanwhile(models, command, tmp_path, monkeypatch):
    path = tmp_path / "found.json"
    shown = print_table
    monkeypatch.setattr(
        "qse_cli.bench.print_table", lambda table: (path.write_text("mine"), shown(table))
    )
    line = ("bench", "stream", "recurrent", "--seconds", 0.01, "--json", path)
    status, _, err = command(*line)
    assert (status, err) == (1, f"qse: {path} cannot be written: File exists\n")
    assert path.read_text() == "mine"
    assert command(*line, "--overwrite")[0] == 0 and json.loads(path.read_text())


def test_bench_refuses_before_measuring(models, command, tmp_path):
    status, _, err = command("bench", "stream", "recurrent", "--json", tmp_path / "no" / "x.json")
    assert status == 2 and "there is no folder" in err
    status, _, err = command("bench", "offline", "streaming")
    assert status == 2 and "streaming is not an offline network" in err


def test_bench_precision_changes_the_output_slightly(models, command, tmp_path):
    arguments = "recurrent", "--seconds", 0.01, "--json", tmp_path / "found.json"
    status, _, err = command("bench", "precision", *arguments)
    rows = {
        row["precision"]: row for row in json.loads((tmp_path / "found.json").read_text())["rows"]
    }
    assert (status, err) == (0, "") and list(rows) == ["float32", *CONVERSIONS]
    assert rows["float32"]["snr"] is None and rows["float16"]["bytes"] < rows["float32"]["bytes"]
    assert 50 < rows["float16"]["snr"] < 90  # a mantissa of 11 bits
    assert all(15 < rows[name]["snr"] < 50 for name in rows if name.startswith("int8"))


def test_bench_graphs_leaves_out_offline_models(command, monkeypatch, tmp_path):
    audio = helper.make_tensor_value_info("audio", TensorProto.FLOAT, None)
    enhanced = helper.make_tensor_value_info("enhanced", TensorProto.FLOAT, None)
    copy = helper.make_node("Identity", ["audio"], ["enhanced"])
    graph = helper.make_graph([copy], "offline", [audio], [enhanced])
    opset = helper.make_opsetid("", 17)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=9)
    numbers = {"sample_rate": "16000", "hop_length": "100"}
    helper.set_model_props(model, {"name": "offline", "version": "1", **numbers})
    graphs.recurrent(tmp_path / "recurrent" / "model.onnx")
    (tmp_path / "offline").mkdir()
    onnx.save(model, tmp_path / "offline" / "model.onnx")
    monkeypatch.setenv("QSE_MODELS", str(tmp_path))
    status, out, err = command("bench", "graphs")
    assert (status, err) == (0, "") and "recurrent" in out and "offline" not in out
    status, _, err = command("bench", "graphs", "offline")
    assert status == 1 and "offline needs whole recordings and cannot stream" in err


def test_bench_refuses_unknown_names(models, command):
    status, _, err = command("bench", "layers", "live-base")
    assert (status, err) == (2, "qse: layers is measured without a model: leave live-base out\n")
    status, _, err = command("bench", "speed")
    assert (status, err) == (
        2,
        f"qse: no topic called speed: there are {', '.join(bench.TOPICS)}\n",
    )
    status, _, err = command("bench", "stream", "nothing")
    assert status == 1 and "no model called nothing" in err


def test_bench_without_models_is_one_sentence(command, monkeypatch, tmp_path):
    monkeypatch.setattr("qse.bench.models.available", lambda: [])
    status, _, err = command("bench", "stream")
    assert (
        status == 1
        and err.startswith("qse: no trained model is installed: name one")
        and err.count("\n") == 1
    )
