"""A discriminator that is trained beside a network: its step, its targets, and resuming."""

import copy
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")
pesq = pytest.importorskip("pesq")

from loss_signals import coloured_noise, speech_like
from small_training import CONFIG, CPU, LOSS, PLAN, TINY, lines, same

from qse.data.source import Batch
from qse.losses.metric_discriminator import MetricDiscriminator
from qse.networks import build_network
from qse.networks.weights import load_tensors
from qse.train import Job, checkpoint, train
from qse.train.discriminator_training import DiscriminatorTraining
from qse.train.stateful_training import TrainingLoss
from qse.train.trainer import Trainer


@pytest.fixture(scope="module")
def signals():
    """Return clean and enhanced (3, 12800); the last clean one is silent."""
    clean = torch.stack([torch.tensor(speech_like(seed, 0.8)) for seed in (1, 2, 3)]).float()
    noise = torch.tensor(coloured_noise(7, 1, clean[0].numpy(), 5)).float()
    clean[2] = 0.0
    return clean, clean + noise


def alone(average):
    """Stand in for the mean over processes."""


def test_discriminator_halves_frames_and_bins_four_times():
    features = MetricDiscriminator().features(torch.zeros(1, 2, 64, 256))
    assert features.shape == (1, 64, 64 // 16 + 1, 256 // 16 + 1)


def test_discriminator_takes_a_step_towards_true_scores(signals):
    clean, enhanced = signals
    training = DiscriminatorTraining(3, CPU)
    plain = copy.deepcopy(training.discriminator)
    loss = training.loss(clean=clean, enhanced=enhanced.requires_grad_())
    loss.backward()
    assert enhanced.grad[:2].abs().sum() > 0 and not enhanced.grad[2].any()
    assert all(weight.grad is None for weight in training.discriminator.parameters())

    training.update(alone)
    enhanced = enhanced.detach()
    errors = []
    optimizer = torch.optim.AdamW(plain.parameters(), 1e-3, (0.9, 0.99), weight_decay=0.0)
    predicted = plain(clean, enhanced)
    of_clean = plain(clean, clean)
    for n in range(2):  # the third item has no score
        score = pesq.pesq(16000, clean[n].numpy(), enhanced[n].numpy(), "wb")
        errors.append((predicted[n] - (score - 1) / 3.64) ** 2 + (of_clean[n] - 1) ** 2)
    (sum(errors) / 3).backward()
    optimizer.step()
    for found, expected in zip(
        training.discriminator.parameters(), plain.parameters(), strict=True
    ):
        torch.testing.assert_close(found, expected)


def test_discriminator_resumes_to_the_same_numbers(signals, tmp_path):
    clean, enhanced = signals
    config = replace(LOSS, discriminator=1.0)

    def trainer():
        torch.manual_seed(0)
        judge = DiscriminatorTraining(0, CPU)
        loss = TrainingLoss(config, discriminator=judge.loss)
        batch = Batch(enhanced, clean, 16000)
        return Trainer(build_network(TINY), loss, lambda step, share: batch, PLAN, CPU, 0, judge)

    on = trainer()
    on.step()
    checkpoint.save(tmp_path / "c.safetensors", on.tensors(), on.header(), None)
    rest = trainer()
    rest.discriminator.discriminator.score.weight.data.zero_()  # it comes from the file
    rest.restore(*load_tensors(tmp_path / "c.safetensors"))
    assert on.step() == rest.step()
    same(on.tensors(), rest.tensors())
    assert any(name.startswith("discriminator.optimizer.") for name in on.tensors())


def test_discriminator_is_part_of_a_run(signals, tmp_path):
    class Pairs:
        segments = 3

        def batch(self, step, size, rank=0):
            return Batch(signals[1], signals[0], 16000)

    config = replace(CONFIG, loss=replace(LOSS, discriminator=1.0), train=replace(PLAN, steps=2))
    train(config, Job(out=tmp_path), source=Pairs())
    tensors, _ = load_tensors(tmp_path / "checkpoint.safetensors")
    assert "discriminator.weights.score.weight" in tensors
    assert 0 < float(lines(tmp_path / "train.csv")[-1]["discriminator"]) < 2
