"""Official corpora as sources of a run."""

import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import soundfile
from official_corpora import dns3, voicebank

from qse.data import datasets, sources
from qse.data.datasets import Pair
from qse.data.mix_config import MixConfig
from qse.data.room_simulation import measured_bank
from qse.train.validation import read_pairs

CPU = torch.device("cpu")


def test_measured_bank_starts_at_the_direct_sound():
    responses = [np.array([0, 3, -80, 40, 20, 10], np.int16), np.array([100, 50], np.int16)]
    responses.append(np.array([64, -32768, 16384], np.int16))  # clipped at the lowest number
    bank = measured_bank(responses, 3)
    assert bank.tolist() == [[1.0, -0.5, -0.25], [1.0, 0.5, 0.0], [1.0, -0.5, 0.0]]


def test_dns3_uses_measured_rooms(tmp_path):
    mix = MixConfig(segment=0.5, rooms=5)
    source = sources.dns3(dns3(tmp_path, 16000), mix, 0, CPU)
    root = tmp_path / "datasets/impulse_responses"
    expected = []
    for path in sorted(root.rglob("*.wav")):
        response = soundfile.read(path)[0][50:, 0]
        expected.append(np.pad(response / response[0], (0, 16000 - len(response))))
    found = sorted(source.rooms.tolist())
    np.testing.assert_allclose(found, sorted(map(list, expected)), atol=1e-4)


def test_voicebank_holds_pairs_out(tmp_path):
    data = voicebank(tmp_path / "data", 16000)
    for side in ("clean", "noisy"):
        shutil.rmtree(data / f"{side}_testset_wav")
    (held,) = read_pairs(sources.validation("voicebank", data))
    for seed in range(3):  # each pair has a length of its own
        trained = sources.voicebank(data, MixConfig(), seed, CPU).noisy.lengths.tolist()
        assert sorted([*trained, len(held.noisy)]) == [16000 + 800 * number for number in range(5)]


def test_dns3_follows_links(tmp_path):
    root = dns3(tmp_path / "data", 16000) / "datasets"
    (root / "clean/read_speech").rename(tmp_path / "elsewhere")
    (root / "clean/read_speech").symlink_to(tmp_path / "elsewhere")
    assert [path.parent.name for path in datasets.dns3(root).clean] == [
        "french_speech",
        "read_speech",
        "read_speech",
    ]


def test_validation_holds_out_a_hundred_pairs(monkeypatch):
    pairs = [Pair(str(number), "noisy", "clean") for number in range(600)]
    monkeypatch.setattr("qse.data.datasets.voicebank_files", lambda *_: pairs)
    monkeypatch.setattr("qse.data.copies.with_copies", lambda pairs, _: pairs)
    held = {pair.name for pair in sources.validation("voicebank", "")}
    assert len(held) == 100 and held != {str(number) for number in range(100)}
