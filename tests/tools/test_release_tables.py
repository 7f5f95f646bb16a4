"""The tables of the documents from results of evaluations that are written here by hand."""

import csv
import sys

import pytest
import release_tables
from release_rows import BY_METRIC, BY_MODEL, STREAMED, Tables

MODELS = ["live-tiny", "live-base", "live-large", "studio-base"]
DOCUMENT = """Before.

<!-- release_tables: overview, 1 rows kept -->
| | live-tiny | live-base | live-large |
|---|---|---|---|
| use it for | a | b | c |
| WB-PESQ | old | old | old |

After.
"""


def write(folder, evaluation, pesq, **columns):
    """Write the scores of two utterances; `columns` has the values of further columns."""
    for model in MODELS:
        path = folder / model / evaluation / "scores.csv"
        path.parent.mkdir(parents=True)
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["name", "pesq_wb", *columns])
            table.writerows(zip(["v0", "v1"], pesq, *columns.values(), strict=True))
        path.with_name("summary.json").write_text("{}")


@pytest.fixture
def folder(tmp_path):
    """The results of four models, and groups."""
    main = {"stoi": [0.8, 0.9], "si_sdr": [10, 12]}
    others = {
        "noise_reduction": [15, 17],
        "speech_loss": [5, 7],
        "pause_attenuation": [20, 22],
        "pause_attenuation_median": [25, 26],
    }
    noisy = {f"noisy_{name}": [0, 0] for name in main | others}
    for evaluation in ("valid", "valid48"):
        scores = {**main, **others, **noisy, "noisy_pesq_wb": [1.5, 1.5]}
        write(tmp_path / "now", evaluation, [2.0, 3.0], **scores)
        (tmp_path / evaluation).mkdir()
        groups = tmp_path / evaluation / "groups.tsv"
        groups.write_text("id\tsnr_db\nv0\t2.5\nv1\t7.5\n")
    return tmp_path


@pytest.fixture
def tables(folder):
    return Tables(folder / "now", folder, MODELS)


def test_rewritten_keeps_text_and_first_rows_and_adds_columns(tables):
    found = release_tables.rewritten(DOCUMENT, tables)
    kept, rest = DOCUMENT.split("| WB-PESQ | old | old | old |\n")
    kept = kept.replace("| live-large |", "| live-large | studio-base |")
    kept = kept.replace("|---|---|---|---|", "|---|---|---|---|---|").replace("| c |", "| c | |")
    rows = [
        "| WB-PESQ | 2.500 | 2.500 | 2.500 | 2.500 |",
        "| STOI | 0.8500 | 0.8500 | 0.8500 | 0.8500 |",
        "| SI-SDR dB | 11.00 | 11.00 | 11.00 | 11.00 |",
        "| pauses dB | 21.0 | 21.0 | 21.0 | 21.0 |",
        "| pauses, median dB | 25.5 | 25.5 | 25.5 | 25.5 |",
    ]
    assert found == kept + "\n".join([*rows, rest])


def test_an_interrupted_evaluation_is_in_no_table(folder, tables):
    (folder / "now" / "live-large" / "valid" / "summary.json").unlink()
    found = release_tables.rewritten(DOCUMENT, tables)
    assert "live-large" not in found.split("| use it for")[0] and "live-tiny" in found


def test_table_of_an_absent_set_stays(tables, capsys):
    document = DOCUMENT.replace("overview", "whispers")
    assert release_tables.rewritten(document, tables) == document
    assert "table whispers: stays as it is, for " in capsys.readouterr().out


def test_absent_sets_are_not_measured(monkeypatch, tmp_path, capsys):
    """All models and no others are measured, on what DATA has; real recordings have no clean."""
    lines = []
    monkeypatch.setattr(release_tables, "_run", lambda line: lines.append(line) or "")
    for name in ("studio-base", "live-large", "live-tiny", "live-base", "else"):
        (tmp_path / "models" / name).mkdir(parents=True)
    for folder in ("valid/clean", "real/noisy"):
        (tmp_path / "data" / folder).mkdir(parents=True)
    words = ["--data", tmp_path / "data", "--results", tmp_path]
    words += ["--document", tmp_path / "page.md"]
    (tmp_path / "page.md").write_text("No table.\n")
    monkeypatch.setattr(sys, "argv", ["tool", str(tmp_path / "models"), *map(str, words)])
    release_tables.main()

    evaluated = [line for line in lines if "evaluate" in line]
    models = [line[line.index("evaluate") + 1].name for line in evaluated]
    # valid, real and clean; two models in streams too
    assert models == sorted([*3 * MODELS, *STREAMED], key=MODELS.index)
    assert "pause_attenuation,pause_attenuation_median" in evaluated[-3][-3]
    assert ["dnsmos" in line for line in evaluated] == ["--clean" not in line for line in evaluated]
    assert "studio-base, whispers: not measured" in capsys.readouterr().out


def test_gains_are_means_over_the_utterances_of_a_group(tables):
    low = ["2.000, +0.500", "0.8000, +0.8000", "10.00, +10.00"]
    high = ["3.000, +1.500", "0.9000, +0.9000", "12.00, +12.00"]
    assert tables.snr().rows == [["2.5", *low, *low], ["7.5", *high, *high]]


def test_short_tables_have_means_alone(folder):
    write(
        folder / "now",
        "rooms",
        [1.0, 2.0],
        stoi=[0.7, 0.8],
        si_sdr=[1, 2],
        pause_attenuation=[20, 22],
    )
    table = Tables(folder / "now", folder, MODELS).table("rooms-means")
    assert table.rows == [[model, "1.500", "0.7500", "1.50", "21.0"] for model in MODELS]


def test_tables_of_the_documents_are_known_and_complete():
    count = 0
    for document in release_tables.documents():
        text = document.read_text(encoding="utf-8")
        found = release_tables.MARK.findall(text)
        assert len(found) == text.count("<!-- release_tables:"), document
        count += len(found)
        for name, kept, table in found:
            lines = table.splitlines()
            is_method = callable(getattr(Tables, name.replace("-", "_"), None))
            assert is_method or name in {*BY_MODEL, *BY_METRIC}, name
            assert len(lines) > 2 + int(kept), name
            assert len({line.count("|") for line in lines}) == 1, name
    assert count > 10
