"""Reasoning experiment: exact match, loss, arms, settings of the paper."""

import csv

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse.errors import QseError
from qse.experiments import experiment
from qse.experiments.reasoning import Reasoning, corpus, loss_of, overfit_ratios, validate


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Oracle(torch.nn.Module):
    """Predicts the next byte, except for the last byte of every answer of the first task."""

    def __init__(self, found):
        super().__init__()
        self.next = found.tokens[:, 1:].clone()
        end = found.answer[:, 1:].cumsum(1).argmax(1)
        self.next[found.task == 0, end[found.task == 0]] = 7

    def forward(self, tokens):
        return 50.0 * torch.nn.functional.one_hot(self.next, 256).float()


def test_exact_match_requires_every_byte():
    found = corpus(("logic", "arithmetic"), 20, 32, seed=0)
    row = validate(Oracle(found), found)
    assert (row["logic"], row["arithmetic"], row["exact"]) == (0.0, 1.0, 0.5)


def test_overfit_ratio_is_the_last_loss_over_the_lowest():
    runs = (("A1", 0, (2.0, 1.0, 1.5)), ("A1", 1, (2.0, 1.0)), ("A2", 0, (1.0, 9.0)))
    curves = [
        {"arm": arm, "seed": seed, "loss": loss} for arm, seed, losses in runs for loss in losses
    ]
    assert overfit_ratios(curves, "A1") == [1.5, 1.0]


def test_loss_of_leaves_padding_out():
    tokens = torch.tensor([[65, 66, 67, 0, 0], [65, 66, 0, 0, 0]])
    logits = torch.randn(2, 4, 256)
    expected = (
        -sum(
            logits[n, t].log_softmax(-1)[byte]
            for n, t, byte in ((0, 0, 66), (0, 1, 67), (1, 0, 66))
        )
        / 3
    )
    torch.testing.assert_close(loss_of(lambda given: logits, tokens), expected)


def test_reasoning_runs_every_arm(tmp_path):
    changes = [
        "width=0.1",
        "steps=2",
        "validations=1",
        "batch=2",
        "train_per_task=3",
        "valid_per_task=2",
    ]
    experiment("reasoning", tmp_path, changes)
    rows = rows_of(tmp_path / "reasoning.csv")
    assert [row["arm"] for row in rows] == ["A0", "A1", "A2", "A3", "A4", "A5"]
    assert all(0 < float(row["loss, nats per byte"]) < 8 for row in rows)


def test_reasoning_continues_with_the_runs_that_are_stored(tmp_path, monkeypatch):
    """The block-diagonal control stands beside the paper's values; a second call trains the new arm alone."""
    changes = [
        "width=0.1",
        "steps=60",
        "validations=2",
        "batch=16",
        'tasks=["arithmetic"]',
        "valid_per_task=10",
    ]
    experiment("reasoning", tmp_path, [*changes, 'arms=["B1"]'])
    trained, train = [], Reasoning._train
    monkeypatch.setattr(
        Reasoning, "_train", lambda self, arm, *rest: trained.append(arm) or train(self, arm, *rest)
    )
    experiment("reasoning", tmp_path, [*changes, 'arms=["A1", "B1"]'])
    a1, b1 = rows_of(tmp_path / "reasoning.csv")
    assert trained == ["A1"] and a1["parameters"] == b1["parameters"]
    assert (float(a1["paper: arithmetic %"]), float(b1["paper: arithmetic %"])) == (80, 54)
    losses = [float(row["loss"]) for row in rows_of(tmp_path / "reasoning-curves.csv")]
    assert (
        len(losses) == 4 and losses[1] < losses[0] < 5.6 and losses[3] < losses[2] < 5.6
    )  # ln 256: nothing learned


def test_reasoning_continues_after_divergence(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "qse.experiments.reasoning.validate",
        lambda *_: {"loss": float("nan"), "exact": 0.0, "copy": 0.0},
    )
    line = experiment(
        "reasoning", tmp_path, ['arms=["A0","A3"]', "steps=2", "batch=2", "train_per_task=3"]
    )
    assert line == "A0 loss nan, exact 0%; A3 loss nan, exact 0%"
    assert len(rows_of(tmp_path / "reasoning.csv")) == 2


def test_corpus_refuses_too_short_lines():
    with pytest.raises(
        QseError, match="length 16: too short for the task copy, a line of which has 22 bytes"
    ):
        corpus(("copy",), 1, 16, 0)


def test_reasoning_full_builds_the_papers_networks():
    full = Reasoning(**{key: value for key, value in Reasoning.FULL.items() if key != "seeds"})
    assert sum(parameter.numel() for parameter in full.network("A2").parameters()) == 812_928
    dropouts = ("scan_dropout", "gate_dropout", "feed_dropout", "embedding_dropout")  # Table 2
    assert [getattr(full.network("A2").config, name) for name in dropouts] == [0.2, 0.1, 0.1, 0.1]
    assert [getattr(Reasoning().network("A2").config, name) for name in dropouts] == [0] * 4
    assert len(full.tasks) == 9 and "copy" not in full.tasks


@pytest.mark.parametrize("limit, clips", [(1.0, True), (0.0, False)])
def test_reasoning_clips_gradients_on_request(limit, clips, tmp_path, monkeypatch):
    """The paper does not clip: its settings have max_grad_norm 0."""
    norms = []
    monkeypatch.setattr(
        torch.nn.utils, "clip_grad_norm_", lambda parameters, norm: norms.append(norm)
    )
    changes = [
        'arms=["A5"]',
        "width=0.1",
        "steps=1",
        "batch=2",
        "train_per_task=3",
        "valid_per_task=2",
    ]
    experiment("reasoning", tmp_path, [*changes, f"max_grad_norm={limit}"])
    assert norms == ([limit] if clips else []) and Reasoning.FULL["max_grad_norm"] == 0
