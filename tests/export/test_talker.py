"""The graph that makes entries of a talker, beside the graphs of a small network."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from small_networks import streaming

import qse
from qse.errors import QseError
from qse.export import export_stream
from qse.export.graph_file import speech_like
from qse.export.talker import export_talker
from qse.networks.enrolment import beginning, describe
from qse.runtime.enrolment import enroll_sound

ABOUT = {"name": "tiny", "version": "1.2", "licence": "CC0-1.0"}
FULL_BAND = {"sample_rate": 48000, "n_fft": 192, "hop_length": 96, "ranges": ((32, 2), (64, 8))}


def adaptive(**changes):
    """Return a network with two blocks that adapt, and entries that are not zero."""
    network = streaming(talker=True, blocks=2, **changes)
    for layer in network.talker.entries.values():
        torch.nn.init.normal_(layer.weight, std=0.1)
    return network


@torch.no_grad()
def test_a_released_network_keeps_the_talker_as_torch_does(tmp_path):
    network = adaptive(**FULL_BAND)
    low = network.at(16000).eval()
    export_stream(low, tmp_path / "model.onnx", **ABOUT)
    export_stream(network, tmp_path / "model-48k.onnx", **ABOUT)
    export_talker(low, tmp_path / "talker.onnx", **ABOUT)
    speech = speech_like(6 * 16000, 16000)
    voice = enroll_sound(speech, 16000, tmp_path, "me").voice
    entries = describe(low, torch.from_numpy(speech)[None])
    for part, rate in ((low, 16000), (network, 48000)):
        audio = speech_like(rate, rate, seed=1)
        audio = audio[: len(audio) // 96 * 96]
        kept = beginning(part, entries)
        wanted, _ = part(torch.from_numpy(audio)[None], kept)
        plain, _ = part(torch.from_numpy(audio)[None])
        engine = qse.load(tmp_path, sample_rate=rate, talker=voice)
        found = qse.denoise(audio, rate, engine)[: len(audio) - engine.latency]
        wanted, plain = (x[0, engine.latency :].numpy() for x in (wanted, plain))
        assert np.abs(found - wanted).max() < 1e-5
        assert np.abs(plain - wanted).max() > 1e-3


def test_mixers_whose_output_is_not_their_state_are_refused(tmp_path):
    network = adaptive(time_mixer=("lru",))
    export_stream(network, tmp_path / "model.onnx", **ABOUT)
    with pytest.raises(QseError, match=r"talker.onnx: not written, talkers are states"):
        export_talker(network, tmp_path / "talker.onnx", **ABOUT)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
