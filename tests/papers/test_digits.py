"""Digits: unheard speakers, arms with exact counts, training on tones that stand for digits."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("librosa")
pytest.importorskip("matplotlib")
import soundfile
from qse_papers import experiment
from qse_papers.digits import Digits
from result_tables import numbers, rows_of
from tensors import count

from qse.errors import QseError


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Two tones, which tell the digit, of three speakers, whose tones differ by 2 %."""
    folder = tmp_path_factory.mktemp("digits")
    rng = np.random.default_rng(0)
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


def test_digits_learns_from_one_speaker_for_two_others(recordings, tmp_path):
    changes = [f"data={recordings}", "units=64", "layers=1", "takes=3", "epochs=15", "batch=8"]
    changes += ["learning_rate=0.02", "seeds=[0]", 'arms=["qrnn", "qgru"]']
    line = experiment("digits", tmp_path, changes)
    rows = rows_of(tmp_path / "digits.csv")
    assert max(numbers(rows, "error %")) < 60 and "qrnn" in line  # chance: 90
    assert (tmp_path / "digits.png").stat().st_size > 5000
    assert "| network | parameters | error % |" in (tmp_path / "digits.md").read_text()


@pytest.mark.parametrize("fold, heard", [(0, {"cho"}), (1, {"ben"}), (2, {"ann"})])
def test_digits_holds_two_speakers_out(recordings, fold, heard):
    settings = Digits(data=str(recordings), takes=2)
    train, test = settings._split(fold)
    found = settings._recordings
    assert len(train[1]) == 20 and len(test[1]) == 40
    chosen = torch.tensor([name in heard for name in found.speakers])
    assert torch.equal(train[0][0], found.features[chosen])
    assert torch.equal(test[1], found.digits[~chosen])


def test_digits_matched_network_is_no_larger():
    quaternion = count(Digits().network("qrnn"))
    assert 0.85 * quaternion < count(Digits().network("rnn-matched")) <= quaternion
    assert quaternion < 0.4 * count(Digits().network("rnn"))


def test_digits_names_a_folder_without_recordings(tmp_path):
    with pytest.raises(QseError, match="no recording DIGIT_SPEAKER_NUMBER"):
        experiment("digits", tmp_path / "out", [f"data={tmp_path}"])
    with pytest.raises(QseError, match="--set data="):
        experiment("digits", tmp_path / "out")
