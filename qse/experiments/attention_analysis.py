"""Attention of trained networks: agreement of components and similarity of outputs (Yamauchi et al. 2026, section 5).

Eq. 20, Tables 4, 10, 11 and Figure 2 (agreement), Table 5, Figures 3 and 4 (outputs of shared scores and of Hamilton
attention). Networks: those of `sentiment`, trained on SST-2 with each seed, or with `models` those of runs on speech.
Controls: networks with random weights, others of the same kind, and uniform attention, a plain mean of the values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from ..data.datasets import audio_files
from ..errors import UsageError
from ..evaluate.reading import read_rate
from .agreement import Agreement, agreement
from .agreement_tables import CHANCE, by_head, by_pair, by_top
from .attention_capture import Layers, load_speech_network, speech_signals, text_signals, untrained
from .attention_outputs import output, same_inputs, trained_apart
from .attention_plots import plot_agreement, plot_maps, plot_outputs
from .progress import progress
from .results import Row, markdown, write_markdown, write_table
from .sentiment import Sentiment

KINDS = {"shared": "shared", "hamilton": "full"}  # scores -> arm of `sentiment`
TOPS = (1, 5)
RATE = 16000


@dataclass(frozen=True)
class AttentionAnalysis:
    """Settings; FULL holds the sizes of appendix E.2.

    train, valid, dim ... seeds: as in `sentiment`, whose networks are used where `out` holds them; texts: sentences of
    `valid` that are analysed. models: folders of runs, qtransformer-hamilton and qtransformer, in place of the texts;
    audio: folder of recordings that they are analysed on: `files` of them, the first `seconds` of each.
    """

    train: str = ""
    valid: str = ""
    models: tuple[str, ...] = ()
    audio: str = ""
    files: int = 4
    seconds: float = 2.0
    texts: int = 200
    dim: int = 128
    feed: int = 512
    heads: int = 4
    layers: int = 2
    vocabulary: int = 8000
    length: int = 64
    epochs: int = 1
    batch: int = 32
    learning_rate: float = 5e-4
    seeds: tuple[int, ...] = (0, 1)

    FULL: ClassVar[dict] = {"epochs": 20, "learning_rate": 3e-4, "texts": 872, "seeds": [0, 1, 2]}

    def __post_init__(self) -> None:
        if len(self.seeds) < 2:
            raise ValueError(f"seeds = {list(self.seeds)}: the comparison needs two")
        self._sentiment()

    def run(self, out: Path) -> str:
        captured = self._speech() if self.models else self._text(out)
        domain = "speech" if self.models else "text"
        rates = self._agreement(captured)
        write_table(out / "attention-agreement.csv", rates)
        outputs = [*trained_apart(captured, domain), *same_inputs(captured, domain)]
        write_table(out / "attention-outputs.csv", outputs)
        tops = by_top(rates)
        notes = (NOTE_TOP, markdown(by_pair(rates)), NOTE_PAIR, markdown(by_head(rates)), NOTE_HEAD)
        write_markdown(out / "attention-analysis.md", tops, *notes, markdown(outputs), NOTE_OUTPUTS)
        plot_agreement(out / "attention-agreement.png", rates)
        name = next(name for name in captured if name.startswith("hamilton"))
        layer, signals = next(iter(captured[name][0].items()))
        plot_maps(out / "attention-maps.png", f"{name}, {layer}", signals, "key", "query")
        plot_outputs(out / "attention-outputs.png", *self._drawn_outputs(captured, outputs))
        first, apart = tops[0], outputs[0]
        return (
            f"{first['weights']}: top-1 agreement {first['agreement %']} % (chance {first['chance %']}, "
            f"marginal {first['marginal %']}); {apart['outputs']}: quantile correlation "
            f"{apart['quantile correlation']:.4f}, correlation {apart['correlation']:.3f}"
        )

    def _sentiment(self) -> Sentiment:
        names = (
            "train",
            "valid",
            "dim",
            "feed",
            "heads",
            "layers",
            "vocabulary",
            "length",
            "epochs",
            "batch",
        )
        shared = {name: getattr(self, name) for name in (*names, "learning_rate", "seeds")}
        return Sentiment(arms=tuple(KINDS.values()), **shared)

    def _text(self, out: Path) -> dict[str, list[Layers]]:
        """Train both kinds with each seed; return the signals of these networks and of untrained ones, by name."""
        sentiment = self._sentiment()
        trained, captured = sentiment.trained(out), {}
        words, _, valid = sentiment.examples()
        tokens = valid[0][0][: self.texts]
        for kind, arm in KINDS.items():
            for seed in self.seeds:
                captured[f"{kind}, seed {seed}"] = [text_signals(trained[arm, seed].eval(), tokens)]
            torch.manual_seed(self.seeds[0])
            captured[f"{kind}, random weights"] = [
                text_signals(sentiment.network(arm, words).eval(), tokens)
            ]
        return captured

    def _speech(self) -> dict[str, list[Layers]]:
        """Return the signals of the networks of `models` and of untrained ones, by name, a list entry per recording."""
        recordings = self._recordings()
        networks = {}
        for folder in map(Path, self.models):
            kind, network = load_speech_network(folder)
            if kind in KINDS:
                networks[f"{kind}, {folder.name}"] = network
                networks.setdefault(f"{kind}, random weights", untrained(folder, self.seeds[0]))
        if not any(name.startswith("hamilton") for name in networks):
            raise UsageError(
                f"models = {list(self.models)}: one of them must be a qtransformer-hamilton"
            )
        with progress("recordings", len(networks) * len(recordings)) as advance:
            captured: dict[str, list[Layers]] = {name: [] for name in networks}
            for name, network in networks.items():
                for audio in recordings:
                    captured[name].append(speech_signals(network, audio))
                    advance()
        return captured

    def _recordings(self) -> list[Tensor]:
        if not self.audio:
            raise UsageError(
                "models need recordings: --set audio=FOLDER, for example the noisy files of valid"
            )
        found = []
        for path in audio_files(Path(self.audio))[: self.files]:
            found.append(
                torch.from_numpy(read_rate(path, RATE)).float()[None, : round(self.seconds * RATE)]
            )
        return found

    def _agreement(self, captured: dict[str, list[Layers]]) -> list[Row]:
        """Return a row per Hamilton network, layer, number of keys, head and pair; then those of uniform attention."""
        names = [name for name in captured if name.startswith("hamilton")]
        torch.manual_seed(self.seeds[0])
        rows = []
        with progress("agreement", len(names) + 1) as advance:
            for name in names:
                rows += _rates(name, captured[name])
                advance()
            rows += _rates(CHANCE, captured[names[0]], uniform=True)
            advance()
        return rows

    def _drawn_outputs(
        self, captured: dict[str, list[Layers]], rows: list[Row]
    ) -> tuple[list[tuple], list[Row]]:
        """Return what Figures 3 and 4 compare: (title, outputs, names of the axes); and the rows of all comparisons."""
        names = [name for name in captured if "random" not in name]
        shared = next((name for name in names if name.startswith("shared")), None)
        hamilton = [name for name in names if name.startswith("hamilton")]
        panels = []
        if shared:
            apart = [
                output(captured[name], name.partition(",")[0]) for name in (shared, hamilton[-1])
            ]
            panels.append(("trained apart", *apart, shared, hamilton[-1]))
        for name in [shared, hamilton[0]] if shared else hamilton[:1]:
            for a, b in (("shared", "hamilton"), ("shared", "uniform")):
                pair = [output(captured[name], formula) for formula in (a, b)]
                panels.append((f"q, k, v of {name}", *pair, f"{a} formula", f"{b} formula"))
        return panels, rows


def _rates(name: str, inputs: Sequence[Layers], uniform: bool = False) -> list[Row]:
    """Return rows of the agreement, of all inputs together; uniform: of weights that are equal up to random noise."""
    sums: dict[tuple[str, int], Agreement] = {}
    for layers in inputs:
        for layer, signals in layers.items():
            weights = signals.weights("hamilton")
            weights = torch.rand_like(weights) if uniform else weights
            for top in TOPS:
                found = agreement(weights, signals.seen, top)
                sums[layer, top] = sums[layer, top] + found if (layer, top) in sums else found
    return [
        {"weights": name, "layer": layer, "top": top} | row
        for (layer, top), a in sums.items()
        for row in a.rows()
    ]


NOTE_TOP = (
    "Table 11. Agreement of the K keys with the largest weight, over queries, layers, heads and pairs of components, ± "
    "standard deviation over layers, heads and pairs. chance: K / T, what K keys drawn at random have in common; "
    "ratio: agreement / chance. marginal: agreement for keys drawn as often as each component chooses them in "
    "that sequence, but independently. Uniform attention has no largest weight: its keys are drawn at random."
)
NOTE_PAIR = "Table 4. Top-1 agreement in percent by pair of components, ± standard deviation over layers and heads."
NOTE_HEAD = (
    "Table 10. Top-1 agreement in percent by layer and head, ± standard deviation over the six pairs; by component: "
    "mean of its three pairs."
)
NOTE_OUTPUTS = (
    "Table 5, Figures 3 and 4. The paper's values are those of its own networks, for comparison. A quantile "
    "correlation near 1 means that two distributions have the same shape, not that two outputs are alike. Compare with "
    "the rows of random weights, of another seed, and of uniform attention. Networks that begin with the same weights "
    "have correlated outputs; so do those with random weights."
)
