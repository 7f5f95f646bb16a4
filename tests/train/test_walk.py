"""From a corpus to enhanced recordings: prepare, train in two processes, stop, resume, evaluate,
export, denoise."""

import json

import pytest

torch = pytest.importorskip("torch")

import soundfile
from official_corpora import LIGHT, dns3_of_ten
from small_training import TINY, lines

MODEL = {**TINY, "n_fft": 512, "hop_length": 200, "ranges": [[256, 8]]}


def test_walk_from_a_corpus_to_enhanced_files(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("QSE_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr("qse.data.dns3_source.PAIRS", 2)
    dns3_of_ten(tmp_path / "DNS")
    broken = tmp_path / "DNS/datasets/clean/read_speech/reader_00009_broken.wav"
    broken.write_bytes(b"no audio")

    model = [f"model.{key}={json.dumps(value)}" for key, value in MODEL.items()]
    limits = ["train.epoch_hours=0.0025", "train.valid_hours=0.001", "train.epochs=1"]
    sets = []
    for change in [*LIGHT, 'model={network = "streaming"}', *model, *limits]:
        sets += ["--set", change]
    corpus = "--recipe", "dns3", "--data", "DNS"

    def done(*words) -> str:
        status, out, error = command(*words)
        assert status == 0, error
        return out + error

    status, _, error = command("prepare", *corpus, *sets)
    assert status == 1 and "broken.wav is not an audio file" in error
    told = done("prepare", *corpus, *sets, "--skip-unreadable")
    assert "clean: 12 recordings, 0.0 hours; 1 left out, listed in" in told

    train = ["train", *corpus, "--out", "run", "--processes", 2]
    assert "step 1; " in done(*train, *sets, "--hours", 0)
    # 9 s in segments of 0.5 s, two by each of two processes
    done(*train, "--resume")
    assert (tmp_path / "run/best.safetensors").is_file()
    assert [row["step"] for row in lines(tmp_path / "run/valid.csv")][-1] == "4"

    folder = next((tmp_path / "cache").glob("16kHz/*/validation-*"))
    pairs = "--clean", folder / "clean", "--noisy", folder / "noisy", "--metrics", "si_sdr"
    assert "| SI-SDR dB | " in done("evaluate", "run", *pairs, "--jobs", 1)
    done("export", "run", "models/walk")
    done("denoise", folder / "noisy/0001.flac", "--model", "walk", "-o", "clean.flac")
    assert soundfile.info("clean.flac").frames == 4 * 16000
