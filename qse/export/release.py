"""Release a training run as a model folder: average, export, measure, write the card.

models/NAME/model.onnx  SHA256SUMS  weights.safetensors  checkpoint.safetensors  config.toml
card.md

A streaming network for 48 kHz is released as two graphs of the same weights: model.onnx for audio
up to 16 kHz, model-48k.onnx for audio above.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from .. import __version__
from ..audio.atomic_write import write_text
from ..audio.file_mode import Sources, restrict
from ..audio.folder_path import open_found
from ..errors import QseError
from ..model_folder import (
    CARD,
    CHECKPOINT,
    CONFIG,
    WEIGHTS,
    weights_of,
)
from ..networks import Network, StreamingEnhancer, StreamingNetwork, TwoGrids, weights
from ..networks.weights import load_network
from ..runtime.checksums import seal
from ..runtime.zoo import load
from ..train import checkpoint
from ..train.checkpoint_header import check_header
from ..train.recipe import read_config, write_config
from ..train.training_log import read_table
from ..train.validation import validate
from ..train.validation_pairs import find_pairs, read_pairs
from .card import Card, CardOptions
from .cost import ModelCost, measure_cost
from .graphs import GraphForm, at_its_rates, write_graphs
from .many_streams import add_many_streams
from .target import check_target, model_target

CARRIED = "carried."  # in the names of a checkpoint
MOST_OTHERS = 10_000_000  # numbers of a checkpoint that are not of the network


def release(
    run: Path,
    folder: Path,
    options: CardOptions | None = None,
    others: Sequence[Path] = (),
    look_ahead: int | None = None,
    graphs: GraphForm | None = None,
    overwrite: bool = False,
) -> dict[int, ModelCost]:
    """Write the model folder of the run's best averaged weights (of its last ones where nothing was
    validated), or of a folder with converted weights alone.

    others: runs or models that began with the same weights; the model is then the mean of all, each
    with the look-ahead that is wanted (Wortsman et al. 2022, "Model soups"). look_ahead: frames
    that the model looks ahead, at most those of the run's network; None: as many. A model that
    looks less far ahead comes without a checkpoint, from which the run could not go on.
    overwrite: replace the model in `folder`, when all files of the new one are written; files that
    no release writes are kept.
    Returns the cost of each graph by its sample rate in Hz.
    Raises QseError if `run` is not the folder of a run, has no step that changed the weights, or is
    `folder` itself; for a folder as in `check_target`; and if ONNX Runtime and torch disagree on
    the exported graph.
    """
    for named in (run, *others):
        _check(named, folder)
    check_target(folder, overwrite)
    options = options or CardOptions()
    graphs = graphs or GraphForm()
    with _sources([run, *others]) as origin:
        config = read_config(run / CONFIG, opener=open_found)
        network, header = average(run, others, look_ahead)
        whole = look_ahead is None or look_ahead == config.model.get("look_ahead", 0)
        model = _on_two_grids(network, run) if graphs.two_grids else network
        # scored before any file is replaced, because scoring takes long and may fail
        step = header.get("step") if whole and not others and not graphs.two_grids else None
        scores = _scores(run, step, model, options.valid, config.mix.sample_rate)
        name = folder.resolve().name
        with model_target(folder) as new:
            parts = at_its_rates(model)
            about = {"name": name, "version": __version__, "licence": options.licence}
            write_graphs(parts, new, about, graphs.hops)
            seal(new)
            checkpoint.save(new / "weights.safetensors", network.state_dict(), header, None)
            if whole and (run / CHECKPOINT).is_file():
                _keep_checkpoint(run, new, network.size)
            write_config(new / CONFIG, config, network)
            if graphs.many_streams:
                add_many_streams(new, options.licence)
            costs = {}
            for file, part in parts.items():
                costs[part.config.sample_rate] = measure_cost(part, load(new / file))
            card = Card(name, model, config, header, costs, options, scores)
            write_text(new / CARD, card.text(), source=None)
            for path in new.iterdir():
                restrict(path, origin)
    return costs


def _sources(runs: Sequence[Path]) -> Sources:
    """Return all files that are read of the runs a model is made of."""
    names = (CONFIG, CHECKPOINT, *WEIGHTS, "valid.csv")
    return Sources(run / name for run in runs for name in names)


def average(
    run: Path, others: Sequence[Path] = (), look_ahead: int | None = None
) -> tuple[Network, dict[str, str]]:
    """Return the run's network with its averaged weights, or with the mean of those and of
    `others`, and the header.

    look_ahead: as that of `release`.
    Raises QseError for a run without one step that changed its weights, and for `others` with
    another network.
    """
    path = weights_of(run)
    network, header = load_network(run / CONFIG, path)
    if header or path.name != WEIGHTS[0]:  # converted weights have none
        check_header(path, header)
    if header.get("averaged") == "0":
        raise QseError(
            f"{run}: no step has changed its weights, because no gradient was finite; "
            "train it with a lower rate"
        )
    network = _looking_ahead(network, run, look_ahead)
    if others:
        states = [network.state_dict()]
        for other in others:
            alike, _ = load_network(other / CONFIG, weights_of(other))
            alike = _looking_ahead(alike, other, look_ahead)
            if alike.config != network.config:
                raise QseError(f"{other}: has another network than {run}: no mean of the two")
            states.append(alike.state_dict())
        mean = {}
        for name in states[0]:
            mean[name] = torch.stack([state[name].double() for state in states]).mean(0)
        network.load_state_dict(mean)
        header["mean_with"] = ", ".join(other.name for other in others)
    return network, header


def _keep_checkpoint(run: Path, folder: Path, size: int) -> None:
    """Copy the checkpoint of the last step, of a network of `size` numbers, without the states that
    streams carried, which are many times larger."""
    most = 5 * size + MOST_OTHERS  # weights, their average, and what optimisers keep of each
    path = run / CHECKPOINT
    tensors, header = weights.load_tensors(path, lambda name: not name.startswith(CARRIED), most)
    checkpoint.save(folder / CHECKPOINT, tensors, header, None)


def _looking_ahead(network: Network, run: Path, look_ahead: int | None) -> Network:
    """Return the network with `look_ahead` frames of look-ahead; None: as it is.

    Raises QseError where it has none, or not so much.
    """
    if look_ahead is None:
        return network
    if not isinstance(network, StreamingEnhancer):
        raise QseError(f"{run}: its network has no look-ahead to choose: leave look_ahead out")
    try:
        return network.at(network.config.sample_rate, look_ahead).eval()
    except ValueError as error:
        raise QseError(f"{run}: {error}") from error


def _on_two_grids(network: Network, run: Path) -> TwoGrids:
    """Return the network on two grids of frames. Raises QseError for one that cannot stream."""
    if not isinstance(network, StreamingNetwork):
        raise QseError(f"{run}: its network cannot stream: leave two_grids out")
    try:
        return TwoGrids(network)
    except QseError as error:
        raise QseError(f"{run}: {error}") from error


def _check(run: Path, folder: Path) -> None:
    """Raise QseError where `run` is no run, or `folder` is the run itself."""
    if not weights_of(run).is_file():
        raise QseError(
            f"{run}: no run, as it has no {' or '.join(WEIGHTS)}; name the folder of a run"
        )
    if folder.exists() and run.samefile(folder):
        raise QseError(
            f"{run}: is a run, which the model would replace; name another folder for the model"
        )


def _scores(
    run: Path, step: str | None, network: Network, valid: Path | None, sample_rate: int
) -> Mapping[str, str | float]:
    """Score the network on `valid`, or look up the run's own validation; empty where there is
    neither.

    step: of the run that the network is; None for a mean, less look-ahead than the run's, or two
    grids of frames.
    """
    if valid:
        return validate(
            network, read_pairs(find_pairs(valid, sample_rate), sample_rate), torch.device("cpu")
        )
    if step is None or not (run / "valid.csv").exists():
        return {}
    for row in read_table(run / "valid.csv", open_found):
        if row["step"] == float(step):
            return row
    return {}
