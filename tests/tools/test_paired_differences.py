"""The comparison of two evaluations, with scores written here by hand."""

import sys

import paired_differences
import pytest

from qse.errors import QseError


def compare(monkeypatch, tmp_path, a, b):
    """Run the tool on two tables, given as lines of scores.csv."""
    for name, lines in (("a", a), ("b", b)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scores.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(sys, "argv", ["tool", str(tmp_path / "a"), str(tmp_path / "b")])
    paired_differences.main()


def test_utterances_are_paired_by_name(monkeypatch, tmp_path, capsys):
    """The means differ by 0.5 over all, by a constant 0.25 over the pairs that both have."""
    a = ["name,pesq_wb,stoi", "u0,2.25,0.9", "u1,3.25,0.8", "u2,4.0,0.7"]
    b = ["name,pesq_wb,si_sdr", "u1,3.0,9", "u0,2.0,8", "u9,1.0,7"]
    compare(monkeypatch, tmp_path, a, b)
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows == ["| PESQ-WB | 2 | +0.250 (+0.250 to +0.250) |"]


def test_other_recordings_are_refused(monkeypatch, tmp_path):
    a = ["name,pesq_wb,noisy_pesq_wb", "u0,2.0,1.5"]
    b = ["name,pesq_wb,noisy_pesq_wb", "u0,2.0,1.6"]
    with pytest.raises(QseError, match="noisy recordings differs"):
        compare(monkeypatch, tmp_path, a, b)
