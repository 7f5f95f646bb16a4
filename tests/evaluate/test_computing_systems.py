"""Systems: how a name is resolved, and what a checkpoint computes."""

import graphs
import numpy as np
import pytest
from speech import SAMPLE_RATE, voice

from qse.data.datasets import Pair
from qse.errors import QseError
from qse.evaluate.computing_systems import (
    CheckpointSystem,
    FolderSystem,
    ModelSystem,
    as_system,
    find_system,
)


def test_find_system_prefers_model_names(corpus, models, monkeypatch):
    monkeypatch.chdir(corpus)
    (corpus / "live-base").mkdir()
    assert (
        type(find_system("live-base")) is ModelSystem and type(find_system("clean")) is FolderSystem
    )


@pytest.mark.parametrize("rate", ["9" * 5000, "0", "many"])
def test_metadata_that_hold_no_sample_rate_are_those_of_a_model_for_16_khz(tmp_path, rate):
    """Until the graph is loaded, which is then refused."""
    path = graphs.delay(tmp_path / "model.onnx", sample_rate=rate)
    assert ModelSystem("a", path).rate_for(48000) == 16000


SMALL = {
    "network": "streaming",
    "n_fft": 64,
    "hop_length": 32,
    "ranges": ((32, 2),),
    "channels": (2, 2, 4),
    "growth": 2,
}
SMALL |= {"dilations": (1,), "blocks": 1, "heads": 2}


def test_checkpoint_system_uses_averaged_weights(tmp_path):
    torch = pytest.importorskip("torch")
    from qse.networks import build_network
    from qse.train import checkpoint
    from qse.train.recipe import RunConfig, write_config

    config = RunConfig(SMALL)
    network = build_network(config.model).eval()
    average = {f"average.{name}": value for name, value in network.state_dict().items()}
    others = {
        f"model.{name}": torch.zeros_like(value) for name, value in network.state_dict().items()
    }
    write_config(tmp_path / "config.toml", config, network)
    checkpoint.save(tmp_path / "best.safetensors", average | others, {}, None)
    noisy = voice(0.5)
    with torch.no_grad():
        expected = network.enhance(torch.from_numpy(noisy.astype(np.float32))[None])[0].numpy()
    system = find_system(str(tmp_path))
    enhanced, seconds = system.open(SAMPLE_RATE)(Pair("a", None), noisy)
    np.testing.assert_allclose(enhanced, expected, atol=1e-6)
    assert np.abs(expected).max() > 0.01 and seconds > 0 and type(system) is CheckpointSystem
    assert system.rate_for(SAMPLE_RATE) == system.rate_for(48000) == 16000
    with pytest.raises(
        QseError, match="works at 16000 Hz, not at 48000: evaluate with sample_rate=16000"
    ):
        system.open(48000)


@pytest.mark.parametrize("own, asked", [(8000, 8000), (16000, 8000), (16000, 16000)])
def test_checkpoint_system_works_at_the_rate_of_its_network(tmp_path, own, asked):
    torch = pytest.importorskip("torch")
    from qse.networks import build_network
    from qse.train import checkpoint
    from qse.train.recipe import RunConfig, write_config

    config = RunConfig(SMALL | {"sample_rate": own})
    network = build_network(config.model).eval()
    write_config(tmp_path / "config.toml", config, network)
    weights = {f"average.{name}": value for name, value in network.state_dict().items()}
    checkpoint.save(tmp_path / "best.safetensors", weights, {}, None)
    noisy = np.linspace(-0.1, 0.1, asked // 4)
    enhanced, _ = find_system(str(tmp_path)).open(asked)(Pair("a", None), noisy)
    assert enhanced.shape == noisy.shape
    if own == asked:
        with torch.no_grad():
            expected = network.enhance(torch.from_numpy(noisy.astype(np.float32))[None])[0]
        np.testing.assert_array_equal(enhanced, expected.numpy())
    assert as_system(network).rate_for(48000) == own


def test_checkpoint_system_for_48_khz_also_works_at_16(tmp_path):
    torch = pytest.importorskip("torch")
    from qse.networks import build_network
    from qse.train import checkpoint
    from qse.train.recipe import RunConfig, write_config

    config = RunConfig(
        SMALL | {"sample_rate": 48000, "n_fft": 192, "hop_length": 96, "ranges": ((32, 2), (64, 4))}
    )
    network = build_network(config.model).eval()
    write_config(tmp_path / "config.toml", config, network)
    weights = {f"average.{name}": value for name, value in network.state_dict().items()}
    checkpoint.save(tmp_path / "best.safetensors", weights, {}, None)
    system = find_system(str(tmp_path))
    assert system.rate_for(48000) == 48000
    for rate in (16000, 48000):
        noisy = np.linspace(-0.1, 0.1, rate // 4)
        enhanced, _ = system.open(rate)(Pair("a", None), noisy)
        with torch.no_grad():
            expected = (
                network.at(rate)
                .enhance(torch.from_numpy(noisy.astype(np.float32))[None])[0]
                .numpy()
            )
        np.testing.assert_allclose(enhanced, expected, atol=1e-6)
