"""Find the models of a benchmark: a trained model by name or path, or the recipe of one that is not
trained yet."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..audio.private_folder import private_folder
from ..errors import QseError
from ..extras import need
from ..runtime.zoo import available, load, streaming

if TYPE_CHECKING:
    from ..networks import Network
    from ..train.recipe import RunConfig


def network(model: str) -> "Network":
    """Build an untrained network with fixed seed, from a recipe (.toml) or the name of an
    architecture."""
    torch = need("torch", "train")
    from ..networks import build_network

    torch.manual_seed(0)
    return build_network(recipe(model).model)


def recipe(model: str) -> "RunConfig":
    """Read a recipe (.toml); that of an architecture by its name has defaults."""
    need("torch", "train")
    from ..networks import NETWORKS
    from ..train.recipe import RunConfig, read_config

    if model in NETWORKS:
        return RunConfig({"network": model})
    if not model.endswith(".toml"):
        raise QseError(
            f"no network called {model}: give a recipe (.toml) or one of {', '.join(NETWORKS)}"
        )
    return read_config(Path(model))


@contextmanager
def graphs(models: tuple[str, ...]) -> Iterator[dict[str, Path]]:
    """Yield exported graphs by name; those of recipes are exported to a temporary folder."""
    with private_folder() as folder:
        yield {_name(model, models): _graph(model, folder) for model in models}


def chosen(models: tuple[str, ...]) -> tuple[str, ...]:
    """Return `models`, or all trained ones that stream. QseError if there are none."""
    models = models or tuple(name for name in available() if load(name).streams)
    if not models:
        raise QseError(
            "no trained model is installed: name one by its path, "
            "or a recipe (recipes/live-base.toml)"
        )
    return models


def _name(model: str, models: tuple[str, ...]) -> str:
    """Return a recipe's stem, or its path if another recipe has the same stem."""
    if not model.endswith(".toml"):
        return model
    alike = set()
    for other in models:
        if other.endswith(".toml") and Path(other).stem == Path(model).stem:
            alike.add(other)
    return f"{model if len(alike) > 1 else Path(model).stem}, untrained"


def _graph(model: str, folder: Path) -> Path:
    if not model.endswith(".toml"):
        return streaming(load(model)).path
    need("torch", "train")
    from .. import __version__
    from ..export.streaming import export_stream

    path = folder / f"{len(list(folder.iterdir()))}.onnx"
    export_stream(network(model), path, name=Path(model).stem, version=__version__)
    return path
