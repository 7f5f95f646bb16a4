"""Compare the time mixers and algebras of the streaming family: cost, and quality after the same short training.

Cost is that of the exported graph, which does not depend on the values of weights. Quality: every network is trained
for the same steps of the recipe on the same batches, once per seed; its averaged weights are scored on `valid`. All in
one thread. Graphs and runs in the output folder are reused: give another folder for another recipe.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import torch

from .. import __version__
from ..bench import train as training
from ..bench.count import cost
from ..bench.table import Column, Table
from ..data.corpus import Corpus
from ..data.noise_mixing import NoiseMixer
from ..errors import UsageError
from ..export.streaming import export_stream
from ..networks import Network, build_network
from ..networks.algebra import ALGEBRAS
from ..networks.time_mixers import TIME_MIXERS
from ..runtime.engine import Engine
from ..runtime.timing import GROUP, race, stepper
from ..train.recipe import RunConfig, find_recipe, read_config
from ..train.stateful_training import training_loss
from ..train.trainer import Trainer
from ..train.validation import METRICS, Utterance, find_pairs, read_pairs, validate
from .results import Row, write_table

COLUMNS = (
    Column("model", "model"),
    Column("params", "params", ",.0f"),
    Column("macs", "MMAC/s", ".0f", 1e-6),
    Column("state_bytes", "state KiB", ".0f", 1 / 1024),
    Column("p50", "p50 µs per hop", ".0f", 1e6),
    Column("rate", "training, audio s / s", ".1f"),
    Column("pesq_wb", "WB-PESQ"),
    Column("stoi", "STOI"),
    Column("si_sdr", "SI-SDR dB"),
)
DIGITS = {"pesq_wb": 3, "stoi": 4, "si_sdr": 2}


@dataclass(frozen=True)
class Mixers:
    """Settings: every mixer over quaternions, and every other algebra with the mixer of the recipe.

    Without folders of audio there is no training. every: 3 scores a third of the pairs of `valid`.
    """

    recipe: str = "mixers"
    mixers: tuple[str, ...] = tuple(TIME_MIXERS)
    algebras: tuple[str, ...] = ALGEBRAS[1:]
    seconds: float = 3.0  # how long to time every row
    speech: str = ""
    noise: str = ""
    valid: str = ""
    every: int = 3
    seeds: tuple[int, ...] = (0, 1)

    FULL: ClassVar[dict] = {}

    def run(self, out: Path) -> str:
        folders = [bool(folder) for folder in (self.speech, self.noise, self.valid)]
        if any(folders) and not all(folders):
            raise UsageError(
                "mixers trains on three folders: --set speech=SPEECH --set noise=NOISE --set valid=VALID"
            )
        torch.set_num_threads(1)
        configs = {name: self._config(f'model.time_mixer=["{name}"]') for name in self.mixers}
        configs |= {name: self._config(f"model.algebra={name}") for name in self.algebras}
        runs = self._runs(configs, out / "mixers-runs.csv", train=all(folders))
        rows = [row | _summary(row["model"], runs) for row in self._costs(configs, out)]
        write_table(out / "mixers.csv", rows)
        return _markdown(Table("mixers", COLUMNS, rows))

    def _config(self, *changes: str) -> RunConfig:
        return read_config(find_recipe(self.recipe), list(changes))

    def _runs(self, configs: dict[str, RunConfig], path: Path, train: bool) -> list[Row]:
        """Return a row per model and seed: those of the file, and with `train` those that it lacks."""
        rows = _read(path)
        for seed in self.seeds if train else ():
            for name, config in configs.items():
                if not any(row["model"] == name and row["seed"] == seed for row in rows):
                    rows.append({"model": name, "seed": seed} | self._quality(config, seed))
                    write_table(path, rows)
        return rows

    def _quality(self, config: RunConfig, seed: int) -> Row:
        """Train a network from scratch; return the mean scores of its averaged weights."""
        torch.manual_seed(seed)
        device = torch.device("cpu")
        mixer = NoiseMixer(config.mix, *self._corpora, seed, device)
        plan = replace(config.train, seed=seed).counted(mixer.segments, 1)
        network, batches = (
            build_network(config.model),
            lambda step: mixer.batch(step, plan.batch, 0),
        )
        trainer = Trainer(
            network, training_loss(config.loss, plan.carry_state_probability), batches, plan, device
        )
        while trainer.done < plan.steps:
            trainer.step()
        return validate(trainer.ema.network, self._pairs, device)

    @cached_property
    def _corpora(self) -> tuple[Corpus, Corpus]:
        rate = self._config().mix.sample_rate
        return Corpus.read(Path(self.speech), rate), Corpus.read(Path(self.noise), rate)

    @cached_property
    def _pairs(self) -> list[Utterance]:
        return read_pairs(
            find_pairs(Path(self.valid), self._config().mix.sample_rate)[:: self.every]
        )

    def _costs(self, configs: dict[str, RunConfig], out: Path) -> Iterator[Row]:
        """Yield a row per model; timed calls run in turn."""
        networks = {name: build_network(config.model) for name, config in configs.items()}
        paths = {name: _graph(network, name, out) for name, network in networks.items()}
        hops = race(
            {name: stepper(Engine(path)) for name, path in paths.items()}, self.seconds, group=GROUP
        )
        batch = next(iter(configs.values())).train.batch
        calls = {
            name: training.stepper(network, batch, "float32") for name, network in networks.items()
        }
        steps = race(calls, self.seconds, warmup=1)
        for name, network in networks.items():
            counted = cost(paths[name])
            yield {
                "model": name,
                "params": sum(parameter.numel() for parameter in network.parameters()),
                "macs": counted.macs,
                "state_bytes": counted.state_bytes,
                "p50": hops[name].median,
                "rate": batch * training.SEGMENT / steps[name].median,
            }


def _graph(network: Network, name: str, out: Path) -> Path:
    path = out / f"mixers-{name}.onnx"
    if not path.exists():
        export_stream(network.eval(), path, name=name, version=__version__)
    return path


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            {
                "model": row["model"],
                "seed": int(row["seed"]),
                **{metric: float(row[metric]) for metric in METRICS},
            }
            for row in csv.DictReader(file)
        ]


def _summary(model: str, runs: list[Row]) -> Row:
    """Return each metric as the mean over the seeds and, in brackets, its lowest and highest value."""
    runs, summary = [row for row in runs if row["model"] == model], Row()
    for metric, digits in DIGITS.items():
        values = [row[metric] for row in runs]
        if values:
            mean, low, high = (
                f"{value:.{digits}f}"
                for value in (sum(values) / len(values), min(values), max(values))
            )
            summary[metric] = f"{mean} ({low} to {high})"
    return summary


def _markdown(table: Table) -> str:
    rows = [
        [column.heading for column in table.columns],
        ["---"] * len(table.columns),
        *table.cells(),
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
