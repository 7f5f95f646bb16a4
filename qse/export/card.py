"""Write the card of a model: what it is, what it costs, how it was trained and scored, its known
faults."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..data.multi_rate import WIDE_BAND
from ..machine import processor
from ..networks import Network, TwoGrids
from ..printable import shortened
from ..train.recipe import RunConfig
from ..train.validation import UNKNOWN
from .cost import ModelCost

# title, key, digits
SCORES = (
    ("WB-PESQ", "pesq_wb", 3),
    ("STOI", "stoi", 4),
    ("SI-SDR dB", "si_sdr", 2),
)

PLACEHOLDERS = "--speech SPEECH --noise NOISE --valid VALID"
LONGEST_OPTIONS = 1000  # characters


@dataclass(frozen=True)
class CardOptions:
    """Hold what a card says and the run does not give.

    data: a sentence on what the model was trained on; faults: on what it is known to do badly.
    valid: pairs whose scores are shown; None: the scores of the run's own validation are.
    """

    data: str = ""
    faults: str = ""
    licence: str = "Apache-2.0"
    valid: Path | None = None


@dataclass(frozen=True)
class Card:
    """Everything that a card is written from.

    header: that of the weights, as the trainer wrote it. costs: by the sample rate of the graph in
    Hz. scores: means over validation pairs; empty: none are given.
    """

    name: str
    network: Network
    config: RunConfig
    header: Mapping[str, str]
    costs: Mapping[int, ModelCost]
    options: CardOptions
    scores: Mapping[str, str | float] = field(default_factory=dict)

    def text(self) -> str:
        """Return the card as Markdown."""
        kind = "Streaming speech" if self.network.streams else "Speech"
        lines = [
            f"# {self.name}",
            "",
            f"{kind} enhancement: one channel of noisy speech in, enhanced speech out.",
            "",
            "| | |",
            "|---|---|",
        ]
        for key, value in self._rows():
            lines.append(f"| {key} | {value} |")
        for paragraph in self._paragraphs():
            lines += ["", paragraph]
        return "\n".join([*lines, ""])

    def _rows(self) -> Iterator[tuple[str, str]]:
        costs = self.costs.values()
        yield "sample rate", " / ".join(f"{rate} Hz" for rate in self.costs)
        yield "algorithmic latency", self._latency()
        if isinstance(self.network, TwoGrids):
            yield "frames", "mean of the outputs on two grids, half a hop of the network apart"
        yield "parameters", f"{max(cost.params for cost in costs):,}"
        macs = self._each(lambda cost: f"{cost.macs / 1e9:.2f}")
        yield "multiply-accumulates", f"{macs} G per second of audio"
        sizes = []
        times = []
        for cost in costs:
            if cost.hop:
                sizes.append(f"{cost.hop.state_bytes / 1024:.0f}")
                times.append(f"p50 {1e6 * cost.hop.p50:.0f} µs, p99 {1e6 * cost.hop.p99:.0f} µs")
        if times:
            yield "state", " / ".join(sizes) + " KiB"
            yield "time per hop, one thread", " / ".join(times)
        rtf = self._each(lambda cost: f"{cost.rtf:.3f}")
        yield "RTF, one thread", f"{rtf} ({processor()})"
        yield "training", self._training()
        yield "licence", self.options.licence

    def _each(self, text: Callable[[ModelCost], str]) -> str:
        """Join the texts for the costs at the sample rates of the model."""
        return " / ".join(text(cost) for cost in self.costs.values())

    def _paragraphs(self) -> Iterator[str]:
        for pairs, prefix in (
            ("Validation pairs", ""),
            ("Validation pairs of unknown sources", UNKNOWN),
        ):
            scores = []
            for title, key, digits in SCORES:
                if prefix + key in self.scores:
                    scores.append(f"{title} {float(self.scores[prefix + key]):.{digits}f}")
            if scores:
                yield f"{pairs}, mean: {', '.join(scores)}"
        if self.options.data:
            yield f"Trained on {self.options.data}"
        if self.options.faults:
            yield f"Known faults: {self.options.faults}"
        yield from self._reproduction()

    def _latency(self) -> str:
        for cost in self.costs.values():
            if cost.hop:
                return f"{1000 * cost.hop.delay:g} ms (hop {1000 * cost.hop.length:g} ms)"
        return "whole recordings"

    def _training(self) -> str:
        # hours of the origin are counted too
        header = self.header
        if "step" not in header:
            return f"not by qse: converted weights{self._mean()}"
        origin = shortened(header.get("origin", ""))
        skipped = int(header.get("skipped", 0))  # their gradients were not finite
        steps = f"{int(header['step'])} steps" + (f" ({skipped} left out)" if skipped else "")
        steps += f" after those of {origin}, in all " if origin else ", "
        audio = int(header["heard"]) / WIDE_BAND
        hours = f"{float(header['seconds']) / 3600:.1f} h for {audio / 3600:.1f} h of audio"
        return f"{steps}{hours}, seed {self.config.train.seed}{self._mean()}"

    def _mean(self) -> str:
        others = self.header.get("mean_with")
        return f"; mean with the weights of {shortened(others)}" if others else ""

    def _reproduction(self) -> Iterator[str]:
        """Yield a sentence and the command that repeats the last run; nothing where there was
        none."""
        header = self.header
        if "step" not in header:
            return
        origin = header.get("origin", "")
        words = ["qse", "train", "--recipe", "config.toml"]
        words += _words(header.get("options", PLACEHOLDERS))
        words += ["--out", "RUN", *(["--from", origin] if origin else [])]
        again = "Its last run" if origin or "mean_with" in header else "To train it again"
        again += ", which began with the release before this one" if origin == self.name else ""
        yield f"{again} (`config.toml` lies beside this card):"
        yield f"    {shlex.join(map(shortened, words))}"


def _words(options: str) -> list[str]:
    """Return the words of the options of a run: those of PLACEHOLDERS in the place of a long text,
    one where quotes do not pair."""
    try:
        return shlex.split(options if len(options) < LONGEST_OPTIONS else PLACEHOLDERS)
    except ValueError:
        return [options]
