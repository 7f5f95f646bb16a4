"""What a run is: the tables of a recipe, found by name, read from TOML with changes, and written down whole; and the
network that they describe, with its weights.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import qse_recipes

from .. import config as configuration
from ..audio.atomic_write import write_whole
from ..data.mix_config import MixConfig
from ..errors import QseError
from ..losses.composite import LossConfig
from ..networks import build_network
from .trainer import TrainConfig


@dataclass(frozen=True)
class RunConfig:
    """The tables of a recipe; `model` names a network and holds the keys of its config.

    dataset: the official corpus that a run's `data` holds, one of sources.CORPORA; "" for the recipes of no corpus.
    """

    model: dict[str, Any] = field(default_factory=dict)
    mix: MixConfig = field(default_factory=MixConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    dataset: str = ""


def find_recipe(recipe: str) -> Path:
    """The file of a recipe that is installed, by its name, or the one at a path. Raises QseError for neither."""
    known = {path.stem: path for place in qse_recipes.__path__ for path in Path(place).glob("*.toml")}
    if recipe in known or Path(recipe).is_file():
        return known.get(recipe, Path(recipe))
    names = ", ".join(sorted(known))
    raise QseError(f"no recipe called {recipe}: there are {names}; a path to a TOML file works too")


def write_config(path: Path, config: RunConfig) -> None:
    """The whole configuration, defaults included, as TOML. Raises QseError where it cannot be written."""
    import tomli_w

    tables = asdict(config)
    network = build_network(config.model)
    tables["model"] = {"network": config.model["network"], **asdict(network.config)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, tomli_w.dumps(tables))
    except OSError as error:
        raise QseError(f"{path.parent}: cannot write there ({error.strerror}); name another folder") from error


def read_config(path: Path, changes: Sequence[str] = ()) -> RunConfig:
    """A recipe with `changes` ("table.key=value") applied. Raises QseError for what does not fit."""
    values = configuration.overridden(configuration.read(path), list(changes))
    model = values.pop("model", {})
    config = configuration.build(RunConfig, values, f"{path}: ")
    return replace(config, model=model)
