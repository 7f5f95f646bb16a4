"""Means, intervals, gains, tables and groups."""

import numpy as np
import pytest

from qse.errors import QseError
from qse.evaluate import report, summary


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
    gain, means = report.gains(rows)["si_sdr"], summary(rows)
    assert gain["low"] == pytest.approx(1.0) and gain["high"] == pytest.approx(1.0)
    assert means["si_sdr"]["low"] < means["noisy_si_sdr"]["high"]  # side by side they would hide it


def test_table_has_the_papers_columns_and_the_noisy_row():
    names = ("si_sdr", "covl", "pesq_wb", "stoi", "csig", "cbak")
    rows = [{"name": "a", "audio_s": 2.0, "process_s": 0.1, **dict.fromkeys(names, 2.0)}]
    rows[0] |= {f"noisy_{name}": 1.5 for name in names}
    head, _, noisy, system, gain, *_ = report.table(report.findings("ours", rows)).splitlines()
    assert head == "| system | PESQ | CSIG | CBAK | COVL | STOI | SI-SDR dB | RTF |"
    assert noisy.startswith("| noisy | 1.500 (1.500 to 1.500) | 1.50 (")
    assert system.startswith("| ours | 2.000 (") and system.endswith("| 0.0500 |")
    assert gain.startswith("| gain | +0.500 (+0.500 to +0.500) |")


def test_group_table_orders_and_averages_groups(tmp_path):
    (tmp_path / "groups.tsv").write_text("id\tsnr\na\t10\nb\t-2.5\nc\t10\n")
    groups = report.read_groups(tmp_path / "groups.tsv", "snr")
    rows = [
        {"name": name, "stoi": value}
        for name, value in (("a", 0.4), ("b", 0.1), ("c", 0.6), ("d", 0.9))
    ]
    lines = report.group_table(rows, groups, "snr").splitlines()
    assert (
        lines[2].startswith("| -2.5 | 1 | 0.1000")
        and lines[3].startswith("| 10 | 2 | 0.5000")
        and len(lines) == 4
    )
    with pytest.raises(QseError, match="no column speaker: there are snr"):
        report.read_groups(tmp_path / "groups.tsv", "speaker")
    with pytest.raises(QseError, match=r"nothing.tsv cannot be read: No such file or directory$"):
        report.read_groups(tmp_path / "nothing.tsv", "snr")
