"""Recordings in pieces with a run-in."""

from concurrent.futures import ThreadPoolExecutor

import graphs
import numpy as np
import pytest

from qse import Engine
from qse.runtime import split_channel
from qse.runtime.denoise import enhance


@pytest.fixture(autouse=True)
def short_run_in(monkeypatch):
    monkeypatch.setattr(split_channel.SplitChannel.__init__, "__defaults__", (0.1,))


def noise(samples: int, channels: int = 1) -> np.ndarray:
    random = np.random.default_rng(samples)
    return (0.3 * random.standard_normal((samples, channels))).astype(np.float32)


def enhanced(engine, audio, split, threads=0, block=1001) -> np.ndarray:
    blocks = [audio[start : start + block] for start in range(0, len(audio), block)]
    with ThreadPoolExecutor(max(1, threads)) as pool:
        used = pool if threads else None
        return np.concatenate(list(enhance(blocks, 16000, engine, pool=used, split=split)))


@pytest.mark.parametrize("shift", [None, 50, graphs.HOP // 2])
@pytest.mark.parametrize("samples", [1, 4000, 4001, 30000])
@pytest.mark.parametrize("split", [0.05, 0.25, 0.3])
def test_pieces_of_a_model_without_memory_are_the_whole(tmp_path, shift, samples, split):
    second = {} if shift is None else {"second_grid": shift}
    engine = Engine(graphs.delay(tmp_path / "model.onnx", **second))
    audio = noise(samples)
    expected = enhanced(engine, audio, None)
    for block in (1001, 20000):
        pieces = enhanced(engine, audio, split, block=block)
        np.testing.assert_array_equal(pieces, expected)


def test_each_piece_begins_with_its_run_in_and_no_state(tmp_path):
    """Pieces of 0.25 s: 25 hops; a run-in of 0.1 s: 10 hops."""
    engine = Engine(graphs.recurrent(tmp_path / "model.onnx"))
    audio = noise(16000)
    pieces = enhanced(engine, audio, 0.25)
    for number in range(4):
        begin = max(0, 4000 * number - 1600)
        alone = enhanced(engine, audio[begin : 4000 * number + 5000], None)
        part = slice(4000 * number, 4000 * number + 4000)
        np.testing.assert_array_equal(pieces[part], alone[4000 * number - begin :][:4000])
    assert not np.array_equal(pieces, enhanced(engine, audio, None))


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_the_number_of_threads_changes_nothing(tmp_path, threads):
    engine = Engine(graphs.recurrent(tmp_path / "model.onnx", second_grid=50))
    audio = noise(20000, 2)
    expected = enhanced(engine, audio, 0.25)
    np.testing.assert_array_equal(enhanced(engine, audio, 0.25, threads), expected)


def test_a_recording_in_pieces_that_is_given_up_ends(tmp_path):
    engine = Engine(graphs.recurrent(tmp_path / "model.onnx"))
    with ThreadPoolExecutor(2) as pool:
        blocks = iter([noise(1000)] * 50)
        used = enhance(blocks, 16000, engine, pool=pool, split=0.25)
        next(used)
        used.close()
