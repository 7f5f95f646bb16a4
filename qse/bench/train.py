"""Measure the speed of training: whole steps of the trainer, as in a run, and mixing alone."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count

import numpy as np
import torch

from ..data import open_sources
from ..data.corpus import Corpus
from ..data.source import Batch, BatchSource
from ..losses.weighted_sum import as_loss
from ..machine import machine
from ..networks import Network
from ..runtime.timing import race
from ..train.assembly import trainer_of
from ..train.recipe import RunConfig
from ..train.train_config import Precision
from . import Request, torch_threads
from .models import network, recipe
from .table import Column, Table

PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16")
SPEAKERS = 4
RECORDING = 10.0  # seconds
MIXING = "mixing"  # in the place of a precision

COLUMNS = (
    Column("model", "network"),
    Column("device", "device"),
    Column("precision", "precision"),
    Column("batch", "batch", ".0f"),
    Column("mixing", "mixing ms", ".0f", 1e3),
    Column("median", "step ms", ".0f", 1e3),
    Column("rate", "audio s / s", ".1f"),
)


def bench(request: Request) -> Table:
    """Time the steps of recipes or networks by name; by default those of the streaming network and
    qconformer."""
    names = request.models or ("streaming", "qconformer")
    devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    rows: list[dict] = []
    with torch_threads(request.threads):
        for device in devices:
            rows += _rows(names, torch.device(device), request.seconds)
    notes = (
        "Step: mixing, network, losses, gradients and optimisers, as the recipe says, of noise in "
        "place of recordings; graphs of a GPU are recorded before.",
    )
    return Table("train", COLUMNS, rows, machine(request.threads), notes)


def _rows(names: tuple[str, ...], device: torch.device, seconds: float) -> Iterator[dict]:
    """Yield a row per network and precision."""
    calls: dict[tuple[str, str], Callable[[], object]] = {}
    configs = {name: recipe(name) for name in names}
    for name, config in configs.items():
        source = made_up(config, device)
        calls[name, MIXING] = _timed(partial(_mix, source, config.train.batch, count()), device)
        for precision in PRECISIONS:
            model = network(name).to(device)
            calls[name, precision] = _timed(stepper(model, config, source, precision), device)
    times = race(calls, seconds, warmup=1)
    for name, config in configs.items():
        for precision in PRECISIONS:
            median = times[name, precision].median
            yield {
                "model": name,
                "device": device.type,
                "precision": precision,
                "batch": config.train.batch,
                "mixing": times[name, MIXING].median,
                "median": median,
                "rate": seconds_per_step(config) / median,
            }


def seconds_per_step(config: RunConfig) -> float:
    """Return the seconds of audio of one step."""
    return config.train.batch * config.train.accumulate * config.mix.segment


def stepper(
    network: Network, config: RunConfig, source: BatchSource, precision: Precision
) -> Callable[[], object]:
    """Return a call that takes one step of a training of `network`, on the device of its
    weights."""
    device = next(network.parameters()).device
    plan = replace(config.train, precision=precision, steps=1 << 30).counted(1, 1.0, 1)

    def batches(step: int, share: int) -> Batch:
        return source.batch(step, plan.batch, share)

    return trainer_of(network, as_loss(config.loss), plan, batches, device).step


def made_up(config: RunConfig, device: torch.device) -> BatchSource:
    """Return a source of batches of a recipe, from noise that comes in syllables."""
    generator = np.random.default_rng(0)
    corpora = {}
    for rate in {config.mix.sample_rate, open_sources.WIDE_BAND}:
        time = np.arange(round(RECORDING * rate)) / rate
        syllables = 3000 * np.maximum(0.0, np.sin(2 * np.pi * 3 * time))
        recordings = []
        for _ in range(SPEAKERS):
            white = generator.standard_normal(len(time))
            recordings.append((syllables * white).clip(-32768, 32767).astype(np.int16))
        groups = [str(speaker) for speaker in range(SPEAKERS)]
        corpora["speech", rate] = corpora["noise", rate] = Corpus.of(recordings, groups, rate)
    make = open_sources.mixing(config.mix, config.train.seed, device, config.train.wide_band_share)
    return make(corpora)


def _mix(source: BatchSource, size: int, steps: Iterator[int]) -> object:
    return source.batch(next(steps), size)


def _timed(call: Callable[[], object], device: torch.device) -> Callable[[], object]:
    """Return the call, which waits for the GPU where there is one."""

    def timed() -> None:
        call()
        if device.type == "cuda":
            torch.cuda.synchronize()

    return timed
