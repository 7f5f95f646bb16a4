"""From a training run to a model folder: the graph, its weights, the whole configuration, and a card.

models/NAME/model.onnx  SHA256SUMS  weights.safetensors  checkpoint.safetensors  config.toml  card.md
"""

import copy
import csv
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import torch

from .. import __version__
from ..errors import QseError
from ..machine import processor
from ..model_folder import weights_of
from ..networks import Network, build_network
from ..networks.offline import Offline
from ..networks.paper_models import macs
from ..networks.streaming import StreamingEnhancer
from ..networks.weights import load_network
from ..runtime.offline import Model, OfflineModel
from ..runtime.timing import GROUP, race, stepper
from ..runtime.zoo import load, seal
from ..train import checkpoint
from ..train.recipe import RunConfig, read_config
from ..train.validation import find_pairs, read_pairs, validate
from .offline import export_offline
from .streaming import export_stream, speech_like


@dataclass(frozen=True)
class Hop:
    """What a hop costs a streaming model: seconds on one thread, and what it remembers."""

    p50: float
    p99: float
    state_bytes: int


@dataclass(frozen=True)
class Measured:
    """What a card says about the cost of a model, on one thread."""

    rtf: float
    params: int
    macs: float  # multiply-accumulates per second of audio
    hop: Hop | None = None


def release(
    run: Path,
    folder: Path,
    data: str = "",
    faults: str = "",
    licence: str = "Apache-2.0",
    others: Sequence[Path] = (),
    valid: Path | None = None,
) -> Measured:
    """Writes the model folder of the run's best averaged weights (of its last ones where nothing was validated).

    `data` says in a sentence what it was trained on, `faults` what it is known to do badly; both go into the card.
    others: runs that began with the same weights; the model is then the mean of all (Wortsman et al. 2022, "Model
    soups"). valid: pairs whose scores go into the card; without them those of the run's own validation do.
    Raises QseError when `run` holds no run, has learned nothing or is `folder` itself, or when the exported graph
    disagrees with torch.
    """
    last = run / "checkpoint.safetensors"
    if not last.exists() or run.resolve() == folder.resolve():
        raise QseError(f"{run}: a model is made of the folder of a run, in a folder of its own; name both")
    if folder.exists() and not folder.is_dir():
        raise QseError(f"{folder}: is a file; name a folder for the model")
    if (folder / "train.csv").exists():
        raise QseError(f"{folder}: is a run, which the model would replace; name another folder for the model")
    config, name = read_config(run / "config.toml"), folder.resolve().name
    network, header = load_network(run / "config.toml", weights_of(run))
    if header.get("averaged") == "0":
        raise QseError(
            f"{run}: no step has changed its weights, for no gradient was finite; train it with a lower rate"
        )
    if others:
        networks = network, *(load_network(run / "config.toml", weights_of(other))[0] for other in others)
        states = [each.state_dict() for each in networks]
        mean = {name: torch.stack([s[name].double() for s in states]).mean(0) for name in states[0]}
        network.load_state_dict(mean)
        header["mean_with"] = ", ".join(other.name for other in others)
    # read and scored before any file is replaced, for that takes long and may fail
    pairs = read_pairs(find_pairs(valid, config.mix.sample_rate)) if valid else None
    scores: Mapping[str, str | float] | None = None
    if pairs:
        scores = validate(network, pairs, torch.device("cpu"))
    elif not others:  # of which no run has scores
        scores = next((row for row in _rows(run / "valid.csv") if row["step"] == header["step"]), None)
    folder.mkdir(parents=True, exist_ok=True)
    export = export_offline if isinstance(network, Offline) else export_stream
    export(network, folder / "model.onnx", name=name, version=__version__, licence=licence)
    seal(folder)
    checkpoint.save(folder / "weights.safetensors", network.state_dict(), header)
    shutil.copyfile(last, folder / "checkpoint.safetensors")
    shutil.copyfile(run / "config.toml", folder / "config.toml")
    measured = measure(network, load(folder / "model.onnx"))
    card = _card(name, config, header, measured, scores, data, faults, licence)
    (folder / "card.md").write_text(card, encoding="utf-8")
    return measured


def measure(network: Network, engine: Model, seconds: float = 10.0) -> Measured:
    """The cost of a network and its graph, on one thread of this machine, over `seconds` of audio."""
    params = sum(parameter.numel() for parameter in network.parameters())
    if isinstance(engine, OfflineModel):
        noisy = speech_like(round(seconds * engine.sample_rate), engine.sample_rate)
        times = race({engine.name: lambda: engine.enhance(noisy)}, 0.0, least=2)[engine.name]
        return Measured(times.median / seconds, params, macs_per_second(network))
    hop, state = engine.hop_length / engine.sample_rate, engine.initial_state()
    times = race({engine.name: stepper(engine)}, 0.0, group=GROUP, least=ceil(seconds / hop / GROUP))[engine.name]
    per_hop = Hop(times.median, times.quantile(0.99), sum(array.nbytes for array in state.values()))
    return Measured(times.mean / hop, params, macs_per_second(network), per_hop)


def macs_per_second(network: Network) -> int:
    """Multiply-accumulates of a network in one second of audio."""
    config = network.config
    network = copy.deepcopy(network).double().eval()  # in float32 an LSTM is one operator that is not counted
    second = config.sample_rate // config.hop_length * config.hop_length
    return macs(network, torch.zeros(1, second, dtype=torch.float64))


def _per_hop(hop: Hop | None) -> list[str]:
    """The card's lines that only streaming models have."""
    if hop is None:
        return []
    times = f"p50 {1e6 * hop.p50:.0f} µs, p99 {1e6 * hop.p99:.0f} µs"
    return [f"| state | {hop.state_bytes / 1024:.0f} KiB |", f"| time per hop, one thread | {times} |"]


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _card(
    name: str,
    config: RunConfig,
    header: dict[str, str],
    cost: Measured,
    scores: Mapping[str, str | float] | None,
    data: str,
    faults: str,
    licence: str,
) -> str:
    built = build_network(config.model)
    network, streaming, latency = built.config, isinstance(built, StreamingEnhancer), "whole recordings"
    if isinstance(built, StreamingEnhancer):
        hop, late = (1000 * samples / network.sample_rate for samples in (network.hop_length, built.latency))
        latency = f"{hop + late:g} ms (hop {hop:g} ms)"
    origin = header.get("origin")  # whose hours are counted too
    skipped = int(header.get("skipped", 0))  # their gradients were not finite
    steps = f"{header['step']} steps" + (f" ({skipped} left out)" if skipped else "")
    steps += f" after those of {origin}, in all " if origin else ", "
    audio = int(header["heard"]) / config.mix.sample_rate
    hours = f"{float(header['seconds']) / 3600:.1f} h for {audio / 3600:.1f} h of audio"
    mean = f"; mean with the weights of {header['mean_with']}" if "mean_with" in header else ""
    lines = [
        f"# {name}",
        "",
        f"{'Streaming s' if streaming else 'S'}peech enhancement: one channel of noisy speech in, enhanced speech out.",
        "",
        "| | |",
        "|---|---|",
        f"| sample rate | {network.sample_rate} Hz |",
        f"| algorithmic latency | {latency} |",
        f"| parameters | {cost.params:,} |",
        f"| multiply-accumulates | {cost.macs / 1e9:.2f} G per second of audio |",
        *_per_hop(cost.hop),
        f"| RTF, one thread | {cost.rtf:.3f} ({processor()}) |",
        f"| training | {steps}{hours}, seed {config.train.seed}{mean} |",
        f"| licence | {licence} |",
    ]
    if scores:
        lines += [
            "",
            "Validation pairs, mean: "
            + ", ".join(
                f"{title} {float(scores[key]):.{digits}f}"
                for title, key, digits in (("WB-PESQ", "pesq_wb", 3), ("STOI", "stoi", 4), ("SI-SDR dB", "si_sdr", 2))
            ),
        ]
    if data:
        lines += ["", f"Trained on {data}"]
    if faults:
        lines += ["", f"Known faults: {faults}"]
    options = header.get("options", "--speech SPEECH --noise NOISE --valid VALID")
    command = f"qse train --config config.toml {options} --out RUN"
    command += f" --from {origin}" if origin else ""
    again = "Its last run" if origin or mean else "To train it again"
    again += ", which began with the release before this one" if origin == name else ""
    lines += ["", f"{again} (`config.toml` lies beside this card):", "", f"    {command}", ""]
    return "\n".join(lines)
