"""Small text files in the formats of SST-2 and SNLI, runs of small networks, and a reader of result tables."""

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
    lines = [
        "sentence\tlabel",
        *(f"{text} {n}\t{label}" for n in range(12) for text, label in ((good, 1), (bad, 0))),
    ]
    path = tmp_path / "train.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def snli(tmp_path):
    pairs = [("A man sleeps.", "A man is awake.", "contradiction"), ("A dog runs.", "An animal moves.", "entailment"),
             ("A girl sings.", "She is famous.", "neutral"), ("A boy eats.", "He likes it.", "-")]  # fmt: skip
    rows = [
        {"gold_label": label, "sentence1": a, "sentence2": b, "pairID": "1"}
        for a, b, label in pairs * 8
    ]
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def small_run(tmp_path):
    """Return a function that writes a run of a small offline network by its name and seed, and returns its folder."""

    def write(name, seed=0):
        import torch

        from qse.networks import build_network
        from qse.train import checkpoint
        from qse.train.recipe import RunConfig, write_config

        config = RunConfig(
            {"network": name, "n_fft": 32, "hop_length": 16, "channels": 4, "heads": 2, "layers": 1}
        )
        torch.manual_seed(seed)
        network, folder = build_network(config.model), tmp_path / f"{name}-{seed}"
        folder.mkdir(exist_ok=True)
        write_config(folder / "config.toml", config, network)
        weights = {f"average.{key}": value for key, value in network.state_dict().items()}
        checkpoint.save(folder / "best.safetensors", weights, {})
        return folder

    return write
