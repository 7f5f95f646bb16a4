"""qse info: list the installed models, the networks of the papers, or the metrics."""

from typing import Annotated

import typer

from qse.errors import QseError, UsageError
from qse.printable import printable

from .streams import tell


def info(
    topic: Annotated[
        str,
        typer.Argument(
            metavar="TOPIC",
            help="zoo: trained models; models: networks of the papers; metrics: of qse evaluate.",
        ),
    ] = "zoo",
) -> None:
    """List the installed models, the papers' networks, or the metrics.

    For each model: sample rate, latency, parameters, size, licence. For the papers' networks: size,
    MACs per second, row in the paper. For each metric: its heading in tables, the recordings that
    it compares the enhanced one with, the package that it needs, and whether it is computed only
    where it is named.
    """
    if topic not in TOPICS:
        raise UsageError(f"no topic called {topic}: there are {', '.join(TOPICS)}")
    TOPICS[topic]()


def _zoo() -> None:
    from rich.console import Console
    from rich.table import Table

    from qse.runtime.bands import FULL_BAND
    from qse.runtime.engine import Engine
    from qse.runtime.zoo import available, load

    table = Table(box=None, pad_edge=False)
    table.add_column("model", no_wrap=True)  # the name is what other commands take
    for heading in ("version", "sample rate", "latency", "parameters", "size", "licence"):
        table.add_column(heading)
    damaged = []
    for name in available():
        try:
            model = load(name)
            full = load(name, sample_rate=FULL_BAND)
        except QseError as error:
            damaged.append(str(error))
            continue
        latency = "whole files"
        if isinstance(model, Engine):
            latency = f"{1000 * model.delay:g} ms"
        rates = sorted({model.sample_rate, full.sample_rate})
        size = sum(path.stat().st_size for path in {model.path, full.path})
        row = (
            name,
            model.version,
            ", ".join(f"{rate / 1000:g}" for rate in rates) + " kHz",
            latency,
            full.metadata.get("params", ""),
            f"{size / 1024:.0f} KiB",
            model.metadata.get("licence", ""),
        )
        table.add_row(*map(printable, row))
    Console(markup=False).print(table)
    if damaged:
        raise QseError("; ".join(damaged))


def _models() -> None:
    from rich.console import Console
    from rich.table import Table

    from qse.extras import need

    need("torch", "train")
    models = need("qse_papers.networks.paper_models", "train")

    table = Table("model", "params", "paper", "MACs/s", "tables and row in the paper", box=None)
    for row in models.PAPER_MODELS:
        params, macs = models.count_cost(row.name)
        millions = f"{params / 1e6:.3f} M"
        giga = f"{macs / 1e9:.1f} G"
        table.add_row(row.name, millions, f"{row.params:.2f}", giga, f"{row.tables}: {row.paper}")
    Console().print(table)
    tell("MACs for one second of audio, STFT of 400 samples and hop 100.")


def _metrics() -> None:
    from rich.console import Console
    from rich.table import Table

    from qse.evaluate.metrics import METRICS

    table = Table(box=None)
    table.add_column("metric", no_wrap=True)
    for heading in ("heading", "compares with", "package", ""):
        table.add_column(heading)
    for name, metric in METRICS.items():
        package = metric.package.partition(".")[0]
        when = "on request" if metric.on_request else ""
        table.add_row(name, metric.title, ", ".join(metric.roles[1:]), package, when)
    Console().print(table)


TOPICS = {"zoo": _zoo, "models": _models, "metrics": _metrics}
