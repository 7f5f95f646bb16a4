"""Reasoning experiment: exact match, loss, arms, settings of the paper."""

from operator import attrgetter

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse_papers import experiment
from qse_papers.reasoning import Reasoning, loss_of, overfit_ratios, validate
from qse_papers.reasoning_corpus import corpus
from result_tables import column, numbers, rows_of
from tensors import count

from qse.errors import QseError


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
    curves = []
    for arm, seed, losses in runs:
        curves += [{"arm": arm, "seed": seed, "loss": loss} for loss in losses]
    assert overfit_ratios(curves, "A1") == [1.5, 1.0]


def test_loss_of_leaves_padding_out():
    tokens = torch.tensor([[65, 66, 67, 0, 0], [65, 66, 0, 0, 0]])
    logits = torch.randn(2, 4, 256)
    known = logits.log_softmax(-1)
    expected = -(known[0, 0, 66] + known[0, 1, 67] + known[1, 0, 66]) / 3
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
    assert column(rows, "arm") == ["A0", "A1", "A2", "A3", "A4", "A5"]
    losses = numbers(rows, "loss, nats per byte")
    assert min(losses) > 0 and max(losses) < 8


def test_reasoning_continues_with_the_runs_that_are_stored(tmp_path, monkeypatch):
    """The block-diagonal control has the paper's values; a second call trains the new arm alone."""
    changes = [
        "width=0.1",
        "steps=60",
        "validations=2",
        "batch=16",
        'tasks=["arithmetic"]',
        "valid_per_task=10",
    ]
    experiment("reasoning", tmp_path, [*changes, 'arms=["B1"]'])
    trained = []
    train = Reasoning._train
    monkeypatch.setattr(
        Reasoning, "_train", lambda self, arm, *rest: trained.append(arm) or train(self, arm, *rest)
    )
    experiment("reasoning", tmp_path, [*changes, 'arms=["A1", "B1"]'])
    a1, b1 = rows_of(tmp_path / "reasoning.csv")
    assert trained == ["A1"] and a1["parameters"] == b1["parameters"]
    assert (float(a1["paper: arithmetic %"]), float(b1["paper: arithmetic %"])) == (80, 54)
    losses = numbers(rows_of(tmp_path / "reasoning-curves.csv"), "loss")
    # ln 256: nothing learned
    assert len(losses) == 4 and losses[1] < losses[0] < 5.6 and losses[3] < losses[2] < 5.6


def test_reasoning_continues_after_divergence(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "qse_papers.reasoning.validate",
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
    full = Reasoning(**Reasoning.FULL)
    assert count(full.network("A2")) == 812_928
    dropouts = ("scan_dropout", "gate_dropout", "feed_dropout", "embedding_dropout")  # Table 2
    dropout = attrgetter(*dropouts)
    assert dropout(full.network("A2").config) == (0.2, 0.1, 0.1, 0.1)
    assert dropout(Reasoning().network("A2").config) == (0, 0, 0, 0)
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
