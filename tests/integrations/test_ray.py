"""The callable class by itself, and in two actors of a local Ray cluster."""

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
    return {"audio": audio, **{key: np.array([item[key] for item in items]) for key in ("sample_rate", "id")}}


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


def test_denoise_names_missing_column(recurrent):
    with pytest.raises(KeyError, match="sample_rate"):
        Denoise(recurrent.path)({"audio": np.zeros((1, 100))})


def test_denoise_in_two_actors_equals_one_process(recurrent):
    ray = pytest.importorskip("ray")
    pytest.importorskip("pyarrow")
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        data = ray.data.from_items(list(rows(12))).repartition(4)
        strategy = ray.data.ActorPoolStrategy(size=2)
        options = {"model": str(recurrent.path), "strength": 12}
        mapped = data.map_batches(Denoise, fn_constructor_kwargs=options, compute=strategy, batch_size=3)
        found = {row["id"]: row["audio"] for row in mapped.take_all()}
    finally:
        ray.shutdown()
    assert sorted(found) == list(range(12))
    for item in rows(12):
        expected = qse.denoise(item["audio"], item["sample_rate"], recurrent, strength=12)
        assert (np.asarray(found[item["id"]], np.float32) == expected).all()
