"""Small text files in the formats of SST-2 and SNLI, and a reader of result tables."""

import csv
import json

import pytest


@pytest.fixture
def rows_of():
    """The rows of a CSV file, as a function of its path."""

    def read(path):
        with path.open(newline="") as file:
            return list(csv.DictReader(file))

    return read


@pytest.fixture
def sst2(tmp_path):
    good, bad = "a fine and moving film", "dull , never funny"
    lines = ["sentence\tlabel", *(f"{text} {n}\t{label}" for n in range(12) for text, label in ((good, 1), (bad, 0)))]
    path = tmp_path / "train.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def snli(tmp_path):
    pairs = [("A man sleeps.", "A man is awake.", "contradiction"), ("A dog runs.", "An animal moves.", "entailment"),
             ("A girl sings.", "She is famous.", "neutral"), ("A boy eats.", "He likes it.", "-")]  # fmt: skip
    rows = [{"gold_label": label, "sentence1": a, "sentence2": b, "pairID": "1"} for a, b, label in pairs * 8]
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
