"""Find, read, change and write recipes: the configuration of a training run as TOML."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any

from .. import config as configuration
from ..audio.atomic_write import write_text
from ..audio.file_mode import Source
from ..audio.folder_path import make_folder
from ..bounded_text import Opener
from ..data.mix_config import MixConfig
from ..data.open_sources import CORPORA, CorpusName
from ..data.source import BatchSource
from ..errors import QseError
from ..losses.loss_config import LossConfig
from ..losses.terms import LossTerm
from ..losses.weighted_sum import WeightedSum
from ..networks import ModelTable, Network, network_name
from ..networks.weights import check_foreign
from ..references import check_own
from .installed_recipes import installed_recipes
from .train_config import TrainConfig


@dataclass(frozen=True)
class RunConfig:
    """The tables of a recipe; `model` names a network and holds the keys of its config.

    dataset: the official corpus in the run's `data` folder, or a function of one's own,
    "package.module:function"; "": folders of speech and noise.
    """

    model: ModelTable | dict[str, Any] = field(default_factory=dict)
    mix: MixConfig = field(default_factory=MixConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    dataset: CorpusName | str = ""


@dataclass(frozen=True)
class Own:
    """Hold what a caller brings to a run as objects: network, loss and source of batches; None:
    that of the configuration."""

    network: Network | None = None
    loss: LossConfig | WeightedSum | LossTerm | None = None
    source: BatchSource | None = None


NOTHING_OWN = Own()


def find_recipe(recipe: str) -> Path:
    """Return the path of a recipe: of an installed one by its name, or a path.

    Raises QseError if there is none.
    """
    known = installed_recipes()
    if recipe in known or Path(recipe).is_file():
        return known.get(recipe, Path(recipe))
    names = ", ".join(known)
    raise QseError(f"no recipe called {recipe}: there are {names}; a path to a TOML file works too")


def write_config(
    path: Path,
    config: RunConfig,
    network: Network,
    overwrite: bool = True,
    source: Source | None = None,
) -> None:
    """Write the complete configuration, defaults included, as TOML; `network` is the one that it
    describes. source: a file that it is no more readable than.

    Raises QseError where it cannot be written, or, without `overwrite`, would replace another text,
    as the recipe itself.
    """
    import tomli_w

    tables = asdict(config)
    tables["model"] = {"network": config.model["network"], **asdict(network.config)}
    text = tomli_w.dumps(tables)
    try:
        make_folder(path.parent)
        if not overwrite and path.exists():
            if not _holds(path, text):
                raise QseError(f"{path}: would be replaced; name another folder, or delete it")
            overwrite = True  # by the same
        write_text(path, text, overwrite, source=source)
    except OSError as error:
        raise QseError(
            f"{path.parent}: cannot write there ({error.strerror}); name another folder"
        ) from error


def _holds(path: Path, text: str) -> bool:
    """Return whether a file holds this text; of a longer one the beginning is read alone."""
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(len(text) + 1) == text


def check_run(config: RunConfig, path: Path) -> None:
    """Raise QseError if the configuration of a run, of the file `path`, names code that is not to
    be called so, or describes a network that would fill the memory: it may come from anywhere."""
    check_foreign(config.model, path)
    check_own({"loss": asdict(config.loss), "dataset": config.dataset}, path)
    if config.dataset and config.dataset not in CORPORA:
        known = ", ".join(CORPORA)
        raise QseError(
            f"{path}: dataset = {config.dataset!r}: is none of {known}; "
            "use trust=True if you trust whoever wrote it"
        )


def model_table(network: Network) -> dict[str, Any]:
    """Return the `[model]` table that describes a network.

    Raises QseError where its config is no dataclass.
    """
    config = network.config
    if not is_dataclass(config) or isinstance(config, type):
        kind = type(network).__name__
        raise QseError(
            f"network {kind}: its config must be a frozen dataclass, "
            "so that the run can be read again"
        )
    return {"network": network_name(network), **asdict(config)}


def read_config(path: Path, changes: Sequence[str] = (), opener: Opener | None = None) -> RunConfig:
    """Read a recipe and apply `changes` ("table.key=value"). opener: as of `open`.

    Raises QseError for keys and values that do not fit.
    """
    values = configuration.overridden(configuration.read(path, opener), list(changes))
    model = values.pop("model", {})
    config = configuration.build(
        RunConfig, values, f"{path} with --set: " if changes else f"{path}: "
    )
    return replace(config, model=model)
