"""The tool that finds what tells talkers apart."""

import sys

import numpy as np
import pytest
import soundfile

torch = pytest.importorskip("torch")

import fit_talkers
from fit_talkers import States, directions, equal_error
from safetensors.torch import save_file
from small_networks import streaming, unsettle

from qse.data.mix_config import MixConfig
from qse.networks.weights import load_network
from qse.train.recipe import RunConfig, write_config


def made_states(speakers=80, count=5, inputs=60):
    """Return states that differ between speakers in two directions, and within them, ten times as
    much, in ten others."""
    rng = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=rng, dtype=torch.float64)  # noqa: E731
    basis = torch.linalg.qr(draw(inputs, inputs)).Q
    own = draw(speakers, 2).repeat(count, 1) @ basis[:2]
    other = 10 * draw(speakers * count, 10) @ basis[2:12]
    states = 3 + own + other + 0.1 * draw(speakers * count, inputs)
    return States(states, torch.arange(speakers).repeat(count)), basis


def test_directions_are_those_that_differ_between_speakers_and_not_within():
    given, basis = made_states()
    weights, mean = directions(given)
    torch.testing.assert_close(mean, given.states.mean(0))
    kept = weights[-1] / weights[-1].norm()
    assert (basis[:2] @ kept).square().sum() > 0.75
    codes = (given.states - mean) @ weights.T
    assert equal_error(given.states - mean, given.speakers) > 0.4
    assert equal_error(codes[:, -2:], given.speakers) < 0.2


def test_the_equal_error_rate_counts_both_errors():
    states = torch.tensor([[1.0, 0], [1, 0.1], [0, 1], [0.1, 1]])
    assert equal_error(states, torch.tensor([0, 0, 1, 1])) == 0
    assert equal_error(states, torch.tensor([0, 1, 0, 1])) == 0.5


@pytest.fixture
def corpora(tmp_path):
    """Return folders of noise and of speech: six speakers, each with a tone of its own."""
    rng = np.random.default_rng(0)
    folders = [tmp_path / "speech", tmp_path / "noise"]
    for speaker in range(6):
        (folders[0] / f"s{speaker}").mkdir(parents=True)
        for number in range(4):
            time = np.arange(16000) / 16000
            audio = 0.3 * np.sin(2 * np.pi * (300 + 600 * speaker) * time)
            soundfile.write(folders[0] / f"s{speaker}" / f"{number}.wav", audio, 16000)
    folders[1].mkdir()
    soundfile.write(folders[1] / "n.wav", 0.1 * rng.standard_normal(16000), 16000)
    return folders


def test_a_fitted_network_is_written_from_which_training_begins(
    corpora, tmp_path, monkeypatch, capsys
):
    run, out = tmp_path / "run", tmp_path / "start"
    run.mkdir()
    network = unsettle(streaming(talker=True, blocks=2))
    mix = MixConfig(others_chance=0.5, enrolment_chance=0.5, enrolment=1.0, rooms=2)
    write_config(run / "config.toml", RunConfig({"network": "streaming"}, mix), network)
    save_file(network.state_dict(), run / "checkpoint.safetensors")
    words = [str(run), "--speech", str(corpora[0]), "--noise", str(corpora[1])]
    words += ["--out", str(out), "--count", "8"]
    monkeypatch.setattr(sys, "argv", ["fit_talkers.py", *words])
    fit_talkers.main()
    said = capsys.readouterr().out
    assert "8 of 8 enrolments of 6 speakers" in said and "% by codes" in said
    fitted, _ = load_network(out / "config.toml", out / "checkpoint.safetensors")
    assert fitted.talker.talkers == 6
    for name, weight in network.state_dict().items():
        if not name.startswith("talker."):
            assert torch.equal(fitted.state_dict()[name], weight)
