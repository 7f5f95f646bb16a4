"""Training with a network, a loss and a source of batches as objects, and what is refused before it
begins."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from own_layers import Small, SmallConfig
from small_training import CONFIG, PLAN, TINY, job

from qse.data import Batch
from qse.errors import QseError
from qse.losses import LossConfig, WeightedSum
from qse.networks import build_network
from qse.networks.weights import load_network, load_tensors
from qse.train import Job, RunConfig, train

SNR = LossConfig(mrstft=0, si_sdr=0, rms=0, complex_l1=0, pesq=0, snr=1)


class Noise:
    """Noise, and what is to be made of it: a quarter."""

    segments = 20

    def __init__(self, samples: int = 3200, sample_rate: int = 16000, dtype=torch.float32):
        self.samples = samples
        self.sample_rate = sample_rate
        self.dtype = dtype

    def batch(self, step: int, size: int, rank: int = 0) -> Batch:
        rng = torch.Generator().manual_seed(100 * step + rank)
        noisy = 0.1 * torch.randn(size, self.samples, generator=rng)
        return Batch(noisy.to(self.dtype), (0.25 * noisy).to(self.dtype), self.sample_rate)


def l1(*, clean, enhanced):
    return (clean - enhanced).abs().mean()


def test_train_own_network_loss_and_source(tmp_path):
    torch.manual_seed(0)
    network = Small(SmallConfig())
    before = network.enhance(Noise().batch(99, 4).noisy).detach()
    plan = replace(
        PLAN, steps=40, learning_rate=1e-2, optimizer="muon", carry_state_probability=0.5
    )
    loss = WeightedSum(SNR, {"l1": (1.0, l1)})
    trained = train(
        RunConfig(train=plan), Job(out=tmp_path / "run"), network=network, loss=loss, source=Noise()
    )
    noisy, clean, *_ = Noise().batch(99, 4)
    with torch.no_grad():
        after = trained.enhance(noisy)
    assert not trained.training and l1(clean=clean, enhanced=after) < 0.7 * l1(
        clean=clean, enhanced=before
    )
    again, header = load_network(
        tmp_path / "run/config.toml", tmp_path / "run/checkpoint.safetensors", trust=True
    )
    assert type(again) is Small and header["step"] == "40"
    torch.testing.assert_close(again.enhance(noisy), after)
    assert "own_layers:Small" in (tmp_path / "run/config.toml").read_text()
    assert header["heard"] == str(40 * 2 * 3200)


def test_train_resumes_with_the_same_objects(tmp_path):
    def run(name: str, **changes) -> dict:
        torch.manual_seed(0)
        own = {"network": Small(SmallConfig()), "loss": l1, "source": Noise()}
        plan = replace(PLAN, steps=4, checkpoint_every=2)
        train(RunConfig(train=plan), Job(out=tmp_path / name, **changes), **own)
        return load_tensors(tmp_path / name / "checkpoint.safetensors")[0]

    whole = run("whole")
    stopped = run("parts", hours=0)
    assert any(not torch.equal(stopped[name], whole[name]) for name in stopped if name in whole)
    resumed = run("parts", resume=True)
    assert resumed.keys() == whole.keys() and all(
        torch.equal(resumed[name], whole[name]) for name in whole
    )


def test_train_counts_hours_in_segments_of_the_source(tmp_path):
    plan = replace(PLAN, steps=0, epochs=1, epoch_hours=1.2 / 3600)
    own = {"network": Small(SmallConfig()), "loss": l1, "source": Noise()}  # of 0.2 s
    train(RunConfig(train=plan), Job(out=tmp_path / "run"), **own)
    _, header = load_tensors(tmp_path / "run/checkpoint.safetensors")
    assert header["heard"] == str(round(1.2 * 16000)) and plan.batch == 2


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (Noise(samples=600), r"segments of 600 samples, and the losses need 601"),
        (
            Noise(sample_rate=8000),
            r"batches at 8000 Hz: sample_rate 8000: the network works at 16000 Hz",
        ),
        (Noise(dtype=torch.int16), "must be float tensors"),
    ],
    ids=["short", "rate", "kind"],
)
def test_train_refuses_batches(tmp_path, source, sentence):
    network = Small(SmallConfig())
    loss = LossConfig(pesq=0)
    with pytest.raises(QseError, match=sentence):
        train(
            RunConfig(train=PLAN),
            Job(out=tmp_path / "run"),
            network=network,
            loss=loss,
            source=source,
        )
    assert not (tmp_path / "run").exists()


def test_train_refuses_a_source_of_pairs(tmp_path):
    class Pairs:
        segments = 3

        def batch(self, step, size, rank=0):
            return torch.zeros(size, 3200), torch.zeros(size, 3200)

    with pytest.raises(QseError, match=r"the source returns tuple: return qse.data.Batch"):
        train(RunConfig(model=TINY, train=PLAN), Job(out=tmp_path / "run"), source=Pairs())


def test_an_error_in_a_loss_is_not_called_a_short_segment(training_audio, tmp_path):
    def wrong(*, clean, enhanced):
        return (clean.double() @ enhanced.T).sum()  # of two types

    with pytest.raises(RuntimeError, match="dtype"):
        train(CONFIG, job(training_audio, tmp_path / "run", valid=None), loss=wrong)


def test_prepare_says_how_long_a_segment_must_be(training_audio, tmp_path):
    short = replace(CONFIG, mix=replace(CONFIG.mix, segment=0.03), loss=LossConfig(pesq=0))
    with pytest.raises(
        QseError, match=r"mix.segment is 0.03 s, and the losses need 0.038 s: make it longer"
    ):
        train(short, job(training_audio, tmp_path / "run", valid=None))
    enough = replace(short, mix=replace(short.mix, segment=0.038), train=replace(PLAN, steps=1))
    train(enough, job(training_audio, tmp_path / "run", valid=None))


def test_train_an_own_network_by_reference_in_a_recipe(training_audio, tmp_path):
    recipe = replace(
        CONFIG, model={"network": "own_layers:Small", "channels": 2}, train=replace(PLAN, steps=2)
    )
    trained = train(recipe, job(training_audio, tmp_path / "run", valid=None))
    assert type(trained) is Small and trained.config.channels == 2
    assert build_network({"network": "own_layers:Small"}).config.channels == 4
