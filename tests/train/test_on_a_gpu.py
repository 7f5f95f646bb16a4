"""Count what a training asks of a GPU, without one: no tensors of two devices meet, and the CPU
waits for the GPU once per step, to read the loss and its terms."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from devices import Accelerator

from qse.data.corpus import Corpus
from qse.data.multi_rate import wide_band
from qse.data.noise_mixing import NoiseMixer
from qse.data.sampling import BatchRng
from qse.data.source import Batch
from qse.losses.loss_config import LossConfig
from qse.losses.terms import TERMS
from qse.losses.weighted_sum import WeightedSum
from qse.networks import NETWORKS, build_network
from qse.nn import recurrent
from qse.train.recipe import find_recipe, read_config
from qse.train.stateful_training import TrainingLoss
from qse.train.trainer import Trainer

META = torch.device("meta")
RECIPE = read_config(find_recipe("base-48k"))
# a step of the recipe launches 2990 to 3279, and those of the recurrences
KERNELS = 3300


@pytest.fixture
def one_kernel_per_gru(monkeypatch):
    """Let a recurrence be a product: the meta device runs it frame by frame."""

    def gru(x, hidden, weights, *_):
        y = (
            x @ weights[0][: hidden.shape[-1]].mT
            + hidden[0, :, None] @ weights[1][: hidden.shape[-1]].mT
        )
        return y, y[:, -1][None]

    monkeypatch.setattr(recurrent.torch, "gru", gru)


def trainer(batch: Batch, look_ahead: int) -> Trainer:
    plan = replace(RECIPE.train, batch=len(batch.noisy), steps=9, precision="float32")
    loss = TrainingLoss(RECIPE.loss, plan.carry_state_probability, (look_ahead,))
    return Trainer(build_network(RECIPE.model), loss, lambda *_: batch, plan, META)


@pytest.mark.parametrize("look_ahead", [0, 16])
@pytest.mark.parametrize("rate", [16000, 48000])
def test_step_waits_for_the_gpu_once(rate, look_ahead, one_kernel_per_gru):
    audio = torch.empty(4, rate, device=META)
    with Accelerator():
        run = trainer(Batch(audio, audio, rate), look_ahead)
        run.step()
    with Accelerator() as step:  # with carried states
        run.step()
    assert list(step.waits.values()) == [1] and "train/step.py" in next(iter(step.waits)), (
        step.waits
    )
    assert sum(step.copies.values()) == 1, step.copies  # which items continue
    assert KERNELS / 2 < step.kernels < KERNELS


@pytest.mark.parametrize("rate", [16000, 48000])
def test_mixing_does_not_wait_for_the_gpu(rate, monkeypatch):
    mix = RECIPE.mix if rate == 48000 else wide_band(RECIPE.mix)
    chances = dict.fromkeys(every_chance(mix), 0.7)
    mix = replace(mix, **{**chances, "noise_only_chance": 0.1, "clean_only_chance": 0.1})
    numbers = np.random.default_rng(0)
    recordings = [numbers.integers(-9000, 9000, 4 * rate).astype(np.int16) for _ in range(8)]
    corpus = Corpus.of(recordings, list("aaaabbbb"), rate)
    on_a_gpu(monkeypatch)
    with Accelerator() as gpu:
        mixer = NoiseMixer(mix, corpus, corpus, 0, META, rooms=torch.zeros(4, rate // 2))
        gpu.copies.clear(), gpu.blocking.clear()  # of the corpora, once
        batch = mixer.batch(0, 16)
    assert batch.noisy.shape == (16, mix.samples) and batch.noisy.device == META
    assert not gpu.waits, gpu.waits
    assert 20 < sum(gpu.copies.values()) < 140  # of choices, each a few numbers per item


@pytest.mark.parametrize("name", [name for name in TERMS if name != "discriminator"])
def test_loss_term_does_not_wait_for_the_gpu(name):
    loss = WeightedSum(LossConfig(**{**dict.fromkeys(TERMS, 0.0), name: 1.0}))
    for rate in (16000, 48000):
        enhanced = torch.empty(2, rate, device=META, requires_grad=True)
        clean = torch.empty(2, rate, device=META)
        with Accelerator() as gpu:
            total, _ = loss(clean=clean, enhanced=enhanced, noisy=clean, sample_rate=rate)
            if total.requires_grad:  # high_band is nothing at 16 kHz
                total.backward()
        assert not gpu.reads, gpu.reads


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_network_does_not_wait_for_the_gpu(name):
    network = build_network({"network": name}).to(META).train()
    noisy = torch.empty(2, network.config.sample_rate // 2, device=META)
    with Accelerator() as gpu:
        network.enhance(noisy).square().mean().backward()
    assert not gpu.reads, gpu.reads


def every_chance(mix) -> list[str]:
    return [name for name in vars(mix) if name.endswith("_chance")]


def on_a_gpu(monkeypatch):
    """Let white noise be drawn on the meta device, which has no generator."""

    def begin(self, *arguments):
        original(self, *arguments[:3], torch.device("cpu"))
        self.device = META

    original = BatchRng.__init__
    monkeypatch.setattr(BatchRng, "__init__", begin)
    white = lambda self, *shape: torch.empty(shape, device=META)  # noqa: E731
    monkeypatch.setattr(BatchRng, "white", white)
