"""Graphs of unknown origin that fail or stall after they were loaded."""

from threading import Event

import graphs
import numpy as np
import pytest
from audio_files import make, tone
from onnx import TensorProto, helper

import qse
from qse.integrations.pcm import PcmStream
from qse.runtime import deadline, engine

SILENCE = np.zeros(1600, np.float32)
SOUND = np.full(1600, 0.5, np.float32)


@pytest.fixture
def failing(tmp_path):
    """A graph that looks up a row that its table has for silence alone."""
    nodes = [
        helper.make_node("ReduceMax", ["audio"], ["most"], keepdims=0),
        helper.make_node("Mul", ["most", "ten"], ["more"]),
        helper.make_node("Cast", ["more"], ["row"], to=TensorProto.INT64),
        helper.make_node("Gather", ["table", "row"], ["found"], axis=0),
        helper.make_node("Add", ["audio", "found"], ["enhanced"]),
    ]
    constants = {"ten": np.float32(10), "table": np.ones((3, 160), np.float32)}
    return graphs.save(tmp_path / "failing" / "model.onnx", nodes, constants, {})


def slow(path, products: int = 3000):
    """A graph of many products of matrices, of some milliseconds each."""
    size = 512
    nodes = [helper.make_node("Slice", ["audio", "zero", "one", "one"], ["sample"])]
    nodes.append(helper.make_node("Add", ["matrix", "sample"], ["m0"]))
    for number in range(products):
        nodes.append(helper.make_node("MatMul", [f"m{number}", "matrix"], [f"m{number + 1}"]))
    nodes.append(helper.make_node("ReduceMean", [f"m{products}"], ["mean"], keepdims=0))
    nodes.append(helper.make_node("Add", ["audio", "mean"], ["enhanced"]))
    matrix = np.full((size, size), 1 / size, np.float32)
    constants = {"matrix": matrix, "zero": np.array([0]), "one": np.array([1])}
    return graphs.save(path, nodes, constants, {})


def test_graph_that_fails_later_says_so(failing, tmp_path, command):
    model = qse.load(failing)
    assert (qse.denoise(SILENCE, 16000, model) == 1).all()
    with pytest.raises(qse.QseError, match=r"model\.onnx cannot be run: .*export it again"):
        qse.denoise(SOUND, 16000, model)
    with pytest.raises(qse.QseError, match=r"model\.onnx cannot be run"):
        model.step(SOUND[:160], model.initial_state())
    make(tmp_path / "a.wav", tone(4000))
    status, _, said = command("denoise", tmp_path / "a.wav", "--model", failing)
    assert status == 1 and "model.onnx cannot be run" in said


def test_slow_graph_is_ended_between_two_operators(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "STEP", 0.05)
    path = slow(tmp_path / "slow" / "model.onnx")
    with pytest.raises(qse.QseError, match=r"model\.onnx took longer than 0\.05 s: choose another"):
        qse.load(path)
    assert not deadline.is_abandoned()


def test_what_cannot_be_ended_is_abandoned(tmp_path, monkeypatch):
    """One huge operator: nobody waits for it any more."""
    monkeypatch.setattr(deadline, "TICK", 0.01)
    ended = Event()
    with pytest.raises(qse.QseError, match=r"a\.onnx took longer than 0\.05 s to load"):
        deadline.within(0.05, ended.wait, tmp_path / "a.onnx")
    assert deadline.is_abandoned()
    ended.set()
    assert deadline.within(60, lambda: 3, tmp_path / "a.onnx") == 3 and not deadline.is_abandoned()
    with pytest.raises(ZeroDivisionError):
        deadline.within(60, lambda: 1 // 0, tmp_path / "a.onnx")


@pytest.mark.parametrize("rate", [1e12, 10_000_001, 999])
def test_array_api_has_the_limits_of_files(delay, rate):
    with pytest.raises(ValueError, match="from 1000 to 10000000 Hz"):
        qse.denoise(np.zeros(4), rate, delay)
    with pytest.raises(ValueError, match="from 1000 to 10000000 Hz"):
        qse.Stream(delay, rate)


def test_pcm_stream_has_at_most_64_channels(delay):
    with pytest.raises(ValueError, match="channels must be from 1 to 64, not 100000"):
        PcmStream(delay, 16000, 100_000)
