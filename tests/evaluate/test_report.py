"""Means, intervals, gains, tables and groups."""

import numpy as np
import pytest

from qse.errors import QseError
from qse.evaluate import metrics, report, summary, tables


def test_interval_is_the_bootstrap_of_the_mean(monkeypatch):
    values = np.random.default_rng(1).normal(3.0, 0.5, 400)
    found = report.interval(values)
    half = 1.96 * values.std() / 20  # the normal approximation
    assert found["mean"] == pytest.approx(values.mean()) and found["n"] == 400
    assert found["low"] == pytest.approx(values.mean() - half, abs=0.05 * half)
    assert found["high"] == pytest.approx(values.mean() + half, abs=0.05 * half)
    assert report.interval(values) == found
    monkeypatch.setattr(report, "SEED", 1)
    assert report.interval(values) != found


def test_gains_interval_is_that_of_the_pairs():
    spread = np.random.default_rng(2).normal(0, 5, 50)
    rows = [
        {"name": f"{n}", "si_sdr": 11.0 + x, "noisy_si_sdr": 10.0 + x} for n, x in enumerate(spread)
    ]
    gain = report.gains(rows)["si_sdr"]
    means = summary(rows)
    assert gain["low"] == pytest.approx(1.0) and gain["high"] == pytest.approx(1.0)
    assert means["si_sdr"]["low"] < means["noisy_si_sdr"]["high"]  # side by side they would hide it


def test_table_fits_80_columns_and_names_both_kinds_of_pesq():
    """All metrics, wide cells, a long name."""
    row = {"name": "a", "audio_s": 2.0, "process_s": 0.1, "delay": 320.0, "trimmed": 5.0}
    other = {**row, "name": "b"}
    for name, metric in metrics.METRICS.items():
        scale = 0.01 if metric.digits == 4 else 1.0
        row[name] = -12.25 * scale
        row[f"noisy_{name}"] = -33.5 * scale
        other[name] = -2.25 * scale
        other[f"noisy_{name}"] = -43.5 * scale
    settings = {"sample_rate": 16000, "threads": 1, "machine": "a machine with a long name " * 3}
    rows = 4 * [row, other]
    found = report.findings("DeepFilterNet3-of-somebody-else", rows, settings)
    lines = tables.table(found).splitlines()
    assert max(map(len, lines)) <= 80
    head = [cell.strip() for cell in lines[0].split("|")]
    assert head == ["", "metric", "noisy", "DeepFilterNet3-…", "gain", ""]
    titles = [line.split("|")[1].strip() for line in lines[2:6]]
    assert titles == ["PESQ-WB", "PESQ-NB", "CSIG", "CBAK"]
    assert lines[2].split("|")[4].strip() == "+31.250 ±7.500"
    footnote = " ".join(lines)
    assert "output delayed by 320 samples (20.0 ms), not compensated" in footnote
    assert "8 trimmed by up to 5 samples" in footnote and "RTF 0.0500 with threads=1" in footnote


def test_table_of_failures_alone_has_no_empty_grid():
    found = report.findings("live-base", [{"name": "a", "error": "broken"}], {})
    assert tables.table(found) == "no scores\n\n0 utterances, 0.0 minutes; 1 failed.\n"


def test_group_table_orders_and_averages_groups(tmp_path):
    tens = "".join(f"{name}\t10\n" for name in "acefghij")
    (tmp_path / "groups.tsv").write_text(f"id\tsnr\n{tens}b\t-2.5\n")
    groups = report.read_groups(tmp_path / "groups.tsv", "snr")
    rows = [
        {"name": name, "stoi": value}
        for name, value in (("b", 0.1), *((name, 0.5) for name in "acefghij"), ("d", 0.9))
    ]
    lines = tables.group_tables(rows, groups, "snr").splitlines()
    assert lines == [
        "STOI by snr",
        "",
        "| snr  | n | mean           |",
        "|------|---|----------------|",
        "| -2.5 | 1 | 0.1000 *       |",
        "| 10   | 8 | 0.5000 ±0.0000 |",
        "",
        "* fewer than 8 utterances: too few for an interval",
    ]
    with pytest.raises(QseError, match="no column speaker: there are snr"):
        report.read_groups(tmp_path / "groups.tsv", "speaker")
    with pytest.raises(QseError, match=r"nothing.tsv cannot be read: No such file or directory$"):
        report.read_groups(tmp_path / "nothing.tsv", "snr")


def test_read_groups_of_the_log_of_voicebank(tmp_path):
    (tmp_path / "log_testset.txt").write_text("p232_001 bus 17.5\np257_002 psquare 2.5\n")
    assert report.read_groups(tmp_path / "log_testset.txt", "snr") == {
        "p232_001": "17.5",
        "p257_002": "2.5",
    }
    assert report.read_groups(tmp_path / "log_testset.txt", "noise")["p257_002"] == "psquare"
    with pytest.raises(QseError, match="no column speaker: there are noise, snr"):
        report.read_groups(tmp_path / "log_testset.txt", "speaker")
