"""Networks by name: building from a table, refusals, enhancement of a batch."""

import pytest

torch = pytest.importorskip("torch")

from small_networks import PARAMS, STREAMING, offline

from qse.errors import QseError
from qse.networks import build_network, network_name
from qse.networks.streaming import StreamingConfig, StreamingEnhancer


def test_build_network_from_a_table():
    network = build_network(
        {
            "network": "streaming",
            **{key: value for key, value in STREAMING.items() if key != "heads"},
        }
    )
    assert isinstance(network, StreamingEnhancer) and network.config == StreamingConfig(
        **{**STREAMING, "heads": 4}
    )


@pytest.mark.parametrize(
    "model, sentence",
    [
        ({"network": "life"}, r"unknown network 'life'; there are .*streaming"),
        ({}, r"unknown network None; there are .*streaming"),
        (
            {"network": "streaming", "chanels": [2, 2, 4]},
            r"network streaming: unknown key 'chanels'.*channels",
        ),
        ({"network": "streaming", "n_fft": 64}, "ranges must cover the 32 bins of n_fft 64"),
        ({"network": "streaming", "n_fft": 513}, "n_fft 513: an even number"),
        (
            {"network": "qconformer", "hop_length": 400},
            "hop_length 400: must divide n_fft 400 into at least two",
        ),
        (
            {"network": "streaming", "ranges": [[255, 1], [1, 1]]},
            "multiple of 4 times its bins per band",
        ),
        ({"network": "streaming", "heads": 3}, "3 heads do not divide 16 quaternion channels"),
        ({"network": "streaming", "heads": 0}, "heads = 0: must be above 0"),
        ({"network": "streaming", "ranges": [[96, 0], [160, 5]]}, "ranges = .*must be above 0"),
        ({"network": "streaming", "channels": [8, 12]}, "channels .*three numbers"),
        ({"network": "streaming", "blocks": -1}, "blocks -1: 0 to 1000"),
        ({"network": "streaming", "power": float("nan")}, "power nan: above 0 and at most 1"),
        ({"network": "qconformer", "layers": -1}, "layers -1: 0 to 1000"),
        ({"network": "qconformer", "kernel": 4}, "kernel 4: an odd number"),
        (
            {"network": "conformer", "encoder": []},
            "encoder and decoder: at least one dilation each",
        ),
        (
            {"network": "qconformer", "hop_length": 0},
            "network qconformer: hop_length = 0: must be above 0",
        ),
        ({"network": "conformer", "channels": -4}, "channels = -4: must be above 0"),
        (
            {"network": "streaming", "hop_length": 400},
            "n_fft 512 is shorter than a hop of 400 and an overlap of 400",
        ),
        (3, "expected a table"),
    ],
)
def test_build_network_refuses(model, sentence):
    with pytest.raises(QseError, match=sentence):
        build_network(model)


@pytest.mark.parametrize(
    "changes, answer",
    [
        ({"time_mixer": ["tcn"]}, "gru, attention, rnn, lstm, hamilton, ssm, lru, token"),
        ({"algebra": "octonion"}, "quaternion, real, phm"),
        ({"time_mixer": ["gru", "token", "lru"], "blocks": 2}, "one per block"),
        ({"time_mixer": ["gru", "tcn"], "blocks": 2}, "unknown time_mixer .tcn.; there are gru"),
        ({"attention": "tay"}, "shared, none, hamilton"),
        ({"algebra": "phm", "phm_n": 3}, "n = 3 does not divide"),
        ({"time_mixer": ["token"], "window": 0}, "window"),
    ],
)
def test_build_network_names_the_known_options(changes, answer):
    with pytest.raises(QseError, match=answer):
        build_network({"network": "streaming", **STREAMING, **changes})


@pytest.mark.parametrize(
    "wrong", [{"attention": "soft"}, {"block": "lstm"}, {"hop_length": 150}, {"heads": 3}]
)
def test_build_network_refuses_offline_configs(wrong):
    with pytest.raises(QseError):
        build_network({"network": "qconformer", **wrong})


@pytest.mark.parametrize("name", PARAMS)
def test_networks_of_the_laboratory_have_their_short_names(name):
    """Under which runs of before find them."""
    assert network_name(offline(name)) == name


def test_network_at_refuses_other_rates():
    network = offline("qtn")
    assert network.at(16000) is network
    with pytest.raises(ValueError, match="works at 16000 Hz"):
        network.at(48000)
