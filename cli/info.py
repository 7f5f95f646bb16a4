"""qse info: what is there to use, as a table."""

from typing import Annotated

import typer

from qse.errors import UsageError


def info(
    topic: Annotated[str, typer.Argument(help="What to list: zoo (the trained models).", show_default=True)] = "zoo",
) -> None:
    """List the trained models: sample rate, latency, parameters, size."""
    if topic not in TOPICS:
        raise UsageError(f"no topic called {topic}: there is {', '.join(TOPICS)}")
    TOPICS[topic]()


def _zoo() -> None:
    from rich.console import Console
    from rich.table import Table

    from qse.zoo import available, load

    table = Table("model", "version", "sample rate", "latency", "parameters", "size", "licence", box=None)
    for name in available():
        engine = load(name)
        latency = 1000 * (engine.latency + engine.hop_length) / engine.sample_rate
        table.add_row(
            name,
            engine.version,
            f"{engine.sample_rate} Hz",
            f"{latency:g} ms",
            engine.metadata.get("params", ""),
            f"{engine.path.stat().st_size / 1024:.0f} KiB",
            engine.metadata.get("licence", ""),
        )
    Console().print(table)


TOPICS = {"zoo": _zoo}
