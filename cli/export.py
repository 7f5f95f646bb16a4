"""qse export: write a model folder, which runs without PyTorch, from a training run."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Overwrite, Trust, as_options, grouped
from .streams import say, tell

if TYPE_CHECKING:
    from qse.export.cost import ModelCost


@dataclass(frozen=True)
class Describing:
    """Hold what the card says, and how the model is scored."""

    data: Annotated[
        str,
        typer.Option(help="Training data: the end of the sentence `Trained on ...` of the card."),
    ] = ""
    faults: Annotated[str, typer.Option(help="Known faults: a sentence for the card.")] = ""
    licence: Annotated[str, typer.Option(help="Licence of the weights.")] = "Apache-2.0"
    valid: Annotated[
        Path | None, typer.Option(help="Folder with clean/ and noisy/: scores for the card.")
    ] = None


@dataclass(frozen=True)
class Graphs:
    """Choose the weights and the graphs that are made of them."""

    others: Annotated[
        list[Path] | None,
        typer.Option(
            "--mean-with",
            help="Another run from the same first weights: export the mean; may be repeated.",
        ),
    ] = None
    look_ahead: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="FRAMES", help="Look less far ahead than the run; 0: not at all."
        ),
    ] = None
    hops: Annotated[
        int, typer.Option(min=1, metavar="N", help="Hops of the network per step of the graph.")
    ] = 1
    two_grids: Annotated[
        bool,
        typer.Option(
            "--two-grids",
            help="Average the outputs on two grids of frames, half a hop apart: better, at the "
            "same latency and twice the cost.",
        ),
    ] = False
    many_streams: Annotated[
        bool,
        typer.Option(
            "--many-streams", help="Also write a graph for many streams in one call, for servers."
        ),
    ] = False


@grouped
def export(
    *,
    run: Annotated[Path, typer.Argument(help="Folder of a training run.")],
    folder: Annotated[Path, typer.Argument(help="Model folder to write, models/NAME.")],
    describing: Describing,
    graphs: Graphs,
    overwrite: Overwrite = False,
    trust: Trust = False,
) -> None:
    """Export a trained network to ONNX, with its weights, configuration and card."""
    from qse.errors import UsageError
    from qse.export.card import CardOptions
    from qse.export.graphs import GraphForm
    from qse.export.release import release
    from qse.references import trusting

    if graphs.many_streams and graphs.two_grids:
        raise UsageError("--many-streams and --two-grids exclude each other: leave one out")
    with trusting(trust):
        costs = release(
            run,
            folder,
            CardOptions(**vars(describing)),
            graphs.others or (),
            graphs.look_ahead,
            GraphForm(graphs.hops, graphs.two_grids, graphs.many_streams),
            overwrite,
        )
    _report(run, folder, costs)


def _report(run: Path, folder: Path, costs: "dict[int, ModelCost]") -> None:
    """Print the cost of each graph, and what the model lacks of the one that it began with."""
    from qse.export.origin import lacking
    from qse.networks.weights import weights_step

    step = weights_step(run)
    weights = f"step {step}" if step else "converted weights"
    for sample_rate, cost in costs.items():
        size = f"{cost.params:,} parameters, {cost.macs / 1e9:.2f} GMAC/s"
        tell(f"{folder}: {weights}, {sample_rate} Hz, {size}, RTF {cost.rtf:.3f}")
    for sentence in lacking(run, folder):
        say(f"qse: warning: {as_options(sentence)}")
