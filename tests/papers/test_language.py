"""Language modelling experiment: bytes, control, validation loss, latency."""

import math

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse_papers import experiment
from qse_papers.language import LanguageModelling, read_bytes, validation_loss
from qse_papers.networks.language import Language, LanguageConfig
from result_tables import column, numbers, rows_of

from qse.errors import QseError


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("abcd" * 400)
    return path


def test_language_modelling_learns_a_repetition(text, tmp_path):
    changes = [f"train={text}", f"valid={text}", "width=0.1", "length=16", "steps=60", "warmup=5"]
    changes += ["batch=8", "learning_rate=0.01", "valid_bytes=340", 'arms=["A1", "B1"]']
    changes += ['latency_arms=["A0", "A1"]', "latency_seconds=0.01"]
    experiment("language", tmp_path / "out", changes)
    a1, b1, control = rows_of(tmp_path / "out" / "language.csv")
    assert (
        a1["parameters"] == b1["parameters"]
        and a1["paper: parameters"] == b1["paper: parameters"] == "547200"
    )
    counts = [401] * 4 + [1] * 252
    known = -math.log(counts[0] / sum(counts))
    assert float(control["loss, nats per byte"]) == pytest.approx(known, abs=1e-4)
    assert max(numbers([a1, b1], "loss, nats per byte")) < 0.3 * known
    assert float(a1["bits per byte"]) == pytest.approx(
        float(a1["loss, nats per byte"]) / math.log(2), abs=1e-3
    )
    latency = rows_of(tmp_path / "out" / "language-latency.csv")
    assert column(latency, "arm") == ["A0", "A1"] and latency[0]["ratio to A0"] == "1.00"


def test_validation_loss_of_an_untrained_head_is_uniform():
    network = Language(LanguageConfig("A", dim=32, feed=32))
    torch.nn.init.zeros_(network.head.weight)
    windows = torch.randint(256, (70, 9))
    assert validation_loss(network, windows) == pytest.approx(math.log(256), abs=1e-5)


def test_language_modelling_needs_text(tmp_path):
    with pytest.raises(QseError, match="--set train="):
        experiment("language", tmp_path)
    (tmp_path / "short.txt").write_text("abc")
    with pytest.raises(QseError, match=r"short.txt: 3 bytes; this needs 9"):
        read_bytes(tmp_path / "short.txt", 9)
    with pytest.raises(ValueError, match="A9"):
        LanguageModelling(arms=("A9",))
