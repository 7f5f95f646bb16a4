"""The tool that mixes balanced pairs from an assembled corpus."""

import csv
import itertools
import sys

import numpy as np
import pytest
import soundfile

pytest.importorskip("torch")

import mix_pairs

RATE = 16000


@pytest.fixture
def corpus(tmp_path):
    """Two sources of speech with two speakers each and two of noise.

    Every recording is a tone of its own.
    """
    folder = tmp_path / "corpus"
    index = [("kind", "id", "group", "cutoff_hz")]
    hertz = itertools.count(300, 100)
    for kind, groups in (("speech", ("a-1", "a-2", "b-1", "b-2")), ("noise", ("c-x", "d-x"))):
        for group, number in itertools.product(groups, range(2)):
            tone = 0.3 * np.sin(2 * np.pi * next(hertz) * np.arange(RATE * 5 // 2) / RATE)
            path = folder / kind / group / f"{number}.flac"
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, tone, RATE, subtype="PCM_16")
            index.append((kind, number, group, 8000 if group != "b-2" else 4000))
    with open(folder / "index.tsv", "w", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(index)
    return folder


def _mix(monkeypatch, corpus, out, *options):
    monkeypatch.setattr(
        sys, "argv", ["mix_pairs.py", "--corpus", str(corpus), "--out", str(out), *options]
    )
    mix_pairs.main()
    with open(out / "groups.tsv") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_every_cell_has_one_pair_at_its_snr(monkeypatch, corpus, tmp_path):
    rows = _mix(monkeypatch, corpus, tmp_path / "pairs")
    cells = {(row["speech_source"], row["noise_source"], float(row["snr_db"])) for row in rows}
    assert len(rows) == len(cells) == 2 * 2 * 5
    assert {row["speaker"] for row in rows} == {"a-1", "a-2", "b-1", "b-2"}
    for row in rows:
        clean, _ = soundfile.read(tmp_path / "pairs" / "clean" / f"{row['id']}.flac")
        noisy, _ = soundfile.read(tmp_path / "pairs" / "noisy" / f"{row['id']}.flac")
        assert len(clean) == len(noisy) == 4 * RATE
        assert max(np.abs(noisy).max(), np.abs(clean).max()) < 0.9
        power = np.convolve(clean**2, np.ones(320) / 320, "same")
        sounding = power > 1e-6 * np.abs(clean).max() ** 2
        snr = 10 * np.log10(np.mean(clean[sounding] ** 2) / np.mean((noisy - clean) ** 2))
        assert snr == pytest.approx(float(row["snr_db"]), abs=0.2)


def test_silence_in_a_noise_is_not_taken(monkeypatch, corpus, tmp_path):
    for number in range(2):
        tone = 0.3 * np.sin(np.arange(60 * RATE) / 3)
        tone[2 * RATE : -2 * RATE] = 0
        soundfile.write(corpus / f"noise/c-x/{number}.flac", tone, RATE, subtype="PCM_16")
    rows = _mix(monkeypatch, corpus, tmp_path / "pairs")
    assert len(rows) == 2 * 2 * 5
    noisy, _ = soundfile.read(tmp_path / "pairs" / "noisy" / f"{rows[0]['id']}.flac")
    assert np.isfinite(noisy).all()


@pytest.mark.parametrize(
    "group, samples", [("noise/c-x", 0), ("noise/c-x", 320), ("speech/a-1", 0)]
)
def test_recordings_that_fill_no_pair_are_named(monkeypatch, corpus, tmp_path, group, samples):
    for number in range(2):
        path = corpus / group / f"{number}.flac"
        with path.open("wb") as file:  # libsndfile writes no FLAC without samples
            soundfile.write(file, np.ones(samples), RATE, format="WAV")
    with pytest.raises(SystemExit, match=rf"{group[-3:]}/\d.*leave it out"):
        _mix(monkeypatch, corpus, tmp_path / "pairs")


def test_same_seed_gives_same_pairs(monkeypatch, corpus, tmp_path):
    found = {}
    for name, seed in (("one", "3"), ("two", "3"), ("other", "4")):
        _mix(monkeypatch, corpus, tmp_path / name, "--seed", seed)
        found[name] = (tmp_path / name / "noisy/u007.flac").read_bytes()
    assert found["one"] == found["two"] != found["other"]


def test_least_cutoff_leaves_narrow_recordings_out(monkeypatch, corpus, tmp_path):
    options = ("--least-cutoff", "7000", "--sample-rate", "8000", "--count", "2")
    rows = _mix(monkeypatch, corpus, tmp_path / "pairs", *options)
    assert len(rows) == 40 and {row["speaker"] for row in rows} == {"a-1", "a-2", "b-1"}
    assert soundfile.info(tmp_path / "pairs/clean/u039.flac").frames == 4 * 8000


def _delayed(audio, samples):
    return np.concatenate([np.zeros(samples), audio[:-samples]])


def _likeness(one, other):
    """Return the cosine of the angle between two signals."""
    return np.vdot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other))


def test_clean_keeps_only_the_early_reflections_of_a_room(monkeypatch, corpus, tmp_path):
    folder = tmp_path / "rooms"
    folder.mkdir()
    response = np.zeros(8000)
    response[[800, 1200, 4000]] = 0.5, 0.25, -0.3  # direct sound, 25 ms and 200 ms after it
    soundfile.write(folder / "hall.wav", response, RATE, subtype="FLOAT")
    rows = _mix(monkeypatch, corpus, tmp_path / "pairs", "--rooms", str(folder))
    dry = _mix(monkeypatch, corpus, tmp_path / "dry")
    assert {row.pop("room") for row in rows} == {"hall"}
    assert rows == dry

    for row in rows:
        clean, _ = soundfile.read(tmp_path / "pairs/clean" / f"{row['id']}.flac")
        noisy, _ = soundfile.read(tmp_path / "pairs/noisy" / f"{row['id']}.flac")
        spoken, _ = soundfile.read(tmp_path / "dry/clean" / f"{row['id']}.flac")
        early = spoken + 0.5 * _delayed(spoken, 400)
        heard = early - 0.6 * _delayed(spoken, 3200)
        assert _likeness(clean, early) > 0.9999
        if float(row["snr_db"]) == 17.5:
            assert _likeness(noisy, heard) > 0.98 > 0.95 > _likeness(noisy, early)
