"""Validation scores against the metrics, and pairs that cannot be used."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import soundfile
from processes import ends_without_speech
from small_training import CPU, TINY

from qse.errors import QseError
from qse.evaluate.scoring import score_pair
from qse.export.streaming import speech_like
from qse.networks import Network, build_network
from qse.networks.streaming import StreamingConfig
from qse.train.validation import METRICS, Validator, validate
from qse.train.validation_pairs import Utterance, find_pairs, read_pairs


def write(path, samples, sample_rate=16000):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, sample_rate)


def test_validator_restores_a_run_without_a_best_score(tmp_path):
    """Headers of early runs have none; the next validation then is the best."""
    (tmp_path / "best.safetensors").touch()
    validator = Validator([Utterance("a", np.zeros(8), np.ones(8))], 4)
    validator.restore({"step": "8"}, tmp_path / "best.safetensors")
    assert validator.last == 8 and validator.record(12, {"pesq_wb": 1.0, "si_sdr": -50.0})


def test_validator_keeps_the_best_score_over_a_part_without_pairs(tmp_path):
    """As on a machine without the pairs, and without the best weights."""
    best = tmp_path / "best.safetensors"
    best.touch()
    pairs = [Utterance("a", np.zeros(8), np.ones(8))]
    before = Validator(pairs, 4)
    before.record(8, {"pesq_wb": 3.0, "si_sdr": 15.0})
    elsewhere = Validator([], 4)
    elsewhere.restore(before.header() | {"step": "8"}, tmp_path / "elsewhere/best.safetensors")
    after = Validator(pairs, 4)
    after.restore(elsewhere.header() | {"step": "12"}, best)
    assert after.best == before.best
    assert not after.record(16, {"pesq_wb": 2.0, "si_sdr": 15.0})


def test_validate_is_the_mean_over_pairs(training_audio):
    torch.manual_seed(0)
    net = build_network(TINY).train()
    pairs = read_pairs(find_pairs(training_audio / "valid", 16000))
    found = validate(net, pairs, CPU)
    assert net.training and [pair.name for pair in pairs] == ["p", "q"]
    rows = []
    for pair in pairs:
        with torch.no_grad():
            enhanced = net.eval().enhance(torch.from_numpy(pair.noisy)[None])[0].numpy()
        rows.append(score_pair(clean=pair.clean, enhanced=enhanced, metrics=METRICS))
    assert found == pytest.approx(
        {metric: (rows[0][metric] + rows[1][metric]) / 2 for metric in METRICS}
    )


def test_validate_in_processes_is_the_same(training_audio):
    """To the last bit, whatever the order in which the scores come."""
    torch.manual_seed(0)
    net = build_network(TINY)
    pairs = 3 * read_pairs(find_pairs(training_audio / "valid", 16000))
    done = []
    found = validate(net, pairs, CPU, jobs=2, progress=lambda *counts: done.append(counts))
    assert found == validate(net, pairs, CPU)
    assert done == [(number, 6) for number in range(7)]


def test_validate_in_processes_survives_a_crash_of_pesq(training_audio, monkeypatch):
    """As it crashes on some recordings: the pair then has no score, and the run goes on."""
    pairs = read_pairs(find_pairs(training_audio / "valid", 16000))
    monkeypatch.setattr("qse.train.score_worker.scores", ends_without_speech)
    longer = Utterance("r", pairs[0].noisy, np.zeros_like(pairs[0].clean))
    found = validate(build_network(TINY), [*pairs, longer], CPU, jobs=1)
    assert set(found) == set(METRICS) and all(map(np.isnan, found.values()))


def test_validate_at_32_khz_leaves_the_upper_band_out():
    """Its SNR needs 40 kHz or more; the other scores are those of the pair."""

    class Same(Network):
        config = StreamingConfig(sample_rate=32000, n_fft=1024, ranges=((192, 2), (320, 5)))

        def enhance(self, noisy):
            return noisy

    clean = speech_like(64000, 32000)
    pair = Utterance(
        "a", (0.9 * clean + 0.01 * np.sin(np.arange(64000))).astype(np.float32), clean, 32000
    )
    found = validate(Same(), [pair], CPU)
    assert found == score_pair(clean=clean, enhanced=pair.noisy, sample_rate=32000, metrics=METRICS)


def test_validate_of_a_silent_network_is_nan():
    pair = Utterance("p", np.ones(16000, np.float32), speech_like(16000, 16000))

    class Mute(Network):
        config = StreamingConfig()

        def enhance(self, noisy):
            return 0 * noisy

    assert all(np.isnan(score) for score in validate(Mute(), [pair], CPU).values())


def test_read_pairs_names_unusable_pairs(tmp_path):
    tone = 0.1 * np.sin(np.arange(1600))

    def refused(folder, sentence, sample_rate=16000):
        with pytest.raises(QseError, match=sentence):
            read_pairs(find_pairs(tmp_path / folder, sample_rate))

    refused("none", "none: no pairs; put files of equal names into")
    write(tmp_path / "alone/noisy/a.wav", tone)
    write(tmp_path / "alone/clean/b.wav", tone)
    refused("alone", r"alone/noisy/a.wav: there is no clean file of this name")
    write(tmp_path / "short/noisy/a.wav", tone), write(tmp_path / "short/clean/a.wav", tone[1:])
    refused("short", r"short/clean/a.wav has 1599 samples, but .*short/noisy/a.wav has 1600")
    write(tmp_path / "rate/noisy/a.wav", tone, 8000), write(tmp_path / "rate/clean/a.wav", tone)
    refused("rate", r"rate/clean/a.wav has 16000 Hz, but .*rate/noisy/a.wav has 8000 Hz")
    refused("rate", "rate: validation needs a model at 16000 Hz", 8000)
    (
        write(tmp_path / "two/noisy/a.wav", np.stack([tone, tone], 1)),
        write(tmp_path / "two/clean/a.wav", tone),
    )
    refused("two", r"two/noisy/a.wav has 2 channels")
    word = np.pad(speech_like(2400, 16000), (0, 16000))
    for folder, clean in (
        ("brief", tone), ("long", np.tile(tone, 400)), ("silent", np.zeros(16000)), ("word", word),
        ("words", np.tile(np.pad(speech_like(1600, 16000), (0, 14400)), 8)),
    ):  # fmt: skip
        (
            write(tmp_path / folder / "noisy/a.wav", clean + 0.01),
            write(tmp_path / folder / "clean/a.wav", clean),
        )
    refused("brief", r"brief/clean/a.wav: validation files last 0.5 to 30 s")
    refused("long", r"long/clean/a.wav: validation files last 0.5 to 30 s")
    refused("silent", r"silent/clean/a.wav: is silent")
    refused("word", r"word/clean/a.wav: cannot be scored \(STOI has no score")
    refused("words", r"words/clean/a.wav: cannot be scored \(PESQ has no score")
