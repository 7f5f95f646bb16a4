"""The callable class by itself, and in two actors of a local Ray cluster."""

import os
import signal

import numpy as np
import pytest

import qse
from qse.integrations.ray import Denoise


def rows(count=8):
    rng = np.random.default_rng(0)
    for number in range(count):
        audio = 0.1 * rng.standard_normal(4000 + 100 * number).astype(np.float32)
        yield {"audio": audio, "sample_rate": 16000 if number % 2 else 22050, "id": number}


def batch_of(items):
    audio = np.empty(len(items), object)
    audio[:] = [item["audio"] for item in items]
    rates = np.array([item["sample_rate"] for item in items])
    ids = np.array([item["id"] for item in items])
    return {"audio": audio, "sample_rate": rates, "id": ids}


def test_denoise_batch_equals_qse_denoise(recurrent):
    out = Denoise(recurrent.path, strength=12)(batch_of(list(rows())))
    assert out["id"].tolist() == list(range(8))
    for item, enhanced in zip(rows(), out["audio"], strict=True):
        expected = qse.denoise(item["audio"], item["sample_rate"], recurrent, strength=12)
        assert enhanced.dtype == np.float32 and (enhanced == expected).all()


def test_denoise_batch_of_equal_lengths(recurrent):
    audio = 0.1 * np.random.default_rng(0).standard_normal((3, 800, 2))
    out = Denoise(recurrent.path, audio="sound", sample_rate=16000)({"sound": audio})
    assert out["sound"].shape == audio.shape and out["sound"].dtype == audio.dtype
    assert (out["sound"][1] == qse.denoise(audio[1], 16000, recurrent)).all()
    assert len(Denoise(recurrent.path, sample_rate=16000)({"audio": audio[:0]})["audio"]) == 0


def test_denoise_batch_of_mono_and_multichannel_rows(recurrent):
    rng = np.random.default_rng(0)
    rows = [0.1 * rng.standard_normal(shape) for shape in [800, (800, 2), (800, 2)]]
    nested = np.empty(800, object)  # as Arrow returns a list of lists
    for number, sample in enumerate(rows[1]):
        nested[number] = sample
    batch = {"audio": np.empty(4, object)}
    for number, row in enumerate([*rows, nested]):
        batch["audio"][number] = row
    out = Denoise(recurrent.path, sample_rate=16000)(batch)
    for row, enhanced in zip([*rows, rows[1]], out["audio"], strict=True):
        np.testing.assert_array_equal(enhanced, qse.denoise(row, 16000, recurrent))
    assert out["qse_state"].tolist() == ["done"] * 4


def test_denoise_marks_a_bad_row_and_goes_on(recurrent):
    items = list(rows(4))
    items[1]["audio"] = np.array([0.1, np.nan], np.float32)
    items[2]["sample_rate"] = 3
    items[3]["sample_rate"] = np.inf
    items.append(list(rows(2))[1])
    batch = batch_of(items)
    out = Denoise(recurrent.path)(batch)
    assert out["qse_state"].tolist() == ["done", "failed", "failed", "failed", "done"]
    assert "NaN" in out["qse_error"][1] and "sample_rate" in out["qse_error"][2]
    assert out["audio"][2] is items[2]["audio"] and out["qse_error"][0] == ""
    assert (out["audio"][4] == qse.denoise(items[4]["audio"], 16000, recurrent)).all()
    with pytest.raises(ValueError, match="qse_state already: rename it"):
        Denoise(recurrent.path)(batch | {"qse_state": batch["id"]})


def test_denoise_names_missing_column(recurrent):
    with pytest.raises(KeyError, match="sample_rate"):
        Denoise(recurrent.path)({"audio": np.zeros((1, 100))})


@pytest.fixture
def cluster():
    """Ray, with a local cluster of four cores."""
    ray = pytest.importorskip("ray")
    pytest.importorskip("pyarrow")
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield ray
    ray.shutdown()


def mapped(ray, worker, model):
    """Return the enhanced audio of twelve rows by their ids, from two actors of the class `worker`,
    and the actors' ids."""
    data = ray.data.from_items(list(rows(12))).repartition(4)
    options = {"model": str(model), "strength": 12}
    actors = ray.data.ActorPoolStrategy(size=2)
    done = data.map_batches(
        worker, fn_constructor_kwargs=options, compute=actors, batch_size=3
    ).take_all()
    assert sorted(row["id"] for row in done) == list(range(12))  # nothing is lost, nothing twice
    return {row["id"]: row["audio"] for row in done}, {row.get("process") for row in done}


def check_equal_to_one_process(found, model):
    for item in rows(12):
        expected = qse.denoise(item["audio"], item["sample_rate"], model, strength=12)
        assert (np.asarray(found[item["id"]], np.float32) == expected).all()


def test_denoise_in_two_actors_equals_one_process(cluster, recurrent):
    found, _ = mapped(cluster, Denoise, recurrent.path)
    check_equal_to_one_process(found, recurrent)


def test_denoise_killed_actor_loses_nothing(cluster, recurrent, tmp_path):
    """One of two actors ends by SIGKILL in the middle of a batch; Ray starts another one and
    repeats the batch."""
    marker = tmp_path / "killed"

    class Mortal(Denoise):
        def __call__(self, batch):
            done = super().__call__(batch)
            if 7 in batch["id"]:
                try:
                    marker.touch(exist_ok=False)
                except FileExistsError:
                    pass
                else:
                    os.kill(os.getpid(), signal.SIGKILL)
            return done | {"process": np.full(len(batch["id"]), os.getpid())}

    found, processes = mapped(cluster, Mortal, recurrent.path)
    assert marker.exists() and processes
    check_equal_to_one_process(found, recurrent)
