"""Recipes: reading, changing, writing."""

import pytest

torch = pytest.importorskip("torch")

from qse.audio import atomic_write
from qse.config import build
from qse.errors import QseError
from qse.networks import build_network
from qse.networks.streaming import StreamingConfig
from qse.train.recipe import read_config, write_config


def test_recipe_is_read_changed_and_written(tmp_path):
    recipe = tmp_path / "recipe.toml"
    whole = tmp_path / "config.toml"
    recipe.write_text(
        '[model]\nnetwork = "streaming"\ngrowth = 2\n[train]\nsteps = 50\n[mix]\nsnr = [0, 5]\n'
    )
    config = read_config(recipe, ["train.batch=7", "model.blocks=1"])
    assert (config.train.steps, config.train.batch, config.mix.snr) == (50, 7, (0.0, 5.0))
    write_config(whole, config, build_network(config.model))
    again = read_config(whole)
    assert (again.train, again.mix, again.loss) == (config.train, config.mix, config.loss)
    model = dict(again.model)
    assert model.pop("network") == "streaming" and build(StreamingConfig, model) == StreamingConfig(
        growth=2, blocks=1
    )


def test_configuration_keeps_a_file_that_comes_meanwhile(tmp_path, monkeypatch):
    path = tmp_path / "config.toml"
    (tmp_path / "recipe.toml").write_text('[model]\nnetwork = "streaming"\n')
    config = read_config(tmp_path / "recipe.toml")
    network = build_network(config.model)
    with monkeypatch.context() as patch:
        patch.setattr(
            atomic_write, "step", lambda step: step != "written" or path.write_text("mine")
        )
        with pytest.raises(QseError, match="File exists"):
            write_config(path, config, network, overwrite=False)
    assert path.read_text() == "mine"
    path.unlink()
    for _ in range(2):  # the same text is no other file
        write_config(path, config, network, overwrite=False)


def test_read_config_names_unknown_tables(tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("[trian]\nsteps = 50\n")
    with pytest.raises(
        QseError,
        match=r"recipe.toml: unknown key 'trian' for RunConfig; known keys: model, mix, loss",
    ):
        read_config(recipe)


def test_read_config_says_that_a_change_may_be_at_fault(tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("[train]\nsteps = 50\n")
    with pytest.raises(QseError, match=r"recipe.toml with --set: train: unknown key 'stepz'"):
        read_config(recipe, ["train.stepz=3"])
