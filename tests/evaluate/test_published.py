"""Published rows beside an evaluation, and how many of a test set were scored."""

import json

import official_corpora
import pytest
import typer
from qse_cli.evaluate import evaluate as command
from typer.testing import CliRunner

from qse.errors import UsageError
from qse.evaluate.published import PUBLISHED, beside_published, find_published


@pytest.fixture
def run():
    app = typer.Typer()
    app.command()(command)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("dataset, lines", [("voicebank", 17), ("dns3", 6)])
def test_published_rows_are_complete(dataset, lines):
    table = PUBLISHED[dataset]
    rows = table.rows()
    assert len(rows) == lines
    for system, source, params, scores in rows:
        assert system and source and (params == "-" or float(params) > 0)
        assert len(scores.split()) == len(table.metrics)
        for score in scores.split():
            assert score == "-" or 0 < float(score) < 20
    assert [row[:3] for row in rows][-1] in (
        ["UNIVERSE++", "Scheibler et al. 2024", "107.5"],
        ["QConformer", "this paper", "0.80"],
    )


def means(**values):
    return {name: {"mean": value} for name, value in values.items()}


def test_published_rows_have_the_metrics_that_were_scored():
    found = {"system": "mine", "enhanced": means(stoi=0.951, pesq_wb=3.456, lsd=1.0)}
    found["noisy"] = means(stoi=0.921, pesq_wb=1.97)
    text = beside_published(found, find_published("voicebank"))
    head, _, first, second, *rest = text.splitlines()
    assert [cell.strip() for cell in head.split("|")[1:-1]][3:] == ["PESQ-WB", "STOI"]
    assert [cell.strip() for cell in first.split("|")[1:-1]] == [
        "mine",
        "this run",
        "-",
        "3.46",
        "0.95",
    ]
    assert "1.97" in second and "this run" in second
    assert any("CMGAN" in line and "3.41" in line and "0.96" in line for line in rest)
    assert "Table 2 of arXiv:2605.24920" in text and "4.63" not in text
    assert max(map(len, text.splitlines())) <= 80

    alone = beside_published({**found, "noisy": {}}, find_published("voicebank"))
    assert "this run" in alone.splitlines()[2] and "this paper" in alone.splitlines()[3]
    other = {"system": "mine", "enhanced": means(lsd=1.0), "noisy": {}}
    assert beside_published(other, find_published("dns3")).startswith("no published results")


def test_published_rows_belong_to_a_corpus():
    with pytest.raises(UsageError, match="name voicebank or dns3"):
        find_published(None)


def test_evaluate_says_how_many_of_the_test_set_were_scored(tmp_path, run):
    """Two pairs of the 824, beside published rows; shown again, the same."""
    corpus = official_corpora.voicebank(tmp_path / "voicebank", 16000)
    place = "--dataset", "voicebank", "--data", corpus, "--out", tmp_path / "out", "--jobs", 1
    for _ in range(2):
        done = run("noisy", *place, "--metrics", "stoi", "--published")
        assert done.exit_code == 0, done.stderr
        assert "only 2 of 824 pairs, 0." in done.stdout
        assert "| CMGAN" in done.stdout and "| noisy" in done.stdout
    assert "824" in (tmp_path / "out/summary.md").read_text()
    assert json.loads((tmp_path / "out/summary.json").read_text())["whole"] == 824


def test_evaluate_says_how_many_pairs_were_scored(tmp_path, run):
    corpus = official_corpora.voicebank(tmp_path / "voicebank", 16000)
    noisy = corpus / "noisy_trainset_28spk_wav"
    (noisy / "p226_002.wav").unlink()
    folders = "--clean", corpus / "clean_trainset_28spk_wav", "--noisy", noisy
    done = run("noisy", *folders, "--out", tmp_path / "out", "--metrics", "stoi", "--jobs", 1)
    assert done.exit_code == 1 and "only 4 of 5 pairs" in done.stdout
    assert "p226_002" in done.stderr

    refused = run("noisy", *folders, "--published")
    assert isinstance(refused.exception, UsageError)
