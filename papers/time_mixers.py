"""Compare the time mixers and algebras of the streaming family: cost, and quality of training.

Cost is that of the exported graph, which does not depend on the values of weights. Quality: every
network is trained for the same steps of the recipe on the same batches, once per seed; its averaged
weights are scored on `valid`. All in one thread. Graphs and runs in the output folder are reused:
give another folder for another recipe.
"""

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import torch

from qse import __version__
from qse.audio.atomic_write import write_text
from qse.audio.folder_path import open_found
from qse.bench import train as training
from qse.bench.count import cost
from qse.bench.table import Column, Table
from qse.errors import QseError, UsageError
from qse.export.streaming import export_stream
from qse.networks import Network, build_network
from qse.networks.algebra import ALGEBRAS
from qse.networks.time_mixers import TIME_MIXERS
from qse.runtime.engine import Engine
from qse.runtime.timing import GROUP, Times, race, stepper
from qse.train.job import Job
from qse.train.recipe import RunConfig, find_recipe, read_config
from qse.train.validation import METRICS, validate
from qse.train.validation_pairs import Utterance, find_pairs, read_pairs

from .base import OnDevice
from .networks.count import parameter_count
from .results import Row, column, distinct, markdown_table, rows_with, write_table
from .speech_training import train_run

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
class Mixers(OnDevice):
    """Settings: every mixer over quaternions, and every other algebra with the recipe's mixer.

    Without folders of audio there is no training. Costs are those of the CPU. every: 3 scores a
    third of the pairs of `valid`.
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

    def run(self, out: Path) -> str:
        folders = (self.speech, self.noise, self.valid)
        if any(folders) and not all(folders):
            raise UsageError(
                "mixers trains on three folders: "
                "--set speech=SPEECH --set noise=NOISE --set valid=VALID"
            )
        torch.set_num_threads(1)
        configs: dict[str, RunConfig] = {}
        for name in self.mixers:
            configs[name] = self._config(f'model.time_mixer=["{name}"]')
        for name in self.algebras:
            configs[name] = self._config(f"model.algebra={name}")
        runs = self._runs(configs, out / "mixers-runs.csv", train=all(folders))
        rows: list[Row] = []
        for row in self._costs(configs, out):
            rows.append(row | _summary(row["model"], runs))
        write_table(out / "mixers.csv", rows)
        headings = [column.heading for column in COLUMNS]
        cells = Table("mixers", COLUMNS, rows).cells()
        text = markdown_table([headings, *cells])
        write_text(out / "mixers.md", text, source=None)
        return text.rstrip("\n")

    def _config(self, *changes: str) -> RunConfig:
        return read_config(find_recipe(self.recipe), list(changes))

    def _runs(self, configs: dict[str, RunConfig], path: Path, train: bool) -> list[Row]:
        """Return a row per model and seed: those of the file, and with `train` the missing ones."""
        rows = _read(path)
        known = distinct(rows, "model", "seed")
        for seed in self.seeds if train else ():
            for name, config in configs.items():
                if (name, seed) not in known:
                    quality = self._quality(config, seed, path.with_name(f"mixers-{name}-{seed}"))
                    rows.append({"model": name, "seed": seed} | quality)
                    write_table(path, rows)
        return rows

    def _quality(self, config: RunConfig, seed: int, folder: Path) -> Row:
        """Train a network from scratch; return the mean scores of its averaged weights."""
        job = Job(Path(self.speech), Path(self.noise), folder, device=self.device)
        config = replace(config, train=replace(config.train, seed=seed))
        network = train_run(config, job, folder.name)
        return validate(network, self._pairs, torch.device("cpu"))

    @cached_property
    def _pairs(self) -> list[Utterance]:
        return read_pairs(
            find_pairs(Path(self.valid), self._config().mix.sample_rate)[:: self.every]
        )

    def _costs(self, configs: dict[str, RunConfig], out: Path) -> Iterator[Row]:
        """Yield a row per model; timed calls run in turn."""
        networks: dict[str, Network] = {}
        paths: dict[str, Path] = {}
        engines: dict[str, Callable[[], object]] = {}
        for name, config in configs.items():
            networks[name] = build_network(config.model)
            paths[name] = _graph(networks[name], name, out)
            engines[name] = stepper(Engine(paths[name]))
        hops = race(engines, self.seconds, group=GROUP)
        steps = self._steps(networks, configs)
        for name, network in networks.items():
            counted = cost(paths[name])
            yield {
                "model": name,
                "params": parameter_count(network),
                "macs": counted.macs,
                "state_bytes": counted.state_bytes,
                "p50": hops[name].median,
                "rate": training.seconds_per_step(configs[name]) / steps[name].median,
            }

    def _steps(
        self, networks: dict[str, Network], configs: Mapping[str, RunConfig]
    ) -> dict[str, Times]:
        """Return the times of training steps."""
        calls = {}
        for name, network in networks.items():
            source = training.made_up(configs[name], torch.device("cpu"))
            calls[name] = training.stepper(network, configs[name], source, "float32")
        return race(calls, self.seconds, warmup=1)


def _graph(network: Network, name: str, out: Path) -> Path:
    path = out / f"mixers-{name}.onnx"
    if not path.exists():
        export_stream(network.eval(), path, name=name, version=__version__)
    return path


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    rows: list[Row] = []
    try:
        with open(path, newline="", opener=open_found) as file:
            for line in csv.DictReader(file):
                row: Row = {"model": line["model"], "seed": int(line["seed"])}
                for metric in METRICS:
                    row[metric] = float(line[metric])
                rows.append(row)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise QseError(f"{path} cannot be read ({error}); delete it") from error
    return rows


def _summary(model: str, runs: list[Row]) -> Row:
    """Return each metric as the mean over the seeds and, in brackets, its lowest and highest."""
    summary = Row()
    for metric, digits in DIGITS.items():
        values = column(rows_with(runs, model=model), metric)
        if values:
            mean = sum(values) / len(values)
            ends = f"{min(values):.{digits}f} to {max(values):.{digits}f}"
            summary[metric] = f"{mean:.{digits}f} ({ends})"
    return summary
