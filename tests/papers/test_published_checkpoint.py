"""The published checkpoint: names and layout of its weights, and what is refused."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers import experiment
from qse_papers.networks.published import Published, PublishedConfig

from qse.errors import QseError
from qse.networks.weights import load_network


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


def test_published_checkpoint_becomes_a_run(tmp_path):
    torch.manual_seed(0)
    network = Published(PublishedConfig()).eval()
    content = {"epoch": 7, "model_state_dict": published_names(network.core)}
    torch.save(content, tmp_path / "best_model.pt")
    settings = [f"file={tmp_path / 'best_model.pt'}"]
    assert experiment("published-checkpoint", tmp_path / "run", settings).startswith("804,021")
    run = tmp_path / "run"
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
