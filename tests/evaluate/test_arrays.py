"""Scores of signals in memory."""

from evaluation_files import FAST
from speech import hiss, voice

from qse.evaluate import score, summary


def test_score_keeps_order_and_failures():
    clean = voice(1.0)
    rows = score(
        [(clean, clean), (clean, 0 * clean), (clean, clean + 0.1 * hiss(len(clean)))], metrics=FAST
    )
    assert [row["name"] for row in rows] == [0, 1, 2] and "silent" in rows[1]["error"]
    assert rows[0]["stoi"] > rows[2]["stoi"]
    assert summary(rows)["si_sdr"]["n"] == 2
