"""Small text files in the formats of SST-2 and SNLI, and runs of small networks."""

import json

import pytest


@pytest.fixture
def sst2(tmp_path):
    lines = ["sentence\tlabel"]
    for n in range(12):
        lines += [f"a fine and moving film {n}\t1", f"dull , never funny {n}\t0"]
    path = tmp_path / "train.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def snli(tmp_path):
    pairs = [
        ("A man sleeps.", "A man is awake.", "contradiction"),
        ("A dog runs.", "An animal moves.", "entailment"),
        ("A girl sings.", "She is famous.", "neutral"),
        ("A boy eats.", "He likes it.", "-"),
    ]
    text = ""
    for a, b, label in pairs * 8:
        row = {"gold_label": label, "sentence1": a, "sentence2": b, "pairID": "1"}
        text += json.dumps(row) + "\n"
    path = tmp_path / "train.jsonl"
    path.write_text(text)
    return path


@pytest.fixture
def small_run(tmp_path):
    """Return a function that writes a run of a small offline network, and returns its folder.

    It takes the name of the network and a seed.
    """

    def write(name, seed=0):
        import torch

        from qse.networks import build_network
        from qse.train import checkpoint
        from qse.train.recipe import RunConfig, write_config

        config = RunConfig(
            {"network": name, "n_fft": 32, "hop_length": 16, "channels": 4, "heads": 2, "layers": 1}
        )
        torch.manual_seed(seed)
        network = build_network(config.model)
        folder = tmp_path / f"{name}-{seed}"
        folder.mkdir(exist_ok=True)
        write_config(folder / "config.toml", config, network)
        weights = {f"average.{key}": value for key, value in network.state_dict().items()}
        checkpoint.save(folder / "best.safetensors", weights, {}, None)
        return folder

    return write


RECIPE = """
[model]
network = "streaming"
n_fft = 64
hop_length = 32
ranges = [[32, 2]]
channels = [2, 2, 4]
growth = 2
dilations = [1]
blocks = 1
heads = 2

[mix]
segment = 0.25
rooms = 2

[loss]
mrstft = 0.0
complex_l1 = 0.0
pesq = 0.0

[train]
batch = 2
steps = 3
"""


@pytest.fixture
def speech_study(tmp_path):
    """Write a small recipe and some seconds of audio; return them as settings.

    The first setting is the recipe, the others are the folders.
    """
    import soundfile
    from speech import hiss, voice

    signals = {
        "speech/a/1.wav": voice(3),
        "noise/b/1.wav": 0.05 * hiss(32000),
        "valid/clean/1.wav": voice(2, 150),
        "valid/noisy/1.wav": voice(2, 150) + 0.02 * hiss(32000),
    }
    for name, audio in signals.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(tmp_path / name, audio, 16000)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    settings = [f"recipe={tmp_path / 'recipe.toml'}"]
    for name in ("speech", "noise", "valid"):
        settings.append(f"{name}={tmp_path / name}")
    return settings
