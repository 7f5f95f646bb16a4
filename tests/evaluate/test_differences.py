"""The comparison of two evaluations, with scores written here by hand."""

import pytest

from qse.errors import QseError
from qse.evaluate.differences import compared, comparison, differences


def test_differences_pair_utterances_by_name():
    """The means differ by 0.5 over all, by a constant 0.25 over the pairs that both have."""
    rows = [{"name": f"u{n}", "pesq_wb": 2.25 + n, "stoi": 0.9} for n in range(3)]
    others = [{"name": "u1", "pesq_wb": 3.0}, {"name": "u0", "pesq_wb": 2.0}, {"name": "u9"}]
    found = differences(rows, others)
    assert found == {"pesq_wb": {"mean": 0.25, "low": 0.25, "high": 0.25, "n": 2}}
    lines = comparison(rows, others, "a", "b").splitlines()
    assert lines[0] == "| metric  | n | a minus b |"
    assert lines[2] == "| PESQ-WB | 2 | +0.250 *  |"
    assert lines[4] == "* fewer than 8 utterances: too few for an interval"
    others = [{"name": f"u{n}", "pesq_wb": 2.0 + n} for n in range(8)]
    rows = [{"name": f"u{n}", "pesq_wb": 2.25 + n} for n in range(8)]
    lines = comparison(rows, others, "a", "b").splitlines()
    assert lines[2:] == ["| PESQ-WB | 8 | +0.250 (+0.250 to +0.250) |"]


def test_comparison_refuses_other_recordings():
    rows = [{"name": "u0", "pesq_wb": 2.0, "noisy_pesq_wb": 1.5}]
    others = [{"name": "u0", "pesq_wb": 2.0, "noisy_pesq_wb": 1.6}]
    with pytest.raises(QseError, match="noisy recordings differs between a and b"):
        comparison(rows, others, "a", "b")
    with pytest.raises(QseError, match="a and b have no utterance and metric in common"):
        comparison(rows, [{"name": "u1", "pesq_wb": 2.0}], "a", "b")


def test_results_at_other_rates_are_refused(here):
    for folder, rate in (("a", 16000), ("b", 48000)):
        (here / folder).mkdir()
        (here / folder / "scores.csv").write_text("name,lsd\nu0,2.0\n")
        (here / folder / "settings.json").write_text(f'{{"sample_rate": {rate}}}')
    with pytest.raises(QseError, match="a is evaluated at 16000 Hz, b at 48000 Hz"):
        compared("a", "b")


def test_folders_of_one_name_are_told_apart(here):
    for folder in ("old/base", "new/base", "new/large"):
        (here / folder).mkdir(parents=True)
        (here / folder / "scores.csv").write_text("name,pesq_wb\nu0,2.0\n")
    assert "new/base minus old/base" in compared("new/base", "old/base")
    assert "| base minus large " in compared("old/base", here / "new/large")
