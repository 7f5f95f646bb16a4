"""Outputs of foreign systems: late, longer or shorter, at another rate, with names of their own."""

import numpy as np
import pytest
import soxr
from evaluation_files import write
from speech import SAMPLE_RATE, hiss, voice

from qse.data.datasets import Pair, pair_folders
from qse.data.recordings import read_mono
from qse.errors import QseError
from qse.evaluate.alignment import align, peak_of
from qse.evaluate.clocks import timing_of
from qse.evaluate.computing_systems import find_system
from qse.evaluate.evaluation import evaluate
from qse.evaluate.system import matched


def pairs_of(corpus):
    return pair_folders(corpus / "noisy", corpus / "clean")


def better(corpus, change, sample_rate: int = SAMPLE_RATE, suffix: str = "") -> str:
    """Write the clean files, changed, with a little noise, as the output of a system."""
    for path in (corpus / "clean").iterdir():
        audio = read_mono(path)[0] + 0.001 * hiss(SAMPLE_RATE, 5)
        write(corpus / "better" / f"{path.stem}{suffix}.wav", change(audio), sample_rate)
    return str(corpus / "better")


@pytest.mark.parametrize("delay", [-700, -1, 0, 1, 4800])
def test_delay_of_noisy_speech(delay):
    clean = voice(2.0)
    late = np.roll(-0.3 * clean, delay) + 0.02 * hiss(len(clean), 3)
    assert peak_of(late, clean, SAMPLE_RATE)[0] == delay


@pytest.mark.parametrize("ppm", [-100, 30, 100, 400])
def test_drift_of_another_clock_is_found(ppm):
    """By its own rate: the signal is written out at other times."""
    clean = voice(20.0)
    times = np.arange(round(len(clean) * (1 + ppm * 1e-6))) / (1 + ppm * 1e-6)
    late = np.interp(times, np.arange(len(clean)), clean) + 0.01 * hiss(len(times), 3)
    assert timing_of(late, clean, SAMPLE_RATE).drift == pytest.approx(ppm, abs=5)


def test_no_drift_where_the_clock_is_the_same():
    clean = voice(20.0)
    for signal in (clean, np.roll(clean, 300), hiss(len(clean), 3), 0 * clean, clean[:100]):
        assert timing_of(signal + 1e-4 * hiss(len(signal), 4), clean, SAMPLE_RATE).drift is None


def test_outputs_of_another_clock_are_not_aligned(tmp_path):
    """They were "delayed", and --align lowered their scores."""
    clean = voice(20.0)
    write(tmp_path / "clean/a.wav", clean)
    write(tmp_path / "noisy/a.wav", clean + 0.05 * hiss(len(clean), 9))
    write(tmp_path / "better/a.wav", soxr.resample(clean, 1e6, 1e6 + 100))
    scores = []
    for timing in ("trimmed", "aligned"):
        system = str(tmp_path / "better")
        found = evaluate(system, pairs_of(tmp_path), metrics="stoi", timing=timing)
        said = " ".join(found.text().split())
        assert "output drifts against the references (its clock is slower by 100 ppm" in said
        assert "delayed" not in said and ("nothing was aligned" in said) == (timing == "aligned")
        scores.append(found.means["stoi"])
    assert scores[0] == scores[1]


def test_inverted_polarity_is_said(corpus):
    system = better(corpus, lambda audio: -audio)
    found = evaluate(system, pairs_of(corpus), corpus / "out", metrics="si_sdr")
    assert "polarity inverted in 5" in " ".join(found.text().split())
    upright = evaluate("noisy", pairs_of(corpus), metrics="si_sdr")
    assert "polarity" not in upright.text()


@pytest.mark.parametrize("tail", [0, 320])
def test_delay_is_reported_and_compensated(corpus, tail):
    """20 ms late, cut off at the end or not."""
    system = better(
        corpus,
        lambda audio: np.concatenate([np.zeros(320), audio, audio[:tail]])[: len(audio) + tail],
    )
    late = evaluate(system, pairs_of(corpus), metrics="si_sdr,stoi")
    assert not late.failed and late.means["si_sdr"] < 0
    said = " ".join(late.text().split())
    assert "output delayed by 320 samples (20.0 ms), not compensated" in said

    aligned = evaluate(system, pairs_of(corpus), metrics="si_sdr,stoi", timing="aligned")
    said = " ".join(aligned.text().split())
    assert "320 samples (20.0 ms), compensated" in said and "trimmed" not in said
    row = aligned.rows[2]
    clean = read_mono(corpus / "clean/u2.wav")[0][: 16000 if tail else 15680]
    expected = clean + 0.001 * hiss(SAMPLE_RATE, 5)[: len(clean)]
    error = 10 * np.log10(np.sum(np.square(clean)) / np.sum(np.square(expected - clean)))
    assert row["si_sdr"] == pytest.approx(error, abs=0.2) and row["delay"] == 320


def test_some_samples_more_or_less_are_trimmed_and_counted(corpus):
    system = better(corpus, lambda audio: audio[:-160])
    write(corpus / "better/u1.wav", np.append(read_mono(corpus / "clean/u1.wav")[0], np.zeros(600)))
    found = evaluate(system, pairs_of(corpus), corpus / "out", metrics="si_sdr")
    assert list(found.failed) == ["u1"]
    assert "enhanced has 16600 samples" in found.failed["u1"] and "32 ms" in found.failed["u1"]
    assert [row.get("trimmed") for row in found.rows] == [160, None, 160, 160, 160]
    assert "4 trimmed by up to 160 samples" in " ".join(found.text().split())

    strict = evaluate(system, pairs_of(corpus), metrics="si_sdr", timing="strict")
    assert len(strict.failed) == 5 and "enhanced has 15840 samples" in strict.failed["u0"]


def test_align_refuses_what_differs_in_more_than_the_delay():
    noisy = np.ones(16000)
    assert (
        align(None, noisy, np.ones(16320), sample_rate=16000, delay=320, strict=True).trimmed == 0
    )
    with pytest.raises(ValueError, match="noisy has 16000 samples, enhanced has 16319 samples"):
        align(None, noisy, np.ones(16319 + 320), sample_rate=16000, delay=320, strict=True)


def test_outputs_at_16_khz_are_compared_with_originals_at_48_khz(corpus):
    """The scores are those of originals that were converted before."""
    system = better(corpus, lambda audio: audio)
    expected = evaluate(system, pairs_of(corpus), metrics="si_sdr,stoi")
    for path in [*(corpus / "clean").iterdir(), *(corpus / "noisy").iterdir()]:
        audio = soxr.resample(read_mono(path)[0], 16000, 48000, "VHQ")
        write(corpus / "high" / path.parent.name / path.name, audio, 48000)
    found = evaluate(system, pairs_of(corpus / "high"), metrics="si_sdr,stoi")
    assert found.sample_rate == 16000 and not found.failed
    assert found.means["stoi"] == pytest.approx(expected.means["stoi"], abs=1e-3)
    assert found.means["si_sdr"] == pytest.approx(expected.means["si_sdr"], abs=1)


def test_suffixes_of_other_systems_are_recognised(corpus):
    system = better(corpus, lambda audio: audio, suffix="_DeepFilterNet3")
    found = evaluate(system, pairs_of(corpus), metrics="si_sdr")
    assert not found.failed and found.means["si_sdr"] > 10


def test_a_file_belongs_to_one_utterance():
    files = {name: Pair(name, None) for name in ("a_b_x", "c_x", "a_x")}
    found = matched(files, ["a", "a_b", "c", "d"])
    assert {name: file.name for name, file in found.items()} == {
        "a": "a_x",
        "a_b": "a_b_x",
        "c": "c_x",
    }
    incomplete = {"a_b": Pair("a_b", None), "c_b": Pair("c_b", None)}
    assert list(matched(incomplete, ["a", "a_b", "c_b"])) == ["a_b", "c_b"]


def test_pairs_at_8_khz_are_scored_narrow_band(corpus):
    import pesq

    system = better(corpus, lambda audio: soxr.resample(audio, 16000, 8000), 8000)
    for path in [*(corpus / "clean").iterdir(), *(corpus / "noisy").iterdir()]:
        write(path, soxr.resample(read_mono(path)[0], 16000, 8000), 8000)
    names = "pesq_nb,stoi,estoi,si_sdr,segmental_snr,lsd"
    found = evaluate(system, pairs_of(corpus), metrics=names)
    assert found.sample_rate == 8000 and not found.failed
    clean = read_mono(corpus / "clean/u3.wav")[0]
    output = read_mono(corpus / "better/u3.wav")[0]
    assert found.rows[3]["pesq_nb"] == pesq.pesq(8000, clean, output, "nb")
    assert evaluate("noisy", pairs_of(corpus)).metrics[0] == "pesq_nb"
    with pytest.raises(QseError, match="pesq_wb needs files at 16000 Hz or more, not 8000 Hz"):
        evaluate(system, pairs_of(corpus), metrics="pesq_wb")


def test_models_for_16_khz_process_pairs_at_8_khz(corpus, models):
    for path in [*(corpus / "clean").iterdir(), *(corpus / "noisy").iterdir()]:
        write(path, soxr.resample(read_mono(path)[0], 16000, 8000), 8000)
    found = evaluate("live-base", pairs_of(corpus)[:1], metrics="stoi,si_sdr")  # a pure delay
    assert found.rows[0]["stoi"] == pytest.approx(found.rows[0]["noisy_stoi"], abs=0.01)


def test_the_rate_of_a_model_is_read_without_loading_it(models, monkeypatch):
    system = find_system("live-base")
    monkeypatch.setattr("qse.load", lambda *arguments, **options: 1 / 0)
    assert system.rate_for(48000) == 16000
