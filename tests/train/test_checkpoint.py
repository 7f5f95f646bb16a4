"""Checkpoint files: contents, and what a failing write leaves."""

import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from small_training import same

from qse.errors import QseError
from qse.networks import weights
from qse.train import checkpoint


def test_checkpoint_save_and_load(tmp_path):
    tensors = {
        "model.a": torch.randn(3, 2).t(),
        "model.b": torch.tensor(7),
        "average.a": torch.ones(1),
    }
    checkpoint.save(tmp_path / "c.safetensors", tensors, {"step": "3"}, None)
    found, header = weights.load_tensors(tmp_path / "c.safetensors")
    same(found, tensors)
    assert header == {"step": "3"} and os.listdir(tmp_path) == ["c.safetensors"]
    (tmp_path / "beside").touch()
    assert (tmp_path / "c.safetensors").stat().st_mode == (tmp_path / "beside").stat().st_mode
    assert weights.pick(found, "model").keys() == {"a", "b"}


def test_checkpoint_saves_tied_weights(tmp_path):
    weight = torch.randn(3, 2)
    tensors = {"model.a": weight, "model.b": weight, "model.c": weight[1:]}
    checkpoint.save(tmp_path / "c.safetensors", tensors, {}, None)
    same(weights.load_tensors(tmp_path / "c.safetensors")[0], tensors)


@pytest.mark.parametrize("error", [OSError("No space left on device"), KeyboardInterrupt()])
def test_checkpoint_save_failing_keeps_the_last_one(tmp_path, monkeypatch, error):
    path = tmp_path / "c.safetensors"
    checkpoint.save(path, {"a": torch.ones(3)}, {"step": "1"}, None)

    write = Path.write_bytes

    def half(path, data):
        write(path, data[: len(data) // 2])
        raise error

    with monkeypatch.context() as patch, pytest.raises((QseError, KeyboardInterrupt)) as raised:
        patch.setattr(Path, "write_bytes", half)
        checkpoint.save(path, {"a": torch.zeros(3)}, {"step": "2"}, None)
    found, header = weights.load_tensors(path)
    assert torch.equal(found["a"], torch.ones(3)) and header == {"step": "1"}
    if isinstance(error, OSError):
        assert f"{path}: cannot write the checkpoint (No space left on device)" in str(raised.value)
        assert os.listdir(tmp_path) == ["c.safetensors"]


def test_weights_load_names_damaged_files(tmp_path):
    (tmp_path / "torn.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{")
    for name in ("torn.safetensors", "none.safetensors"):
        with pytest.raises(QseError, match=f"{name}: cannot read the checkpoint"):
            weights.load_tensors(tmp_path / name)


def reshaped(tensors, start):
    """Return a tensor of another shape for the first name that begins with `start`."""
    return {next(name for name in tensors if name.startswith(start)): torch.zeros(3, 5)}


@pytest.mark.parametrize(
    "damage, words",
    [
        (lambda tensors, header: header.pop("seconds"), "no valid 'seconds'"),
        (lambda tensors, header: header.update(step="many"), "no valid 'step'"),
        (lambda tensors, header: header.update(best="good"), "no valid 'best'"),
        (lambda tensors, header: header.update(sums="[1, 2]"), "no valid 'sums'"),
        (
            lambda tensors, header: tensors.pop(
                next(name for name in tensors if name.startswith("average"))
            ),
            "names",
        ),
        (lambda tensors, header: tensors.update({"optimizer.step.x": torch.ones(1)}), "names"),
        (lambda tensors, header: tensors.update(reshaped(tensors, "average.")), "shapes"),
        (lambda tensors, header: tensors.update(reshaped(tensors, "optimizer.exp_avg.")), "shapes"),
    ],
    ids=[
        *("no number", "no integer", "no score", "no table", "no average", "unknown parameter"),
        *("another average", "another momentum"),
    ],
)
def test_checkpoint_load_refuses_a_damaged_file(
    finished_run, training_audio, tmp_path, damage, words
):
    """Also through a resumed run, which then writes nothing."""
    from small_training import CONFIG, job

    from qse.train.run import train

    tensors, header = weights.load_tensors(finished_run[0] / "checkpoint.safetensors")
    damage(tensors, header)
    checkpoint.save(tmp_path / "checkpoint.safetensors", tensors, header, None)
    with pytest.raises(QseError, match=f"checkpoint.safetensors: is damaged.*{words}"):
        train(CONFIG, job(training_audio, tmp_path, resume=True))
    assert os.listdir(tmp_path) == ["checkpoint.safetensors"]


def test_resume_refuses_a_checkpoint_that_would_fill_the_memory(
    finished_run, training_audio, tmp_path, monkeypatch
):
    """By the shapes in its header, before anything is read."""
    from small_training import CONFIG, job

    from qse.train.run import train

    tensors, header = weights.load_tensors(finished_run[0] / "checkpoint.safetensors")
    size = weights.network_of(finished_run[0] / "config.toml").size
    monkeypatch.setattr(weights, "MOST_NUMBERS", 10_000)
    large = tensors | {"carried.0.x": torch.zeros(checkpoint.COPIES * size + 10_000)}
    checkpoint.save(tmp_path / "checkpoint.safetensors", large, header, None)
    with pytest.raises(QseError, match=r"checkpoint.safetensors: holds .* numbers"):
        train(CONFIG, job(training_audio, tmp_path, resume=True))
