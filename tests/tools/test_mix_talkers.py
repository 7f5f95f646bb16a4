"""The tool that mixes talkers among others, with rooms of two reflections."""

import csv
import sys

import numpy as np
import pytest
import soundfile

pytest.importorskip("torch")

import mix_talkers

RATE = 8000
TONES = {"a": 400, "b": 900}  # Hz, of the sources of speech


@pytest.fixture(scope="module")
def talkers(tmp_path_factory):
    """The pairs of a corpus in which every source of speech is a tone, and noise is white."""
    folder = tmp_path_factory.mktemp("talkers")
    corpus = folder / "corpus"
    lines = ["kind\tid\tgroup\tcutoff_hz"]
    time = np.arange(3 * RATE) / RATE
    noise = np.random.default_rng(0).normal(0, 0.1, 12 * RATE)
    for source, hertz in TONES.items():
        _write(corpus / f"speech/{source}-1/0.flac", 0.3 * np.sin(2 * np.pi * hertz * time))
        lines.append(f"speech\t0\t{source}-1\t4000")
    _write(corpus / "noise/c-1/0.flac", noise)
    lines.append("noise\t0\tc-1\t4000")
    (corpus / "index.tsv").write_text("\n".join(lines) + "\n")

    def responses(self, distances):
        room = np.zeros(RATE // 2)
        room[0], room[RATE // 100], room[RATE // 4] = 1.0, 0.3, 0.3  # early and late
        return [room for _ in distances]

    line = ["--corpus", str(corpus), "--out", str(folder / "out"), "--sample-rate", str(RATE)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mix_talkers.Studio, "responses", responses)
        patch.setattr(sys, "argv", ["mix_talkers.py", *line, "--count", "2"])
        mix_talkers.main()
    return folder / "out"


def _write(path, audio):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, audio, RATE, subtype="PCM_16")


def _pairs(folder):
    with open(folder / "groups.tsv") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            noisy, clean = (
                soundfile.read(folder / side / f"{row['id']}.flac")[0]
                for side in ("noisy", "clean")
            )
            yield row, noisy, clean


def _tone(audio, source):
    """Return the amplitude of a source's tone in whole periods of both."""
    time = np.arange(len(audio)) / RATE
    return abs(2 * np.mean(audio * np.exp(-2j * np.pi * TONES[source] * time)))


def _other(row):
    return "b" if row["speech_source"] == "a" else "a"


def test_others_never_pause_and_are_in_the_noisy_side_alone(talkers):
    rows = list(_pairs(talkers / "mixtures"))
    assert [float(row["ratio_db"]) for row, _, _ in rows] == [0, 0, 6, 6, 12, 12, 18, 18]
    for row, noisy, clean in rows:
        assert len(noisy) == len(clean) == 10 * RATE
        talker = row["speech_source"]
        if row["others"] == "1":
            assert _tone(clean[: 2 * RATE], _other(row)) < 1e-3
            own, far = _tone(noisy[: 2 * RATE], talker), _tone(noisy[: 2 * RATE], _other(row))
            assert 20 * np.log10(own / far) == pytest.approx(float(row["ratio_db"]), abs=2.5)
        silent = np.abs(clean) < 1e-4
        assert 0.1 < silent.mean() < 0.6  # the talker's pauses


def test_a_talker_is_silent_and_the_other_stays(talkers):
    for row, noisy, clean in _pairs(talkers / "held"):
        assert not clean[5 * RATE :].any() and clean[: 2 * RATE].any()
        late = noisy[6 * RATE : 16 * RATE]
        assert _tone(late, _other(row)) > 5 * _tone(late, row["speech_source"])


def test_a_talker_alone_is_at_a_distance(talkers):
    rows = list(_pairs(talkers / "alone"))
    assert [row["distance_m"] for row, _, _ in rows] == ["0.5", "1.2", "2"]
    for row, noisy, _ in rows:
        assert _tone(noisy, row["speech_source"]) > 10 * _tone(noisy, _other(row))


def test_an_enrolment_is_of_the_talker_and_the_other_is_as_loud(talkers):
    for row, noisy, clean in _pairs(talkers / "told"):
        talker = row["speech_source"]
        enrolment = soundfile.read(talkers / "told/enrolment" / f"{row['id']}.flac")[0]
        assert len(noisy) == 8 * RATE and len(enrolment) == 6 * RATE
        assert _tone(enrolment, talker) > 10 * _tone(enrolment, _other(row))
        own, other = _tone(noisy[: 2 * RATE], talker), _tone(noisy[: 2 * RATE], _other(row))
        assert 20 * np.log10(own / other) == pytest.approx(0.0, abs=2.5)
        assert _tone(clean[: 2 * RATE], _other(row)) < 1e-3


def test_reflections_of_a_close_talker_are_weaker():
    studio = mix_talkers.Studio.__new__(mix_talkers.Studio)
    studio.rate, studio.rng = RATE, np.random.default_rng(1)
    response = np.concatenate([[1.0], np.full(RATE, 0.02)])
    near = studio.near(response)
    direct = round(mix_talkers.DIRECT * RATE)
    ratio = 10 * np.log10(np.square(near[:direct]).sum() / np.square(near[direct:]).sum())
    assert 8.0 <= ratio <= 15.0 and near[0] == 1.0


def test_an_enrolment_of_empty_recordings_ends(tmp_path):
    path = tmp_path / "speech/a-1/0.flac"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:  # libsndfile writes no FLAC without samples
        soundfile.write(file, np.zeros(0), RATE, format="WAV")
    row = {"kind": "speech", "group": "a-1", "id": "0"}
    recordings = mix_talkers.Recordings(tmp_path, [row], RATE, np.random.default_rng(0))
    with pytest.raises(SystemExit, match=r"0\.flac holds no samples"):
        recordings.read(row)


def test_files_of_a_folder_are_not_replaced(talkers, monkeypatch):
    before = (talkers / "told/noisy/t000.flac").read_bytes()
    line = ["mix_talkers.py", "--corpus", str(talkers.parent / "corpus"), "--out", str(talkers)]
    monkeypatch.setattr(sys, "argv", line)
    with pytest.raises(SystemExit, match="name a new folder"):
        mix_talkers.main()
    assert (talkers / "told/noisy/t000.flac").read_bytes() == before
