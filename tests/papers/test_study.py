"""Runs of an experiment: stored one by one, trained once, refused under other settings."""

from dataclasses import dataclass, replace
from operator import itemgetter

import pytest
from qse_papers.base import Experiment
from qse_papers.study import arm_values, mean_and_deviation, run_all

from qse.errors import QseError


@dataclass(frozen=True)
class Settings(Experiment):
    width: int = 4
    arms: tuple[str, ...] = ("a", "b")
    seeds: tuple[int, ...] = (0, 1)

    def run(self, out):
        return ""


def trainer(calls, fail_at=None):
    def train(arm, seed, title):
        if len(calls) == fail_at:
            raise KeyboardInterrupt
        calls.append((arm, seed, title))
        return {"score": 10 * seed + len(arm)}, [
            {"step": 1, "loss": 0.5},
            {"step": 2, "loss": 0.25},
        ]

    return train


def test_run_all_continues_after_an_interruption(tmp_path):
    path = tmp_path / "runs.json"
    first = []
    second = []
    with pytest.raises(KeyboardInterrupt):
        run_all(path, Settings(), trainer(first, fail_at=3))
    rows, curves = run_all(path, Settings(), trainer(second))
    assert first == [
        ("a", 0, "a, seed 0 (1 of 4)"),
        ("b", 0, "b, seed 0 (2 of 4)"),
        ("a", 1, "a, seed 1 (3 of 4)"),
    ]
    assert second == [("b", 1, "b, seed 1 (4 of 4)")]
    assert rows[3] == {"arm": "b", "seed": 1, "score": 11} and len(curves) == 8
    assert curves[1] == {"arm": "a", "seed": 0, "step": 2, "loss": 0.25}
    assert run_all(path, Settings(), trainer([], fail_at=0)) == (rows, curves)


def test_run_all_adds_arms_and_seeds_and_refuses_other_settings(tmp_path):
    path = tmp_path / "runs.json"
    run_all(path, Settings(arms=("a",), seeds=(0,)), trainer([]))
    added = []
    run_all(path, Settings(), trainer(added))
    assert list(map(itemgetter(0, 1), added)) == [("b", 0), ("a", 1), ("b", 1)]
    with pytest.raises(
        QseError, match=r"runs.json: its runs have width = 4, not 8; name another folder"
    ):
        run_all(path, replace(Settings(), width=8), trainer([]))


@pytest.mark.parametrize("text", ["{", '{"settings": {}}', "[]"])
def test_run_all_names_a_damaged_file(text, tmp_path):
    (tmp_path / "runs.json").write_text(text)
    with pytest.raises(QseError, match=r"runs.json: cannot read these runs"):
        run_all(tmp_path / "runs.json", Settings(), trainer([]))


def test_spread_and_of_arm():
    rows = [{"arm": "a", "x": 1.0}, {"arm": "b", "x": 9.0}, {"arm": "a", "x": 3.0}]
    assert arm_values(rows, "a", "x") == [1.0, 3.0]
    assert mean_and_deviation([1.0, 3.0]) == "2.00 ± 1.41" and mean_and_deviation([2.0], 1) == "2.0"
