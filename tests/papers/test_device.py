"""The setting `device` of the experiments: all tensors of a step are on it.

The meta device stands for a GPU, see devices.py: numbers that are read from it are 1.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("librosa")

from devices import Accelerator
from qse_papers import EXPERIMENTS, experiment
from qse_papers.attention_capture import speech_signals
from qse_papers.base import OnDevice
from qse_papers.copy_task import CopyTask
from qse_papers.digits import Digits, Recordings
from qse_papers.gradients import Gradients
from qse_papers.image_classification import ARMS as IMAGE_ARMS
from qse_papers.image_classification import ImageClassification
from qse_papers.images import Images
from qse_papers.language import LanguageModelling
from qse_papers.pairs import Pairs
from qse_papers.phm import HamiltonRule, Rotation
from qse_papers.reasoning import Reasoning
from qse_papers.sentiment import Sentiment
from qse_papers.sequence import SequenceToSequence
from qse_papers.spectrograms import _enhanced
from qse_papers.verb_agreement import VerbAgreement

from qse.errors import UsageError
from qse.networks import build_network

META = "meta"
WITHOUT = {"language-sizes", "published-checkpoint"}  # compute nothing on a device
TEXT = {"dim": 8, "feed": 8, "heads": 2, "layers": 1}
STEPS = {"steps": 2, "batch": 2}
EPOCHS = {"epochs": 1, "batch": 2}
LABELS = torch.tensor([0, 1, 0, 1])


@pytest.fixture(autouse=True)
def meta_is_a_gpu(monkeypatch):
    monkeypatch.setattr("qse.torch_device.KINDS", ("cpu", META))


def tokens(*size):
    return torch.randint(1, 9, size, generator=torch.Generator().manual_seed(0))


def with_data(settings, **data):
    """Give an experiment data in place of what it would read."""
    settings.__dict__.update(data)
    return settings


def spoken():
    recordings = Recordings(
        torch.randn(6, 5, 4, 40), torch.full((6,), 5), tokens(6), list("aabbcc")
    )
    settings = Digits(units=8, layers=1, device=META, **EPOCHS)
    return with_data(settings, _recordings=recordings)


def pictures():
    images = Images(torch.randint(0, 255, (4, 3, 32, 32), dtype=torch.uint8), LABELS)
    settings = ImageClassification(width=0.05, mixup=0.2, erasing=0.2, device=META, **EPOCHS)
    return with_data(settings, _images=(images, images, 2))


def texts(kind, columns, **sizes):
    inputs = [tokens(4, 6) for _ in range(columns)]
    return with_data(kind(device=META, **EPOCHS, **sizes), _examples=(9, *[(inputs, LABELS)] * 2))


def verbs(monkeypatch):
    monkeypatch.setattr("qse_papers.verb_agreement.by_attractors", lambda right, _: {})
    return with_data(texts(VerbAgreement, 1, **TEXT), _sentences=([], []))


def lines():
    settings = LanguageModelling(width=0.1, length=8, warmup=1, device=META, **STEPS)
    return with_data(settings, _bytes=(tokens(99), tokens(4, 9)))


def reasoning():
    sizes = {"train_per_task": 4, "valid_per_task": 2, "validations": 1, "warmup": 1}
    return Reasoning(width=0.1, device=META, **sizes, **STEPS)


@pytest.mark.parametrize("arm", ["A0", "A1", "A2", "A3"])
def test_reasoning_and_language_are_on_one_device(arm):
    with Accelerator():
        reasoning()._train(arm, 0, "")
        lines()._train(arm, 0, "")


@pytest.mark.parametrize("arm", ["full", "phm-2", "phm-1", "partial"])
def test_sequence_is_on_one_device(arm):
    settings = SequenceToSequence(test=2, warmup=1, device=META, **TEXT, **STEPS)
    with Accelerator():
        settings._train(arm, 0, "")


@pytest.mark.parametrize("arm", ["shared", "full", "real", "partial", "phm"])
def test_texts_are_on_one_device(arm, monkeypatch, tmp_path):
    monkeypatch.setattr("qse_papers.sentiment.save", lambda weights: b"")
    sentiment = texts(Sentiment, 1, train="a", valid="b", **TEXT)
    agreement = verbs(monkeypatch)
    with Accelerator():
        sentiment._train(tmp_path, arm, 0, "")
        agreement._train(arm, 0, "")


@pytest.mark.parametrize("arm", Pairs().arms)
def test_pairs_are_on_one_device(arm):
    with Accelerator():
        texts(Pairs, 2, channels=4, embedding=20)._train(arm, 0, "")


@pytest.mark.parametrize("arm", IMAGE_ARMS)
def test_images_are_on_one_device(arm):
    with Accelerator():
        pictures()._train(arm, 0, "")


@pytest.mark.parametrize("arm", Digits().arms)
def test_digits_are_on_one_device(arm):
    with Accelerator():
        spoken()._train(arm, 0, "")


@pytest.mark.parametrize("kind", [Rotation, HamiltonRule])
def test_phm_is_on_one_device(kind, tmp_path):
    with Accelerator():
        kind(device=META, **STEPS).run(tmp_path)


@pytest.mark.parametrize("name", ["RNN", "QRNN"])
def test_copy_task_is_on_one_device(name):
    sizes = {"hidden": 8, "length": 2, "blanks": 1, "sequences": 4}
    with Accelerator():
        CopyTask(device=META, **sizes, **STEPS)._train(name, [])


def test_gradients_are_on_one_device():
    settings = Gradients(batch=1, tokens=4, channels=4, heads=2, device=META)
    with Accelerator():
        for loss in ("target", "sum"):
            assert settings._trial(settings._signals(settings._layer()), loss, 1.0)["shared"]


@pytest.mark.parametrize("name", ["qtransformer", "qtransformer-hamilton"])
def test_networks_on_speech_are_on_one_device(name, small_run, monkeypatch):
    network = build_network(
        {"network": name, "n_fft": 32, "hop_length": 16, "channels": 4, "heads": 2, "layers": 1}
    )
    with Accelerator():
        for signals in speech_signals(network.eval().to(META), torch.zeros(1, 320)).values():
            assert signals.q.device.type == "cpu"
        assert _enhanced(str(small_run(name)), np.zeros(320), META).shape == (320,)


def test_every_experiment_has_a_device(tmp_path):
    from importlib import import_module

    for name, place in EXPERIMENTS.items():
        module, _, kind = place.partition(":")
        found = getattr(import_module(f"qse_papers.{module}"), kind)
        assert issubclass(found, OnDevice) == (name not in WITHOUT), name
    with pytest.raises(UsageError, match="device=tpu: choose"):
        experiment("pairs", tmp_path, ["device=tpu"])
