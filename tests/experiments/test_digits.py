"""Digits: unheard speakers, arms with exact counts, training on tones that stand for digits."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("librosa")
pytest.importorskip("matplotlib")
import soundfile

from qse.errors import QseError
from qse.experiments import experiment
from qse.experiments.digits import ARMS, Digits


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Two tones after each other, which tell the digit; three speakers, whose tones differ by 2 %."""
    folder, rng = tmp_path_factory.mktemp("digits"), np.random.default_rng(0)
    for number, speaker in enumerate(("ann", "ben", "cho")):
        for digit in range(10):
            for take in range(3):
                pitches = (400 + 600 * np.array([digit % 5, (digit + 1 + digit // 5) % 5])) * (
                    1 + 0.02 * number
                )
                tones = 0.3 * np.sin(2 * np.pi * pitches[:, None] * np.arange(1200) / 8000)
                wave = tones.flatten() + 0.01 * rng.standard_normal(2400)
                soundfile.write(folder / f"{digit}_{speaker}_{take}.wav", wave, 8000)
    return folder


def test_digits_learns_from_one_speaker_for_two_others(recordings, tmp_path, rows_of):
    changes = [f"data={recordings}", "units=64", "layers=1", "takes=3", "epochs=15", "batch=8", "learning_rate=0.02",
               "seeds=[0]", 'arms=["qrnn", "qgru"]']  # fmt: skip
    line = experiment("digits", tmp_path, changes)
    rows = rows_of(tmp_path / "digits.csv")
    assert all(float(row["error %"]) < 60 for row in rows) and "qrnn" in line  # chance: 90
    assert (tmp_path / "digits.png").stat().st_size > 5000
    assert "| network | parameters | error % |" in (tmp_path / "digits.md").read_text()


@pytest.mark.parametrize("fold, heard", [(0, {"cho"}), (1, {"ben"}), (2, {"ann"})])
def test_digits_holds_two_speakers_out(recordings, fold, heard):
    settings = Digits(data=str(recordings), takes=2)
    train, test = settings._split(fold)
    x, _, digit, speaker = settings._recordings
    assert len(train[1]) == 20 and len(test[1]) == 40
    chosen = torch.tensor([name in heard for name in speaker])
    assert torch.equal(train[0][0], x[chosen]) and torch.equal(test[1], digit[~chosen])


def test_digits_matched_network_is_no_larger():
    count = {arm: sum(p.numel() for p in Digits().network(arm).parameters()) for arm in ARMS}
    assert 0.85 * count["qrnn"] < count["rnn-matched"] <= count["qrnn"] < 0.4 * count["rnn"]


def test_digits_names_a_folder_without_recordings(tmp_path):
    with pytest.raises(QseError, match="no recording DIGIT_SPEAKER_NUMBER"):
        experiment("digits", tmp_path / "out", [f"data={tmp_path}"])
    with pytest.raises(QseError, match="--set data="):
        experiment("digits", tmp_path / "out")
