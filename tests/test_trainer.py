"""The loop against a plain one, resuming against going on, two processes against one, and what a run leaves behind."""

import json
import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import soundfile
import twins
from torch import nn
from twins import PLAN, TINY, batches, copies, same, squared_error

import qse
from qse.data.mix_config import MixConfig
from qse.errors import QseError
from qse.evaluate.metrics import score_pair
from qse.export.card import CardOptions
from qse.export.release import release
from qse.export.streaming import speech_like
from qse.losses.composite import LossConfig
from qse.networks import build_network, enhance
from qse.networks.weights import load_network, weights_step
from qse.networks import weights
from qse.train import checkpoint, parallel
from qse.train.metrics_log import MetricsLog
from qse.train.preflight import Job
from qse.train.recipe import RunConfig, read_config
from qse.train.run import train
from qse.train.stateful_training import loss_of
from qse.train.trainer import TrainConfig, Trainer, moving_average
from qse.train.validation import METRICS, Utterance, find_pairs, quality, read_pairs, validate
from qse.train.warm_start import start_from

LOSS = LossConfig(mrstft=0, si_sdr=1, rms=1, complex_l1=0, pesq=0)
CONFIG = RunConfig(TINY, MixConfig(segment=0.25, rooms=2), LOSS, PLAN)
CPU = torch.device("cpu")


# A network and a source of batches for the loop alone: statistics, random numbers, and a target that can be learned


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 6))


def trainer(plan: TrainConfig = PLAN, seed: int = 0, source=batches, loss=squared_error) -> Trainer:
    return Trainer(network(seed), loss, source, plan, CPU)


# The loop


def test_the_loop_is_the_plain_one():
    def source(step):
        return tuple(x.double() for x in batches(step))

    run = Trainer(network().double(), squared_error, source, replace(PLAN, clip_norm=0.05, ema_decay=0.3), CPU)
    plain = network().double().train()
    weights, others = ([p for p in plain.parameters() if (p.ndim > 1) == decays] for decays in (True, False))
    groups = [{"params": weights}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=PLAN.betas, weight_decay=PLAN.weight_decay)
    averaged = None
    for step in range(5):
        run.step()
        torch.manual_seed(hash((PLAN.seed, 0, step)))
        optimizer.zero_grad()
        squared_error(plain, *source(step))[0].backward()
        norm = torch.cat([p.grad.flatten() for p in plain.parameters()]).norm()
        assert norm > 0.05  # there is something to clip
        for p in plain.parameters():
            p.grad *= 0.05 / (norm + 1e-6)
        for group in optimizer.param_groups:
            group["lr"] = PLAN.rate(step)
        optimizer.step()
        now = [p.detach().clone() for p in plain.state_dict().values() if p.is_floating_point()]
        decay = min(0.3, (1 + step) / (10 + step)) if step else 0.0  # 0.18, 0.25, then as configured
        averaged = [decay * a + (1 - decay) * p for a, p in zip(averaged or now, now, strict=True)]
    for model, expected in ((run.network, now), (run.average.module, averaged)):
        found = [p for p in model.state_dict().values() if p.is_floating_point()]
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-8)


def test_the_average_forgets_as_fast_as_it_was_told_in_the_end():
    mean = torch.tensor([1.0])
    moving_average(0.999)([mean], [torch.tensor([3.0])], 100000)
    assert mean.item() == pytest.approx(1.002)


def test_the_loss_falls():
    run = trainer(TrainConfig(steps=60, warmup_steps=1, learning_rate=0.02))
    losses = [run.step()[0]["loss"] for _ in range(60)]
    assert np.mean(losses[-10:]) < 0.6 * np.mean(losses[:10])


def test_resuming_gives_the_numbers_of_going_on(tmp_path):
    on, first = trainer(), trainer()
    terms = [on.step()[0] for _ in range(6)]
    for _ in range(3):
        first.step()
    checkpoint.save(tmp_path / "c.safetensors", first.tensors(), first.header())
    second = trainer(seed=1)  # another network: everything must come from the file
    second.restore(*weights.load(tmp_path / "c.safetensors"))
    assert [second.step()[0] for _ in range(3)] == terms[3:]
    same(second.tensors(), on.tensors())
    assert {**second.header(), "seconds": ""} == {**on.header(), "seconds": ""}
    assert len(on.tensors()) == 2 * len(on.network.state_dict()) + 3 * len(list(on.network.parameters()))


def test_a_step_whose_gradient_is_not_finite_changes_nothing():
    def source(step):
        noisy, clean = batches(step)
        return (noisy * float("nan"), clean) if step == 2 else (noisy, clean)

    run = trainer(source=source)
    run.step(), run.step()
    before = copies(run.tensors())
    run.step()
    after = run.tensors()
    assert run.done == 3 and run.skipped == 1
    same(before, copies(after))
    run.step()
    assert run.skipped == 1 and all(torch.isfinite(value).all() for value in run.tensors().values())
    assert not torch.equal(run.tensors()["model.0.weight"], before["model.0.weight"])


def test_a_run_without_one_good_step_resumes_too(tmp_path):
    run = trainer(source=lambda step: (torch.full((4, 6), float("inf")), torch.zeros(4, 6)))
    run.step()
    checkpoint.save(tmp_path / "c.safetensors", run.tensors(), run.header())
    second = trainer(seed=1)
    second.restore(*weights.load(tmp_path / "c.safetensors"))
    assert second.done == second.skipped == 1
    same(second.tensors(), run.tensors())


def test_a_request_to_stop_comes_back_with_its_step():
    run = trainer()
    assert [run.step(stop)[1] for stop in (False, True, False)] == [False, True, False]


def test_items_that_are_carried_go_on_where_the_step_before_ended():
    torch.manual_seed(0)
    net = build_network(TINY).eval()  # with statistics that stay
    torch.nn.init.normal_(net.decoder.head.weight, std=0.3)
    parts = [0.1 * torch.randn(4, 1600) for _ in range(3)]
    config = LossConfig(mrstft=0, si_sdr=0, rms=1, complex_l1=0, pesq=0)
    with torch.no_grad():
        stream = enhance(net, torch.cat(parts, 1))
        kept = loss_of(config, carry_state_probability=1.0)
        for number, part in enumerate(parts):
            part = torch.nn.functional.pad(part, (0, 7))  # more than whole hops
            begin, end = number * 1600, (number + 1) * 1600 - net.latency
            expected = stream[:, begin:end].square().mean(1).sqrt().mean()
            torch.testing.assert_close(kept(net, part, 0 * part)[0], expected, rtol=0, atol=1e-6)

        torch.manual_seed(1)  # of four items some are carried
        of_second = []
        for chance in (1e-9, 0.5, 1.0):
            loss = loss_of(config, chance)
            loss(net, parts[0], 0 * parts[0])
            of_second.append(loss(net, parts[1], 0 * parts[1])[0].item())
        assert len({round(value, 6) for value in of_second}) == 3

        kept(net, parts[0] * float("nan"), 0 * parts[0])  # leaves nothing behind
        assert kept(net, parts[1], 0 * parts[1])[0].item() == pytest.approx(of_second[0], abs=1e-6)


def test_bfloat16_trains_weights_that_stay_float32():
    run = twins.live(replace(PLAN, precision="bfloat16"))
    before = copies(run.network.state_dict())
    terms, _ = run.step()
    assert np.isfinite(terms["loss"]) and run.skipped == 0
    after = run.network.state_dict()
    assert all(p.dtype == torch.float32 and torch.isfinite(p).all() for p in run.network.parameters())
    assert not torch.equal(after["decoder.head.weight"], before["decoder.head.weight"])


def test_a_compiled_network_is_still_a_stream_with_the_same_names(monkeypatch):
    """What torch.compile gives back is a function that calls the network, here as in earnest."""
    monkeypatch.setattr(torch, "compile", lambda inner, *_, **__: lambda *a, **k: inner(*a, **k))
    run, plain = twins.live(replace(PLAN, compile=True)), twins.live(PLAN)
    assert run.step()[0] == plain.step()[0]
    same(run.tensors(), plain.tensors())


# Checkpoints


def test_a_checkpoint_comes_back_as_it_was(tmp_path):
    tensors = {"model.a": torch.randn(3, 2).t(), "model.b": torch.tensor(7), "average.a": torch.ones(1)}
    checkpoint.save(tmp_path / "c.safetensors", tensors, {"step": "3"})
    found, header = weights.load(tmp_path / "c.safetensors")
    same(found, tensors)
    assert header == {"step": "3"} and os.listdir(tmp_path) == ["c.safetensors"]
    (tmp_path / "beside").touch()
    assert (tmp_path / "c.safetensors").stat().st_mode == (tmp_path / "beside").stat().st_mode
    assert weights.pick(found, "model").keys() == {"a", "b"}


@pytest.mark.parametrize("error", [OSError("No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_last_checkpoint(tmp_path, monkeypatch, error):
    path = tmp_path / "c.safetensors"
    checkpoint.save(path, {"a": torch.ones(3)}, {"step": "1"})

    write = Path.write_bytes

    def half(path, data):
        write(path, data[: len(data) // 2])
        raise error

    with monkeypatch.context() as patch, pytest.raises((QseError, KeyboardInterrupt)) as raised:
        patch.setattr(Path, "write_bytes", half)
        checkpoint.save(path, {"a": torch.zeros(3)}, {"step": "2"})
    found, header = weights.load(path)
    assert torch.equal(found["a"], torch.ones(3)) and header == {"step": "1"}
    if isinstance(error, OSError):
        assert f"{path}: cannot write the checkpoint (No space left on device)" in str(raised.value)
        assert os.listdir(tmp_path) == ["c.safetensors"]


def test_a_file_that_is_no_checkpoint_is_named(tmp_path):
    (tmp_path / "torn.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{")
    for name in ("torn.safetensors", "none.safetensors"):
        with pytest.raises(QseError, match=f"{name}: cannot read the checkpoint"):
            weights.load(tmp_path / name)


# The log


def lines(path) -> list[dict[str, str]]:
    head, *rows = path.read_text().splitlines()
    return [dict(zip(head.split(","), row.split(","), strict=True)) for row in rows]


def test_going_back_in_the_log_leaves_other_tables_alone(tmp_path):
    log = MetricsLog(tmp_path)
    for step in (1, 2):
        log.add("train", {"step": step})
    (tmp_path / "scores.csv").write_text("name,pesq_wb\np1,2.0\n")
    log.rewind(1)
    assert len(lines(tmp_path / "train.csv")) == 1 and "p1" in (tmp_path / "scores.csv").read_text()


def test_the_log_grows_by_lines_and_columns(tmp_path):
    log = MetricsLog(tmp_path)
    log.add("train", {"step": 1234567, "loss": 0.123456789})
    log.add("train", {"step": 1234568, "loss": 1e-12, "pesq": float("nan")})
    assert lines(tmp_path / "train.csv") == [
        {"step": "1234567", "loss": "0.123457", "pesq": "nan"},
        {"step": "1234568", "loss": "1e-12", "pesq": "nan"},
    ]


def test_the_log_forgets_what_comes_after_a_step(tmp_path):
    log = MetricsLog(tmp_path)
    for step in (10, 20, 30):
        log.add("train", {"step": step, "loss": step / 7})
    log.add("valid", {"step": 30, "pesq_wb": 2.5})
    before = (tmp_path / "train.csv").read_text().splitlines()
    log.rewind(20)
    assert (tmp_path / "train.csv").read_text().splitlines() == before[:3]
    assert os.listdir(tmp_path) == ["train.csv"]


def test_the_curves_are_a_picture(tmp_path):
    log = MetricsLog(tmp_path)
    log.add("train", {"step": 1, "loss": 2.0})
    log.add("valid", {"step": 1, "audio_hours": 0.1, "pesq_wb": float("nan"), "stoi": 0.5})
    log.draw()
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


# Validation


@pytest.fixture(scope="module")
def audio(tmp_path_factory):
    """Folders of speech, noise and validation pairs, a few seconds each."""
    folder, rng = tmp_path_factory.mktemp("audio"), np.random.default_rng(0)
    for seed, name in enumerate(("speech/a/1.wav", "speech/b/1.wav", "valid/clean/p.wav", "valid/clean/q.wav")):
        write(folder / name, speech_like(20000, 16000, seed))
    write(folder / "noise/hiss/1.wav", 0.1 * rng.standard_normal(20000))
    for name in ("p.wav", "q.wav"):
        clean, _ = soundfile.read(folder / "valid/clean" / name)
        write(folder / "valid/noisy" / name, 0.5 * clean + 0.02 * rng.standard_normal(20000))
    return folder


def write(path, samples, sample_rate=16000):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, sample_rate)


def test_validation_is_the_mean_of_the_metrics_of_the_pairs(audio):
    torch.manual_seed(0)
    net, pairs = build_network(TINY).train(), read_pairs(find_pairs(audio / "valid", 16000))
    found = validate(net, pairs, CPU)
    assert net.training and [pair.name for pair in pairs] == ["p", "q"]
    rows = []
    for pair in pairs:
        with torch.no_grad():
            enhanced = enhance(net.eval(), torch.from_numpy(pair.noisy)[None])[0].numpy()
        rows.append(score_pair(clean=pair.clean, enhanced=enhanced, metrics=METRICS))
    assert found == pytest.approx({metric: (rows[0][metric] + rows[1][metric]) / 2 for metric in METRICS})


def test_a_network_that_says_nothing_has_no_score_and_ends_nothing():
    pair = Utterance("p", np.ones(16000, np.float32), speech_like(16000, 16000))

    class Mute(nn.Module):
        def forward(self, noisy):
            return 0 * noisy

    assert all(np.isnan(score) for score in validate(Mute(), [pair], CPU).values())


def test_pairs_that_do_not_fit_are_named(tmp_path):
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
    refused("rate", "rate: validation works at 16000 Hz, not at 8000", 8000)
    write(tmp_path / "two/noisy/a.wav", np.stack([tone, tone], 1)), write(tmp_path / "two/clean/a.wav", tone)
    refused("two", r"two/noisy/a.wav has 2 channels")
    word = np.pad(speech_like(2400, 16000), (0, 16000))
    for folder, clean in (
        ("brief", tone), ("long", np.tile(tone, 400)), ("silent", np.zeros(16000)), ("word", word),
        ("words", np.tile(np.pad(speech_like(1600, 16000), (0, 14400)), 8)),
    ):  # fmt: skip
        write(tmp_path / folder / "noisy/a.wav", clean + 0.01), write(tmp_path / folder / "clean/a.wav", clean)
    refused("brief", r"brief/clean/a.wav: validation files last 0.5 to 30 s")
    refused("long", r"long/clean/a.wav: validation files last 0.5 to 30 s")
    refused("silent", r"silent/clean/a.wav: is silent")
    refused("word", r"word/clean/a.wav: cannot be judged \(STOI has no score")
    refused("words", r"words/clean/a.wav: cannot be judged \(PESQ has no score")


# Runs


def job(audio, out, **changes) -> Job:
    return Job(audio / "speech", audio / "noise", out, **{"valid": audio / "valid", **changes})


class Reports:
    """Keeps what a run tells."""

    def __init__(self):
        self.rows, self.closed = [], False

    def __call__(self, row, plan):
        self.rows.append(row)

    def close(self):
        self.closed = True


@pytest.fixture(scope="module")
def whole(audio, tmp_path_factory):
    """A run from beginning to end, and what it reported after every step."""
    out, reports = tmp_path_factory.mktemp("runs") / "whole", Reports()
    train(CONFIG, job(audio, out), reports)
    assert reports.closed
    return out, reports.rows


def test_a_run_leaves_what_it_says(whole):
    out, reports = whole
    assert {path.name for path in out.iterdir()} == {
        "config.toml", "checkpoint.safetensors", "best.safetensors", "train.csv", "valid.csv", "curves.png",
    }  # fmt: skip
    assert [row["step"] for row in reports] == [1, 2, 3, 4, 5, 6, 7]
    assert reports[-1]["audio"] == 7 * 2 * 0.25
    assert [row["step"] for row in lines(out / "train.csv")] == ["3", "6", "7"]
    assert [row["step"] for row in lines(out / "valid.csv")] == ["4", "7"]
    mean = np.mean([row["loss"] for row in reports[3:6]])
    assert float(lines(out / "train.csv")[1]["loss"]) == pytest.approx(mean, rel=1e-5)
    config = read_config(out / "config.toml")
    assert config.train == PLAN and config.mix == CONFIG.mix and config.loss == CONFIG.loss


def test_the_best_average_is_kept(whole, audio):
    out, _ = whole
    tensors, header = weights.load(out / "best.safetensors")
    scores = {row["step"]: float(row["pesq_wb"]) + float(row["si_sdr"]) / 10 for row in lines(out / "valid.csv")}
    assert float(header["best"]) == pytest.approx(max(scores.values()), rel=1e-5)
    assert scores[header["step"]] == max(scores.values())
    net = build_network(read_config(out / "config.toml").model)
    net.load_state_dict(weights.pick(tensors, "average"))
    found = validate(net, read_pairs(find_pairs(audio / "valid", 16000)), CPU)
    assert quality(found) == pytest.approx(float(header["best"]))


def test_a_run_that_was_told_to_stop_and_resumed_gives_the_numbers_of_the_whole_one(whole, audio, tmp_path):
    class StopAtThree(Reports):
        def __call__(self, row, plan):
            super().__call__(row, plan)
            if row["step"] == 3:
                os.kill(os.getpid(), signal.SIGTERM)

    out, reports = tmp_path / "parts", StopAtThree()
    before = signal.getsignal(signal.SIGTERM)
    train(CONFIG, job(audio, out), reports)
    assert signal.getsignal(signal.SIGTERM) == before
    assert [row["step"] for row in reports.rows] == [1, 2, 3, 4]  # the step that was asked is the last one
    assert weights.load(out / "checkpoint.safetensors")[1]["step"] == "4"
    train(CONFIG, job(audio, out, resume=True))
    for name in ("checkpoint.safetensors", "best.safetensors"):
        (expected, old), (found, new) = (weights.load(folder / name) for folder in (whole[0], out))
        same(found, expected)
        assert {**new, "seconds": ""} == {**old, "seconds": ""}
    for table in ("train", "valid"):
        expected, found = (lines(folder / f"{table}.csv") for folder in (whole[0], out))
        assert [{**row, "train_hours": ""} for row in found] == [{**row, "train_hours": ""} for row in expected]


def test_a_run_that_was_killed_in_its_validation_is_validated_when_it_goes_on(whole, audio, tmp_path, monkeypatch):
    def killed(*_):
        raise SystemExit(137)

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr("qse.train.run.validate", killed)
        train(CONFIG, job(audio, tmp_path / "run"))
    train(CONFIG, job(audio, tmp_path / "run", resume=True))
    assert lines(tmp_path / "run" / "valid.csv") == lines(whole[0] / "valid.csv")


def test_a_validation_does_not_hold_up_a_stop_and_is_made_up_for(whole, audio, tmp_path, monkeypatch):
    scored = []

    def score(_, pair, __):
        os.kill(os.getpid(), signal.SIGTERM)
        scored.append(pair.name)
        return dict.fromkeys(METRICS, 0.0)

    with monkeypatch.context() as patch:
        patch.setattr("qse.train.validation._score", score)
        train(CONFIG, job(audio, tmp_path / "run"))
    assert len(scored) == 1 and not (tmp_path / "run/valid.csv").exists()
    assert weights.load(tmp_path / "run/checkpoint.safetensors")[1]["step"] == "4"  # which was not due
    train(CONFIG, job(audio, tmp_path / "run", resume=True))
    assert lines(tmp_path / "run/valid.csv") == lines(whole[0] / "valid.csv")


def test_resuming_a_finished_run_changes_nothing(whole, audio):
    out, _ = whole
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    train(CONFIG, job(audio, out, resume=True))
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_time_limit_ends_a_run_with_a_checkpoint(audio, tmp_path):
    train(CONFIG, job(audio, tmp_path / "run", valid=None, hours=0))
    assert weights.load(tmp_path / "run/checkpoint.safetensors")[1]["step"] == "1"


def refused(sentence: str, config: RunConfig, job: Job) -> None:
    with pytest.raises(QseError, match=sentence):
        train(config, job)


def test_a_resume_that_fails_leaves_the_run_as_it_was(whole, audio, tmp_path):
    shutil.copytree(whole[0], tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    other = replace(CONFIG, train=replace(CONFIG.train, learning_rate=0.5))
    refused("no such folder", other, job(tmp_path / "typo", tmp_path / "run", resume=True, valid=audio / "valid"))
    wider = replace(other, model={**TINY, "blocks": 2})
    with pytest.raises((QseError, RuntimeError)):
        train(wider, job(audio, tmp_path / "run", resume=True))
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}


def test_a_run_says_at_once_what_its_validation_will_need(audio, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused(r"needs the package matplotlib: pip install \"qse-speech\[train\]\"", CONFIG, job(audio, tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_what_a_run_refuses_it_refuses_in_one_sentence(whole, audio, tmp_path):
    out, _ = whole
    before = (out / "checkpoint.safetensors").read_bytes()
    refused("whole: holds a run already; continue it with --resume", CONFIG, job(audio, out))
    for name in ("best.safetensors", "train.csv", "valid.csv"):  # of a run that came to no checkpoint
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
        refused("holds a run already; continue it", CONFIG, job(audio, tmp_path / name))
    refused(r"checkpoint.safetensors: no checkpoint to resume from", CONFIG, job(audio, tmp_path / "new", resume=True))
    refused("speech: no such folder", CONFIG, job(tmp_path, tmp_path / "new", valid=audio / "valid"))
    refused("gpu: choose cpu or cuda", CONFIG, job(audio, tmp_path / "unborn", device="gpu"))
    refused("2: they would share one GPU", CONFIG, job(audio, tmp_path / "unborn", device="cuda", processes=2))
    refused("nothing: no pairs", CONFIG, job(audio, tmp_path / "unborn", valid=tmp_path / "nothing"))
    assert not (tmp_path / "unborn").exists()
    refused("unknown key 'size'", replace(CONFIG, model={**TINY, "size": 3}), job(audio, tmp_path / "new"))
    slow = replace(CONFIG, model={**TINY, "sample_rate": 8000})
    refused("model.sample_rate is 8000, mix.sample_rate 16000", slow, job(audio, tmp_path / "new"))
    slow = replace(slow, mix=replace(slow.mix, sample_rate=8000), loss=LossConfig(pesq=0, stoi=1))
    refused("pesq and stoi hear 16000 Hz, the model works at 8000", slow, job(audio, tmp_path / "new", valid=None))
    for segment, loss, plan in (
        (0.03, replace(LOSS, mrstft=1.0), PLAN),  # which reads 600 samples
        (0.1, replace(LOSS, compressed=1.0, n_fft=4096), PLAN),
        (0.0385, replace(LOSS, mrstft=1.0), replace(PLAN, carry_state_probability=0.5)),  # whole hops, without the latency
        (0.39, replace(LOSS, stoi=1.0), PLAN),
        (0.401, replace(LOSS, stoi=1.0), replace(PLAN, carry_state_probability=0.5)),
        (0.0039, LOSS, replace(PLAN, carry_state_probability=0.5)),  # a single hop
    ):
        short = replace(CONFIG, mix=replace(CONFIG.mix, segment=segment), loss=loss, train=plan)
        refused(f"mix.segment is {segment} s.* make it longer", short, job(audio, tmp_path / "new", valid=None))
    real = replace(CONFIG, model={"network": "conformer"}, train=replace(PLAN, optimizer="muon"))
    refused("no quaternion weights; choose adamw", real, job(audio, tmp_path / "unborn", valid=None))
    assert not (tmp_path / "unborn").exists()
    (tmp_path / "file").write_text("in the way")
    refused("file: cannot write there", CONFIG, job(audio, tmp_path / "file"))
    refused("a: cannot write there", CONFIG, job(audio, tmp_path / "file/a"))
    assert (out / "checkpoint.safetensors").read_bytes() == before


def test_a_checkpoint_of_another_model_is_named(whole, audio, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    (out / "checkpoint.safetensors").write_bytes((whole[0] / "checkpoint.safetensors").read_bytes())
    (out / "config.toml").write_text("what the run is")
    wider = replace(CONFIG, model={**TINY, "growth": 4})
    refused(r"run/checkpoint.safetensors: not a checkpoint of this model", wider, job(audio, out, resume=True))
    assert (out / "config.toml").read_text() == "what the run is"


def released(run, folder, **how) -> str:
    """Exports a run and returns its card; ONNX Runtime and PyTorch have to agree on what was exported."""
    release(run, folder, CardOptions(faults="It knows two noises."), **how)
    noisy = 0.1 * np.random.default_rng(0).standard_normal(16000).astype(np.float32)
    network, _ = load_network(folder / "config.toml", folder / "weights.safetensors")
    with torch.no_grad():
        expected = enhance(network, torch.from_numpy(noisy)[None])[0].numpy()
    assert np.abs(qse.denoise(noisy, 16000, qse.load(folder)) - expected).max() < 1e-5
    return (folder / "card.md").read_text()


def test_a_release_is_the_best_average_and_its_card_says_so(whole, tmp_path):
    out, _ = whole
    card = released(out, tmp_path / "tiny")
    _, header = weights.load(out / "best.safetensors")
    best = next(row for row in lines(out / "valid.csv") if row["step"] == header["step"])
    assert f"| training | {header['step']} steps, " in card and "Known faults: It knows two noises." in card
    assert f"WB-PESQ {float(best['pesq_wb']):.3f}" in card and "algorithmic latency | 4 ms (hop 2 ms)" in card
    assert "    qse train --config config.toml --speech SPEECH --noise NOISE --valid VALID --out RUN\n" in card


def test_a_run_that_went_on_after_its_best_validation_says_so(audio, tmp_path):
    out = tmp_path / "run"
    train(CONFIG, job(audio, out, hours=0))
    train(CONFIG, job(audio, out, resume=True, valid=None))
    assert weights_step(out) == "1 of 7"
    (out / "best.safetensors").unlink()
    assert weights_step(out) == "7"


def test_a_network_that_needs_whole_recordings_is_released_for_files(audio, tmp_path, command):
    sizes = {"n_fft": 512, "hop_length": 256, "encoder": [1], "decoder": [2], "layers": 1, "kernel": 3}
    config = replace(CONFIG, model={"network": "qconformer", "channels": 4, **sizes})
    train(config, job(audio, tmp_path / "run", valid=None, hours=0))
    card = released(tmp_path / "run", tmp_path / "whole")
    assert "| algorithmic latency | whole recordings |" in card and "time per hop" not in card
    with pytest.raises(QseError, match="whole needs whole recordings and cannot stream"):
        qse.Stream(qse.load(tmp_path / "whole"))
    noisy = 0.1 * np.random.default_rng(0).standard_normal((12 * 44100, 2))
    soundfile.write(tmp_path / "noisy.wav", noisy, 44100)
    arguments = "--model", tmp_path / "whole", "-o", tmp_path / "out.wav"
    assert command("denoise", tmp_path / "noisy.wav", *arguments)[0] == 0
    enhanced, rate = soundfile.read(tmp_path / "out.wav")
    assert (enhanced.shape, rate) == (noisy.shape, 44100)
    whole = qse.denoise(soundfile.read(tmp_path / "noisy.wav")[0], 44100, tmp_path / "whole")
    np.testing.assert_allclose(enhanced, whole, atol=1e-4)


def test_a_run_is_released_neither_into_itself_nor_into_another(whole, tmp_path):
    before = {path.name: path.read_bytes() for path in whole[0].iterdir()}
    shutil.copytree(whole[0], tmp_path / "other")
    with pytest.raises(QseError, match="other: is a run, which the model would replace"):
        release(whole[0], tmp_path / "other")
    assert {path.name: path.read_bytes() for path in (tmp_path / "other").iterdir()} == before
    with pytest.raises(QseError, match=r"config.toml: is a file; name a folder for the model"):
        release(whole[0], tmp_path / "other/config.toml")
    with pytest.raises(QseError, match="in a folder of its own"):
        release(whole[0], whole[0] / "../" / whole[0].name)
    assert {path.name: path.read_bytes() for path in whole[0].iterdir()} == before


def test_a_release_that_cannot_be_scored_replaces_nothing(whole, audio, tmp_path, monkeypatch):
    with pytest.raises(QseError, match="nothing: no pairs"):
        release(whole[0], tmp_path / "model", valid=tmp_path / "nothing")
    monkeypatch.setattr("qse.export.release.validate", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        release(whole[0], tmp_path / "model", valid=audio / "valid")
    assert not (tmp_path / "model").exists()


def test_a_run_copied_without_its_best_keeps_a_new_one(whole, audio, tmp_path):
    out = tmp_path / "same"
    out.mkdir()
    for name in ("checkpoint.safetensors", "config.toml"):
        shutil.copyfile(whole[0] / name, out / name)
    steps = CONFIG.train.steps + 1
    train(replace(CONFIG, train=replace(CONFIG.train, steps=steps)), job(audio, out, resume=True))
    assert weights.load(out / "best.safetensors")[1]["step"] == str(steps)


def test_scores_of_other_pairs_are_none_to_beat(whole, audio, tmp_path):
    shutil.copytree(whole[0], out := tmp_path / "same")
    shutil.copytree(audio / "valid", harder := tmp_path / "harder")
    for path in (harder / "noisy").iterdir():
        write(path, soundfile.read(path)[0] + 0.3 * np.random.default_rng(0).standard_normal(20000))
    steps = [CONFIG.train.steps + more for more in (1, 2)]
    train(replace(CONFIG, train=replace(CONFIG.train, steps=steps[0])), job(audio, out, resume=True, valid=None))
    bests = (weights.load(folder / "checkpoint.safetensors")[1]["best"] for folder in (out, whole[0]))
    assert len(set(bests)) == 1
    train(replace(CONFIG, train=replace(CONFIG.train, steps=steps[1])), job(audio, out, resume=True, valid=harder))
    assert weights.load(out / "best.safetensors")[1]["step"] == str(steps[1])


def test_steps_without_a_loss_are_counted_and_a_run_of_nothing_else_is_not_released(audio, tmp_path, monkeypatch):
    fault = iter(["gradient", "", "", "loss", "loss", "loss"])

    def loss(*batch):
        total, terms = loss_of(LOSS)(*batch)
        kind = next(fault)
        if kind == "gradient":  # where the loss is a number all the same
            total.register_hook(lambda gradient: gradient * np.nan)
        return total * (np.nan if kind == "loss" else 1), terms

    monkeypatch.setattr("qse.train.run.loss_of", lambda *_: loss)
    some, none = tmp_path / "some", tmp_path / "none"
    plan = replace(CONFIG, train=replace(PLAN, steps=3))
    train(plan, job(audio, some, valid=None))
    (row,) = lines(some / "train.csv")
    assert float(row["loss"]) < 100 and row["skipped"] == "1"
    assert "3 steps (1 left out), " in released(some, tmp_path / "some-model")
    train(plan, job(audio, none, valid=None))
    assert lines(none / "train.csv")[0]["loss"] == "nan"
    with pytest.raises(QseError, match="none: no step has changed its weights"):
        released(none, tmp_path / "none-model")


def test_a_release_may_be_the_mean_of_two_runs(whole, audio, tmp_path):
    out, _ = whole
    train(CONFIG, job(audio, tmp_path / "run", valid=None, hours=0, start=out))
    card = released(out, tmp_path / "mean", others=[tmp_path / "run"], valid=audio / "valid")
    one, other = (
        weights.pick(weights.load(path)[0], "average")["decoder.head.weight"]
        for path in (out / "best.safetensors", tmp_path / "run/checkpoint.safetensors")
    )
    mean, _ = weights.load(tmp_path / "mean/weights.safetensors")
    assert torch.allclose(mean["decoder.head.weight"], (one + other) / 2) and not torch.equal(one, other)
    assert "; mean with the weights of run |" in card and "Validation pairs, mean: WB-PESQ" in card


def test_a_run_begins_with_another_ones_weights_and_blocks_of_its_own_that_learn(whole, audio, tmp_path, monkeypatch):
    out, _ = whole
    deeper, noisy = {**TINY, "blocks": 3}, 0.1 * torch.randn(1, 1600)
    small, large = build_network(TINY).eval(), build_network(deeper).eval()
    kept, header = weights.load(out / "best.safetensors")
    small.load_state_dict(weights.pick(kept, "average"))
    assert start_from(large, out) == header
    released(out, tmp_path / "zoo/first")
    monkeypatch.setenv("QSE_MODELS", str(tmp_path / "zoo"))
    start_from(build_network(TINY), Path("first"))
    with torch.no_grad():
        assert torch.equal(enhance(large, noisy), enhance(small, noisy))

    again = replace(CONFIG, model=deeper)
    train(again, job(audio, tmp_path / "run", valid=None, hours=0, start=out))
    found, new = weights.load(tmp_path / "run/checkpoint.safetensors")
    assert (new["step"], new["origin"]) == ("1", out.name)
    assert int(new["heard"]) == int(header["heard"]) + 2 * 0.25 * 16000
    learned = [name for name in large.state_dict() if "block2" in name and found[f"model.{name}"].any()]
    assert {"bottleneck.blocks.block2.time_out.weight", "bottleneck.blocks.block2.feed.2.weight"} <= set(learned)
    cards = [released(tmp_path / "run", tmp_path / name) for name in ("deeper", out.name)]
    assert all("| training | 1 steps after those of whole, in all" in card for card in cards)
    assert ["the release before this one" in card for card in cards] == [False, True]

    (tmp_path / "empty").mkdir()
    refused("empty: no weights to start from", again, job(audio, tmp_path / "new", start=tmp_path / "empty"))
    for other in (
        {"growth": 1},
        {"time_mixer": ["lru"]},
        {"blocks": 0},
        {"dilations": (1, 2, 4)},
        {"n_fft": 128, "ranges": ((64, 2),)},
    ):
        config = replace(CONFIG, model={**TINY, **other})
        refused("best.safetensors: these weights do not fit", config, job(audio, tmp_path / "new", start=out))
    refused("leave one of them out", again, job(audio, out, start=out, resume=True))


# Two processes


def test_a_process_that_is_killed_ends_the_run_in_one_sentence():
    with pytest.raises(QseError, match=r"signal SIGKILL; where a checkpoint lies, --resume goes on from there$"):
        parallel.launch(twins.killed, 2)


def test_processes_that_are_stopped_before_they_work_end_as_one_that_was_stopped():
    with pytest.raises(SystemExit) as end:
        parallel.launch(twins.interrupted, 2)
    assert end.value.code == 130


def test_two_processes_train_as_one_and_an_error_of_one_is_its_sentence(tmp_path):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(QseError, match=r"^this is how it ends$"):
        parallel.launch(twins.work, 2, tmp_path)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    (zero, heard), (one, said) = (weights.load(tmp_path / f"{rank}.safetensors") for rank in (0, 1))
    same(zero, one)  # parameters, statistics, average and optimiser stay in step
    joined = twins.linear(rank=0, size=8)
    joined.step()
    for name, p in joined.network.named_parameters():
        torch.testing.assert_close(zero[f"gradient.{name}"], p.grad, rtol=1e-5, atol=1e-7)
    heard, said = (json.loads(header["findings"]) for header in (heard, said))
    assert heard["terms"] != said["terms"]  # batches of their own
    assert heard["stops"] == said["stops"] == [True, False]
    assert heard["skipped"] == said["skipped"] == 1
    assert heard["samples"] == said["samples"] == joined.heard == 8 * 6
    assert heard["gathered"] == said["gathered"] == [0, 10, 1, 11]


def test_a_request_to_stop_goes_to_the_processes_that_work():
    class Process:
        ended = 0

        def terminate(self):
            self.ended += 1

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with parallel._signals_passed_on() as (crew, heard):
        crew.append(Process())
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)  # which the terminal has sent them itself
        assert crew[0].ended == 1 and heard == [signal.SIGTERM, signal.SIGINT]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_alone_there_is_nothing_to_average():
    x = torch.tensor([1.0, 2.0])
    parallel.average_([x])
    assert x.tolist() == [1, 2] and parallel.gather([3]) == [3]
