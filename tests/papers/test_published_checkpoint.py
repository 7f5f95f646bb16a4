"""The published checkpoint: names and layout of its weights, and what is refused."""

import os
import shutil
import stat
import tomllib
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import soundfile
import tomli_w
from qse_papers import experiment
from qse_papers.networks.published import Published, PublishedConfig
from qse_papers.networks.published_layers import BatchNorm

from qse.data.datasets import pair_folders
from qse.errors import QseError
from qse.evaluate import evaluate
from qse.export import release
from qse.export.graph_file import speech_like
from qse.networks.weights import load_network
from qse.runtime.offline import OfflineModel
from qse.train.checkpoint import save
from qse.train.recipe import model_table


class Code:
    """Run code when it is unpickled."""

    def __reduce__(self):
        return print, ("this ran",)


def published_names(core):
    """Return weights under the names and in the layout of the published code."""
    tensors = {}
    for name, value in core.state_dict().items():
        quaternion = name.endswith("weight") and value.ndim > 2 and value.shape[0] == 4
        if not quaternion or "output_proj_complex" in name or "mask_layer" in name:
            tensors[f"module.{name}"] = value
            continue
        for component, part in zip("rijk", value, strict=True):
            part = part.T if part.ndim == 2 else part
            tensors[f"module.{name.removesuffix('weight')}{component}_weight"] = part
    return tensors


def test_published_checkpoint_becomes_a_run(tmp_path, monkeypatch):
    """With the permissions of the file that is read, whatever has its name later."""
    torch.manual_seed(0)
    network = Published(PublishedConfig()).eval()
    content = {"epoch": 7, "model_state_dict": published_names(network.core)}
    torch.save(content, tmp_path / "best_model.pt")
    (tmp_path / "best_model.pt").chmod(0o600)
    settings = [f"file={tmp_path / 'best_model.pt'}"]
    load = torch.load

    def exchanged(file, **options):
        found = load(file, **options)
        shutil.copyfile(tmp_path / "best_model.pt", tmp_path / "public.pt")
        (tmp_path / "public.pt").chmod(0o644)
        if os.name == "posix":  # Windows replaces no open file
            os.replace(tmp_path / "public.pt", tmp_path / "best_model.pt")
        return found

    monkeypatch.setattr(torch, "load", exchanged)
    assert experiment("published-checkpoint", tmp_path / "run", settings).startswith("804,021")
    run = tmp_path / "run"
    assert os.name == "nt" or stat.S_IMODE((run / "weights.safetensors").stat().st_mode) == 0o600
    with pytest.raises(QseError, match=r"config\.toml is there already: name a new folder"):
        experiment("published-checkpoint", run, settings)
    assert list(tomllib.loads((run / "config.toml").read_text())) == ["model"]
    again, _ = load_network(run / "config.toml", run / "weights.safetensors")
    x = torch.randn(1, 800)
    with torch.no_grad():
        assert torch.equal(again.enhance(x), network.enhance(x))


def test_published_checkpoint_runs_no_code_of_the_file(tmp_path, capsys):
    torch.save({"model_state_dict": {"a": Code()}}, tmp_path / "bad.pt")
    with pytest.raises(QseError, match=r"bad\.pt: cannot read these weights"):
        experiment("published-checkpoint", tmp_path / "out", [f"file={tmp_path / 'bad.pt'}"])
    assert "this ran" not in capsys.readouterr().out


def test_published_checkpoint_refuses_other_files(tmp_path):
    with pytest.raises(QseError, match="--set file=best_model"):
        experiment("published-checkpoint", tmp_path / "out")
    torch.save({"layer.weight": torch.zeros(2)}, tmp_path / "other.pt")
    with pytest.raises(QseError, match=r"other\.pt: not a checkpoint of the published network"):
        experiment("published-checkpoint", tmp_path / "out", [f"file={tmp_path / 'other.pt'}"])
    (tmp_path / "text.pt").write_text("no weights")
    with pytest.raises(QseError, match=r"text\.pt: cannot read these weights"):
        experiment("published-checkpoint", tmp_path / "out", [f"file={tmp_path / 'text.pt'}"])


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"root:x:0:0:root:/root:/bin/bash\n", "cannot read these weights"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_published_checkpoint_refuses_any_file_in_a_sentence(tmp_path, content, sentence):
    """A text that begins like a program of pickle's ended in an IndexError."""
    path = tmp_path / "passwd"
    if content:
        path.write_bytes(content)
    with pytest.raises(QseError, match=sentence):
        experiment("published-checkpoint", tmp_path / "out", [f"file={path}"])


def test_published_checkpoint_names_what_differs(tmp_path):
    weights = published_names(Published(PublishedConfig()).core)
    name = next(name for name in weights if name.endswith("_j_weight") or "j_weight" in name)
    torch.save({key: each for key, each in weights.items() if key != name}, tmp_path / "a.pt")
    with pytest.raises(QseError, match="is without j_weight"):
        experiment("published-checkpoint", tmp_path / "out", [f"file={tmp_path / 'a.pt'}"])
    torch.save({"layer.weight": torch.zeros(2)}, tmp_path / "b.pt")
    with pytest.raises(QseError, match="other names or shapes: Missing key"):
        experiment("published-checkpoint", tmp_path / "out", [f"file={tmp_path / 'b.pt'}"])


@pytest.fixture
def converted(tmp_path):
    """A folder as the conversion writes it, of a small network with random weights."""
    torch.manual_seed(0)
    small = {"channels": 16, "growth": 8, "features": 16, "layers": 1, "heads": 2}
    network = Published(PublishedConfig(**small, encoder=(1,), decoder=(1,)))
    for layer in network.modules():
        if isinstance(layer, BatchNorm):
            layer.moving_mean.normal_(0, 0.1)
            layer.moving_var.uniform_(0.5, 2)
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "config.toml").write_text(tomli_w.dumps({"model": model_table(network)}))
    save(folder / "weights.safetensors", network.state_dict(), {}, None)
    return folder


def test_converted_network_is_exported_and_evaluated(converted, tmp_path, monkeypatch):
    monkeypatch.setattr(release, "measure_cost", partial(release.measure_cost, seconds=0.05))
    release.release(converted, tmp_path / "model")
    network, _ = load_network(converted / "config.toml", converted / "weights.safetensors")
    noisy = 0.3 * np.random.default_rng(0).standard_normal(20_001).astype(np.float32)
    with torch.no_grad():
        expected = network.enhance(torch.from_numpy(noisy)[None])[0].numpy()
    found = OfflineModel(tmp_path / "model/model.onnx").enhance(noisy)
    assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()

    card = (tmp_path / "model/card.md").read_text()
    assert "| training | not by qse: converted weights |" in card and "qse train" not in card
    names = {path.name for path in (tmp_path / "model").iterdir()}
    assert "weights.safetensors" in names and "checkpoint.safetensors" not in names

    clean = speech_like(16_000, 16_000)
    for kind, samples in (("clean", clean), ("noisy", clean + 0.1 * noisy[:16_000])):
        (tmp_path / kind).mkdir()
        soundfile.write(tmp_path / kind / "a.wav", samples, 16_000)
    pairs = pair_folders(tmp_path / "noisy", tmp_path / "clean")
    outcome = evaluate(str(converted), pairs, tmp_path / "scores", metrics="si_sdr")
    assert "step" not in outcome.text()
