"""Keys of earlier versions: each released form of config.toml is read as today's, with one warning."""

import dataclasses
import math
import warnings
from pathlib import Path

import pytest

from qse.config import overridden, read
from qse.errors import QseError
from qse.migration import RENAMED, migrated

FIRST_RELEASE = """
[model]
network = "live"
hop_length = 160
channels = [8, 12, 16]
blocks = 2
[mix]
noises = [0.6, 0.3, 0.1]
shaped_chance = 0.08
alone_chance = 0.5
tone_chance = 0.4
tone = 6.0
gain_chance = 0.2
gain = 6.0
early = 0.05
band_chance = 0.1
band = [3400.0, 7500.0]
[train]
warmup = 300
clip = 1.0
average = 0.999
"""
LAST_RELEASE = """
dataset = ""
[model]
network = "live"
hop_length = 200
overlap = 120
channels = [8, 16, 20]
blocks = 4
time_mixer = "gru"
without = "block2.feed block3.time block3.feed"
[mix]
noises = [0.6, 0.3, 0.1]
shaped_chance = 0.08
alone_chance = 0.5
tone_chance = 0.4
tone = 6.0
gain_chance = 0.2
gain = 6.0
hold_chance = 0.1
hold = [0.3, 1.5]
hold_pitch = [1.0, 1.6]
early = 0.3
band_chance = 0.1
band = [3400.0, 7500.0]
[train]
warmup = 300
hold = 2200
clip = 1.0
average = 0.999
carried = 0.33
"""


@pytest.mark.parametrize("text", [FIRST_RELEASE, LAST_RELEASE], ids=["first release", "last release"])
def test_migrated_builds_every_released_config(tmp_path, text):
    pytest.importorskip("torch")
    from qse.networks import build_network
    from qse.train.recipe import read_config, write_config

    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(text)
    with pytest.warns(FutureWarning, match="old.toml: .*model.network = 'live' is now 'streaming'") as warned:
        config = read_config(old)
    assert len(warned) == 1 and "train.warmup is now warmup_steps" in str(warned[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        network = build_network(config.model)
        write_config(new, config, network)
        again = read_config(new)
    assert (again.mix, again.loss, again.train) == (config.mix, config.loss, config.train)
    assert build_network(again.model).config == network.config
    assert config.mix.early_reflections == (0.05 if text == FIRST_RELEASE else 0.3)


def test_migrated_translates_the_last_release(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(LAST_RELEASE)
    with pytest.warns(FutureWarning):
        found = read(path)
    assert found["model"]["time_mixer"] == ["gru"]
    assert found["model"]["pruned"] == ["block2.feed", "block3.time", "block3.feed"]
    assert found["mix"]["sustain"] == [0.3, 1.5] and found["mix"]["low_pass_chance"] == 0.1
    assert found["train"] == {
        "warmup_steps": 300,
        "plateau_steps": 2200,
        "clip_norm": 1.0,
        "ema_decay": 0.999,
        "carry_state_probability": 0.33,
    }


def test_migrated_keeps_values_of_renamed_keys():
    tables = {name: {old: number for number, old in enumerate(keys)} for name, keys in RENAMED.items()}
    with pytest.warns(FutureWarning):
        found = migrated(tables)
    for name, keys in RENAMED.items():
        assert found[name] == {new: number for number, new in enumerate(keys.values())}


def test_renamed_keys_exist_in_the_configurations():
    pytest.importorskip("torch")
    from qse.data.mix_config import MixConfig
    from qse.networks.streaming import StreamingConfig
    from qse.train.train_config import TrainConfig

    for name, config in {"model": StreamingConfig, "mix": MixConfig, "train": TrainConfig}.items():
        fields = {field.name for field in dataclasses.fields(config)}
        assert set(RENAMED[name].values()) <= fields and not set(RENAMED[name]) & fields


def test_migrated_takes_nan_for_what_it_is(recwarn):
    """It differs from itself, but is no value of an earlier version."""
    assert math.isnan(migrated({"mix": {"eq": math.nan}})["mix"]["eq"]) and not recwarn


def test_migrated_prefers_the_new_key():
    with pytest.warns(FutureWarning, match="train.hold is ignored beside plateau_steps"):
        assert migrated({"train": {"plateau_steps": 1, "hold": 2}}) == {"train": {"plateau_steps": 1}}


def test_migrated_leaves_other_tables_and_the_argument_alone():
    tables = {"model": {"network": "qconformer"}, "train": {"steps": 3}, "seed": 1, "hold": 2, "other": {"hold": 5}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert migrated(tables) == tables
    old = {"train": {"hold": 2}}
    with pytest.warns(FutureWarning):
        migrated(old)
    assert old == {"train": {"hold": 2}}


def test_overridden_translates_old_keys():
    values = {"model": {"network": "streaming"}, "train": {"plateau_steps": 1}}
    changes = ["train.hold=5", 'model.without="block0.feed block1.time"', "model.time_mixer=lru"]
    with pytest.warns(FutureWarning, match=r"--set train.hold=5: .*train.hold is now plateau_steps"):
        found = overridden(values, changes)
    model = {"network": "streaming", "pruned": ["block0.feed", "block1.time"], "time_mixer": ["lru"]}
    assert found == {"model": model, "train": {"plateau_steps": 5}}
    with pytest.warns(FutureWarning):
        assert overridden(values, ['model={network = "live"}'])["model"] == {"network": "streaming"}


def test_overridden_refuses_unknown_forms():
    with pytest.raises(QseError, match="write it as table"):
        overridden({}, ["train.hold"])


def test_load_network_reads_an_old_config(tmp_path):
    pytest.importorskip("torch")
    from safetensors.torch import save_file

    from qse.networks import build_network
    from qse.networks.weights import load_network

    old = {"n_fft": 64, "hop_length": 32, "ranges": [[32, 2]], "channels": [2, 2, 4], "heads": 2}
    lines = [f"{key} = {value}" for key, value in old.items()]
    path, weights = tmp_path / "config.toml", tmp_path / "weights.safetensors"
    path.write_text("\n".join(["[model]", 'network = "live"', 'without = "block1.feed"', *lines]))
    with pytest.warns(FutureWarning):
        network = build_network({"network": "live", "without": "block1.feed", **old})
    save_file(network.state_dict(), weights)
    with pytest.warns(FutureWarning, match=str(path)):
        loaded, _ = load_network(Path(path), weights)
    assert loaded.config == network.config and loaded.config.pruned == ("block1.feed",)
