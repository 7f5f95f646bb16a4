"""The paper's recipes on tiny copies of the official corpora: one epoch, resumed to equal numbers, and evaluated."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import soundfile
import soxr
from twins import TINY, same

from qse.data import (
    datasets,
    sources,
)
from qse.data.cached_corpus import stored
from qse.data.corpus import Corpus
from qse.data.datasets import Pair
from qse.data.mix_config import MixConfig
from qse.data.paired_segments import PairedSegments
from qse.data.room_simulation import measured_bank
from qse.errors import QseError, UsageError
from qse.evaluate.evaluation import EvaluationData, EvaluationRequest, run_evaluation
from qse.export.streaming import speech_like
from qse.networks import weights
from qse.train.job import Job
from qse.train.recipe import find_recipe, read_config
from qse.train.run import train
from qse.train.validation import read_pairs

CPU = torch.device("cpu")
LIGHT = ["train.batch=2", "mix.segment=0.5", "loss.mrstft=0", "loss.pesq=0", "loss.complex_l1=0"]


def write(path, samples, sample_rate=16000):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, sample_rate)


def voicebank(folder, sample_rate):
    """Five training and two test pairs in the layout of VoiceBank+DEMAND."""
    rng = np.random.default_rng(0)
    for part, names in (("trainset_28spk", ["p226_001", "p226_002", "p227_001", "p227_002", "p228_001"]),
                        ("testset", ["p232_001", "p257_002"])):  # fmt: skip
        for seed, name in enumerate(names):
            clean = speech_like(16000 + 800 * seed, 16000, seed)
            noisy = 0.5 * clean + 0.02 * rng.standard_normal(len(clean))
            for side, audio in (("clean", 0.5 * clean), ("noisy", noisy)):
                write(folder / f"{side}_{part}_wav/{name}.wav", soxr.resample(audio, 16000, sample_rate), sample_rate)
    return folder


def dns3(folder, sample_rate):
    """DNS-Challenge 3, a little of each of its folders."""
    rng, root = np.random.default_rng(0), folder / "datasets"
    for seed, name in enumerate(("french_speech/a", "read_speech/b", "read_speech/c")):
        audio = soxr.resample(0.5 * speech_like(24000, 16000, seed), 16000, sample_rate)
        write(root / f"clean/{name}.wav", audio, sample_rate)
        write(root / f"dev_testset/track_1/{name[-1]}_fileid_{seed}.wav", audio, sample_rate)
    for name in ("fan", "street"):
        write(root / f"noise/{name}.wav", 0.1 * rng.standard_normal(sample_rate), sample_rate)
    for name in ("SLR26/simulated_rirs/smallroom/r1", "SLR28/RIRS_NOISES/real/r2"):
        response = 0.1 * rng.standard_normal((sample_rate // 4, 2)) * np.linspace(1, 0, sample_rate // 4)[:, None]
        response[50] = 0.8
        write(root / f"impulse_responses/{name}.wav", response, sample_rate)
    return folder


CORPORA = {"voicebank": voicebank, "dns3": dns3}


@pytest.mark.parametrize("sample_rate", [16000, 48000])
@pytest.mark.parametrize("name", CORPORA)
def test_a_recipe_trains_an_epoch_on_its_corpus_resumes_and_is_evaluated(name, sample_rate, tmp_path, monkeypatch):
    monkeypatch.setenv("QSE_MODELS", str(tmp_path / "none"))
    if name == "dns3":  # which has no pairs to validate with
        monkeypatch.setitem(sys.modules, "pesq", None)
    data = CORPORA[name](tmp_path / "data", sample_rate)
    config = replace(read_config(find_recipe(name), [*LIGHT, "train.epochs=1"]), model=TINY)
    told = []
    train(config, Job(None, None, tmp_path / "whole", data=data), progress=lambda *counts: told.append(counts))
    files = {"voicebank": [10], "dns3": [3, 2]}[name]
    assert [total for _, done, total in told if done == total] == files
    whole, header = weights.load(tmp_path / "whole/checkpoint.safetensors")
    steps = {"voicebank": (5 - 1) // 2, "dns3": 9 // 2}[name]  # 4.5 s of speech are nine segments
    assert header["step"] == str(steps)
    assert (tmp_path / "whole/valid.csv").exists() == (name == "voicebank")  # the other has no pairs

    (tmp_path / "parts").mkdir()
    train(config, Job(None, None, tmp_path / "parts", hours=0, data=data))  # a step
    train(config, Job(None, None, tmp_path / "parts", resume=True, data=data))
    parts, resumed = weights.load(tmp_path / "parts/checkpoint.safetensors")
    same(parts, whole)
    for differs in ("seconds", "best"):  # a stop for lack of time is validated too
        del resumed[differs], header[differs]
    assert resumed == header

    if sample_rate == 16000:
        metric, count = {"voicebank": ("si_sdr", 2), "dns3": ("dnsmos_ovrl", 3)}[name]
        files = EvaluationData(dataset=name, data=data)
        request = EvaluationRequest(str(tmp_path / "whole"), files, metric, tmp_path / "scores", jobs=1)
        outcome = run_evaluation(request)
        assert f"; weights of step {header['step']};" in outcome.text
        assert not outcome.failed and len((outcome.folder / "scores.csv").read_text().splitlines()) == 1 + count


def numbered(lengths):
    """Recordings whose samples tell the recording and the place."""
    return [(1000 * number + np.arange(length)).astype(np.int16) for number, length in enumerate(lengths)]


def test_an_epoch_has_a_segment_of_every_pair_cut_at_one_place():
    noisy = numbered([100, 120, 90, 300, 80, 500])
    source = PairedSegments(Corpus.of(noisy, [""] * 6), Corpus.of([x + 7 for x in noisy], [""] * 6), 80, seed=1)
    assert source.segments == 6
    orders = []
    for epoch in range(2):
        first, second = (source.batch(3 * epoch + step, 2) for step in (0, 1))
        third = source.batch(3 * epoch + 2, 2)
        noisy, clean = (32768 * torch.cat(side) for side in zip(first, second, third, strict=True))
        assert torch.equal(clean[:, 1:], noisy[:, 1:] + 7)  # one sample of fade
        assert torch.equal(noisy[:, 1:].diff(), torch.ones(6, 78))
        orders.append((noisy[:, 1] // 1000).int().tolist())
        assert sorted(orders[-1]) == [0, 1, 2, 3, 4, 5]
    assert orders[0] != orders[1]
    again = PairedSegments(source.noisy, source.clean, 80, seed=1)
    assert torch.equal(again.batch(4, 2)[0], source.batch(4, 2)[0])


def test_processes_share_the_pairs_of_an_epoch():
    corpus = Corpus.of(numbered([100] * 8), [""] * 8)
    source = PairedSegments(corpus, corpus, 100, seed=1, processes=2)
    batches = [source.batch(step, 2, rank)[0] for step in (0, 1) for rank in (0, 1)]
    assert sorted((32768 * torch.cat(batches)[:, 1] // 1000).int().tolist()) == list(range(8))


def test_a_pair_that_is_shorter_than_a_segment_ends_in_silence():
    corpus = Corpus.of(numbered([60]), [""])
    noisy, _ = PairedSegments(corpus, corpus, 80, seed=1).batch(0, 3)
    assert torch.equal(32768 * noisy[:, 1:59], torch.arange(1, 59).expand(3, -1).float()) and not noisy[:, 60:].any()


def test_a_stored_corpus_is_the_one_in_memory_and_is_written_once(tmp_path):
    folder, store = tmp_path / "clean", tmp_path / "16kHz/clean"
    for seed, name in enumerate(("b/two.wav", "a/one.wav", "root.wav")):
        write(folder / name, speech_like(3000 + seed, 16000, seed))
    files = sorted(folder.rglob("*.wav"))

    def check():
        found, expected = stored(files, folder, store), Corpus.read(folder)
        assert torch.equal(found.audio, expected.audio) and found.names == expected.names == ("", "a", "b")
        for part in ("starts", "lengths", "groups"):
            assert torch.equal(getattr(found, part), getattr(expected, part))

    check()
    written = store.with_suffix(".int16").stat().st_mtime_ns
    check()
    assert store.with_suffix(".int16").stat().st_mtime_ns == written
    mapped = stored(files, folder, store).audio
    before = mapped.clone()
    write(folder / "a/one.wav", speech_like(5000, 16000, 5))
    check()
    assert torch.equal(mapped, before)  # of a run that still goes on
    store.with_suffix(".int16").unlink()
    check()
    (folder / "b/two.wav").write_bytes(b"no audio")
    with pytest.raises(QseError, match=r"two.wav \(not readable as audio\)"):
        stored(files, folder, store)
    written = store.with_suffix(".int16").stat().st_mtime_ns
    (folder / "b/two.wav").unlink()
    found = stored([path for path in files if path.exists()], folder, store)  # what could be read was kept
    assert torch.equal(found.audio, Corpus.read(folder).audio) and found.names == ("", "a")
    assert store.with_suffix(".int16").stat().st_mtime_ns == written


def test_measured_responses_begin_with_the_direct_sound():
    responses = [np.array([0, 3, -80, 40, 20, 10], np.int16), np.array([100, 50], np.int16)]
    responses.append(np.array([64, -32768, 16384], np.int16))  # clipped at the lowest number
    bank = measured_bank(responses, 3)
    assert bank.tolist() == [[1.0, -0.5, -0.25], [1.0, 0.5, 0.0], [1.0, -0.5, 0.0]]


def test_dns3_speaks_in_the_measured_rooms(tmp_path):
    mix = MixConfig(segment=0.5, rooms=5)
    source = sources.dns3(dns3(tmp_path, 16000), mix, 0, CPU)
    root = tmp_path / "datasets/impulse_responses"
    expected = []
    for path in sorted(root.rglob("*.wav")):
        response = soundfile.read(path)[0][50:, 0]
        expected.append(np.pad(response / response[0], (0, 16000 - len(response))))
    found = sorted(source.rooms.tolist())
    np.testing.assert_allclose(found, sorted(map(list, expected)), atol=1e-4)


def test_a_run_is_validated_with_pairs_that_it_does_not_train_on_and_needs_no_test_set(tmp_path):
    data = voicebank(tmp_path / "data", 16000)
    for side in ("clean", "noisy"):
        shutil.rmtree(data / f"{side}_testset_wav")
    (held,) = read_pairs(sources.validation("voicebank", data))
    for seed in range(3):  # each pair has a length of its own
        trained = sources.voicebank(data, MixConfig(), seed, CPU).noisy.lengths.tolist()
        assert sorted([*trained, len(held.noisy)]) == [16000 + 800 * number for number in range(5)]


def test_a_part_of_a_corpus_may_lie_on_another_disk(tmp_path):
    root = dns3(tmp_path / "data", 16000) / "datasets"
    (root / "clean/read_speech").rename(tmp_path / "elsewhere")
    (root / "clean/read_speech").symlink_to(tmp_path / "elsewhere")
    assert [path.parent.name for path in datasets.dns3(root).clean] == ["french_speech", "read_speech", "read_speech"]


def test_a_hundred_of_many_pairs_are_held_out(monkeypatch):
    pairs = [Pair(str(number), "noisy", "clean") for number in range(600)]
    monkeypatch.setattr("qse.data.datasets.voicebank_files", lambda *_: pairs)
    monkeypatch.setattr("qse.data.datasets.with_copies", lambda pairs, _: pairs)
    held = {pair.name for pair in sources.validation("voicebank", "")}
    assert len(held) == 100 and held != {str(number) for number in range(100)}


def test_what_is_missing_is_named_with_what_the_corpus_needs(tmp_path):
    def refused(name, data, sentence, **changes):
        with pytest.raises(QseError, match=sentence):
            config = replace(read_config(find_recipe(name), LIGHT), model=TINY, **changes)
            train(config, Job(None, None, tmp_path / "run", data=data))

    refused("voicebank", tmp_path, "has no folder noisy_trainset_28spk_wav: give the folder of VoiceBank")
    refused("dns3", tmp_path, "has no folder clean: give the folder of DNS-Challenge 3")
    refused("live-tiny", tmp_path, r"--data needs a recipe with a dataset \(voicebank or dns3\), this one has none")
    voicebank(tmp_path / "v", 16000)
    slow = {**TINY, "sample_rate": 8000}
    with pytest.raises(QseError, match="its copies are at 16000 Hz"):
        train(
            replace(read_config(find_recipe("voicebank")), model=slow), Job(None, None, tmp_path, data=tmp_path / "v")
        )
    write(tmp_path / "v/clean_trainset_28spk_wav/p226_002.wav", np.zeros(99))
    refused(
        "voicebank", tmp_path / "v", r"p226_002.wav has 16800 samples and .*p226_002.wav 99: a pair is of one length"
    )
    (tmp_path / "v/clean_trainset_28spk_wav/p226_001.wav").unlink()
    refused("voicebank", tmp_path / "v", r"noisy_trainset_28spk_wav/p226_001.wav has no counterpart")


@pytest.mark.parametrize("where", [{}, {"speech": "s"}, {"speech": "s", "noise": "n", "data": "d"}])
def test_a_run_has_one_kind_of_audio(tmp_path, where):
    folders = {"speech": None, "noise": None, **where}
    with pytest.raises(UsageError, match="say what to train on: --speech DIR and --noise DIR, or --data DIR"):
        train(read_config(find_recipe("voicebank")), Job(out=tmp_path / "run", **folders))


def test_recipes_are_found_by_name_and_by_path(tmp_path):
    (tmp_path / "mine.toml").write_text("")
    assert find_recipe(str(tmp_path / "mine.toml")) == tmp_path / "mine.toml"
    with pytest.raises(QseError, match=r"no recipe called dns4: there are dns3, live-base, .*voicebank; a path"):
        find_recipe("dns4")


def test_the_command_trains_on_a_corpus(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = voicebank(tmp_path / "data", 16000)
    tiny = [f"model.{key}={json.dumps(value)}" for key, value in TINY.items() if key != "n_fft"]
    changes = [*LIGHT, 'model={network = "streaming"}', *tiny, "model.n_fft=64", "train.epochs=1"]
    sets = [word for change in changes for word in ("--set", change)]
    status, _, error = command("train", "--recipe", "voicebank", "--data", data, *sets)
    assert status == 0, error
    assert error.endswith("step 2; make a model of it: qse export runs/voicebank models/NAME\n")
    assert read_config(tmp_path / "runs/voicebank/config.toml").dataset == "voicebank"
    short = "--out", "short", "--hours", 0, "--set", "train.steps=2", "--processes", 2
    _, _, error = command("train", "--recipe", "voicebank", "--data", data, *sets, *short)
    assert "short: step 1; make a model of it: qse export short models/NAME, or go on to step 2 with --resume" in error
    assert weights.load(Path("short/checkpoint.safetensors"))[1]["options"] == "--data DATA --processes 2"
    before = (tmp_path / "runs/voicebank/config.toml").read_text()
    for words in (["--recipe", "voicebank"], ["--out", "runs/voicebank"]):  # a run goes on as it began
        assert command("train", *words, "--data", data, "--resume")[0] == 0
        assert (tmp_path / "runs/voicebank/config.toml").read_text() == before
    status, _, error = command("train", "--data", data, "--resume")
    assert status == 2 and "say what to train" in error
    status, said, error = command("export", "runs/voicebank", tmp_path / "mine")
    assert status == 0 and "mine: step 2, " in said, error
    assert "    qse train --config config.toml --data DATA --out RUN\n" in (tmp_path / "mine/card.md").read_text()
