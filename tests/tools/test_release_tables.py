"""The tables of docs/models-tables.md from results of evaluations that are written here by hand."""

import csv
from pathlib import Path

import pytest
import release_tables

ROOT = Path(__file__).parents[2]

DOCUMENT = """Before.

<!-- release_tables: NAME, 1 rows kept -->
| system | score |
|---|---|
| noisy | 1.0 |
| live-tiny | old |

After.
"""


def write(folder, pesq, **columns):
    """Write the scores of two utterances; `columns` has the values of further columns."""
    for model in release_tables.MODELS:
        path = folder / model / "valid" / "scores.csv"
        path.parent.mkdir(parents=True)
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["name", "pesq_wb", *columns])
            table.writerows(
                [
                    [f"v{n}", value, *(c[n] for c in columns.values())]
                    for n, value in enumerate(pesq)
                ]
            )


@pytest.fixture
def tables(tmp_path):
    others = {
        "stoi": [0.8, 0.9],
        "si_sdr": [10, 12],
        "noise_reduction": [15, 17],
        "speech_loss": [5, 7],
    }
    noisy = {f"noisy_{name}": [0, 0] for name in others}
    write(tmp_path / "now", [2.0, 3.0], **others, noisy_pesq_wb=[1.5, 1.5], **noisy)
    write(tmp_path / "before", [2.0, 2.5])
    (tmp_path / "valid").mkdir()
    (tmp_path / "valid" / "groups.tsv").write_text("id\tvoice\tspeaker\nv0\tlow\ta\nv1\thigh\tb\n")
    return release_tables.Tables(tmp_path / "now", tmp_path / "before", tmp_path)


def test_rewritten_keeps_text_head_and_first_rows(tables):
    found = release_tables.rewritten(DOCUMENT.replace("NAME", "overview"), tables)
    kept, rest = DOCUMENT.replace("NAME", "overview").split("| live-tiny | old |\n")
    rows = ["| WB-PESQ | 2.500 | 2.500 | 2.500 |", "| STOI | 0.8500 | 0.8500 | 0.8500 |"]
    assert found == "\n".join(
        [kept + rows[0], rows[1], "| SI-SDR dB | 11.00 | 11.00 | 11.00 |", rest]
    )


def test_gains_are_means_over_the_utterances_of_a_group(tables):
    low = next(row for row in tables.voice() if row[0] == "low")
    assert low == ["low", "1", "1", *["+0.500", "+10.00"] * 3]


def test_changes_pair_the_utterances(tables):
    assert tables._change("live-tiny", "valid", "pesq_wb") == "2.250, +0.250 (+0.000 to +0.500)"


def test_tables_of_the_document_are_known_and_complete():
    text = (ROOT / "docs" / "models-tables.md").read_text(encoding="utf-8")
    found = release_tables.MARK.findall(text)
    assert len(found) == text.count("<!-- release_tables:") > 10
    for name, kept, table in found:
        head, rule, *rows = table.splitlines()
        assert callable(getattr(release_tables.Tables, name.replace("-", "_"))), name
        assert len(rows) > int(kept) and {line.count("|") for line in (head, rule, *rows)} == {
            head.count("|")
        }, name
