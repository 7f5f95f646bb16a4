"""qse experiment: run experiments of the papers at a size that takes minutes on two cores."""

from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from qse.errors import QseError
from qse.references import trusting

from .options import Trust
from .streams import tell

try:
    import qse_papers
except ModuleNotFoundError:  # a package of the program may leave the laboratory out
    qse_papers = None

ABSENT = (
    "the experiments are in the package qse_papers, which is not installed; "
    'install it with pip install "qse-speech[train,evaluate]", or from a checkout'
)


def experiment(
    name: Annotated[str, typer.Argument(help="Name of the experiment: see above.")],
    out: Annotated[
        Path,
        typer.Option(
            help="Folder for tables (CSV, Markdown) and pictures (PNG), which replace those of "
            "their names."
        ),
    ],
    full: Annotated[
        bool, typer.Option("--full", help="Use the paper's settings; hours to days.")
    ] = False,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="Set key=value; may be repeated.")
    ] = None,
    trust: Trust = False,
) -> None:
    """Run an experiment from the papers about quaternion layers at a small size."""
    if qse_papers is None:
        raise QseError(ABSENT)

    with trusting(trust):
        tell(qse_papers.experiment(name, out, change or [], full))


_NAMES = ", ".join(qse_papers.EXPERIMENTS) if qse_papers else "none are installed"
experiment.__doc__ = (
    f"{experiment.__doc__}\n\n\b\n"  # \b: lines as they are
    f"The experiments:\n{fill(_NAMES, 76, break_on_hyphens=False)}"
)
