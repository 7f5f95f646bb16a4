"""Attention of trained networks: agreement of components and similarity of outputs.

Yamauchi et al. 2026, section 5: Eq. 20, Tables 4, 10, 11 and Figure 2 (agreement), Table 5, Figures
3 and 4 (outputs of shared scores and of Hamilton attention). Networks: those of `sentiment`,
trained on SST-2 with each seed, or with `models` those of runs on speech. Controls: networks with
random weights, others of the same kind, and uniform attention, a plain mean of the values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import torch
from torch import Tensor, nn

from qse.data.datasets import audio_files
from qse.errors import UsageError
from qse.evaluate.reading import read_rate

from .agreement import Agreement, agreement
from .agreement_tables import CHANCE, by_head, by_pair, by_top
from .attention_capture import Layers, load_speech_network, speech_signals, text_signals, untrained
from .attention_outputs import output, same_inputs, trained_apart, trained_networks
from .attention_plots import Panel, plot_agreement, plot_maps, plot_outputs
from .progress import progress
from .results import Row, markdown, write_markdown, write_table
from .sentiment import Sentiment, TextTraining

KINDS = {"shared": "shared", "hamilton": "full"}  # scores -> arm of `sentiment`
TOPS = (1, 5)
RATE = 16000


@dataclass(frozen=True)
class AttentionAnalysis(TextTraining):
    """Settings; FULL holds the sizes of appendix E.2.

    Networks of `sentiment` are used where `out` holds them. texts: sentences of `valid` that are
    analysed. models: folders of runs, qtransformer-hamilton and qtransformer, in place of the
    texts; audio: folder of recordings that they are analysed on: `files` of them, the first
    `seconds` of each.
    """

    seeds: tuple[int, ...] = (0, 1)
    texts: int = 200
    models: tuple[str, ...] = ()
    audio: str = ""
    files: int = 4
    seconds: float = 2.0

    FULL = {"epochs": 20, "learning_rate": 3e-4, "texts": 872, "seeds": [0, 1, 2]}

    def __post_init__(self) -> None:
        super().__post_init__()
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
        name = trained_networks(captured, "hamilton")[0]
        layer, signals = next(iter(captured[name][0].items()))
        plot_maps(out / "attention-maps.png", f"{name}, {layer}", signals, "key", "query")
        plot_outputs(out / "attention-outputs.png", _panels(captured), outputs)
        first = tops[0]
        apart = outputs[0]
        return (
            f"{first['weights']}: top-1 agreement {first['agreement %']} % "
            f"(chance {first['chance %']}, marginal {first['marginal %']}); "
            f"{apart['outputs']}: quantile correlation {apart['quantile correlation']:.4f}, "
            f"correlation {apart['correlation']:.3f}"
        )

    def _sentiment(self) -> Sentiment:
        """Return the experiment `sentiment` with the settings that both have."""
        shared = {field.name: getattr(self, field.name) for field in fields(TextTraining)}
        return Sentiment(arms=tuple(KINDS.values()), **shared)

    def _text(self, out: Path) -> dict[str, list[Layers]]:
        """Train both kinds with each seed; return the signals of these networks by name.

        Those of untrained networks are added.
        """
        sentiment = self._sentiment()
        trained = sentiment.trained(out)
        words, _, (inputs, _) = sentiment.examples()
        tokens = inputs[0][: self.texts]
        captured: dict[str, list[Layers]] = {}
        for kind, arm in KINDS.items():
            for seed in self.seeds:
                captured[f"{kind}, seed {seed}"] = [text_signals(trained[arm, seed].eval(), tokens)]
            torch.manual_seed(self.seeds[0])
            network = sentiment.network(arm, words).eval()
            captured[f"{kind}, random weights"] = [text_signals(network, tokens)]
        return captured

    def _speech(self) -> dict[str, list[Layers]]:
        """Return the signals of the networks of `models` and of untrained ones, by name.

        A list has an entry per recording.
        """
        recordings = self._recordings()
        networks: dict[str, nn.Module] = {}
        for folder in map(Path, self.models):
            kind, network = load_speech_network(folder, self.device)
            if kind in KINDS:
                networks[f"{kind}, {folder.name}"] = network
                unknown = untrained(folder, self.seeds[0]).to(self.device)
                networks.setdefault(f"{kind}, random weights", unknown)
        if not trained_networks(networks, "hamilton"):
            raise UsageError(
                f"models = {list(self.models)}: one of them must be a qtransformer-hamilton"
            )
        captured: dict[str, list[Layers]] = {}
        with progress("recordings", len(networks) * len(recordings)) as advance:
            for name, network in networks.items():
                captured[name] = []
                for audio in recordings:
                    captured[name].append(speech_signals(network, audio))
                    advance()
        return captured

    def _recordings(self) -> list[Tensor]:
        if not self.audio:
            raise UsageError(
                "models need recordings: --set audio=FOLDER, for example the noisy files of valid"
            )
        samples = round(self.seconds * RATE)
        found: list[Tensor] = []
        for path in audio_files(Path(self.audio))[: self.files]:
            found.append(torch.from_numpy(read_rate(path, RATE)).float()[None, :samples])
        return found

    def _agreement(self, captured: dict[str, list[Layers]]) -> list[Row]:
        """Return a row per Hamilton network, layer, number of keys, head and pair.

        Behind them are those of uniform attention.
        """
        names = [name for name in captured if name.startswith("hamilton")]
        torch.manual_seed(self.seeds[0])
        rows: list[Row] = []
        with progress("agreement", len(names) + 1) as advance:
            for name in names:
                rows += _rates(name, captured[name])
                advance()
            rows += _rates(CHANCE, captured[names[0]], uniform=True)
            advance()
        return rows


def _panels(captured: dict[str, list[Layers]]) -> list[Panel]:
    """Return what Figures 3 and 4 compare."""
    shared = trained_networks(captured, "shared")
    hamilton = trained_networks(captured, "hamilton")
    panels: list[Panel] = []
    if shared:
        x = output(captured[shared[0]], "shared")
        y = output(captured[hamilton[-1]], "hamilton")
        panels.append(Panel("trained apart", x, y, shared[0], hamilton[-1]))
    for name in (*shared[:1], hamilton[0]):
        for other in ("hamilton", "uniform"):
            x = output(captured[name], "shared")
            y = output(captured[name], other)
            panels.append(Panel(f"q, k, v of {name}", x, y, "shared formula", f"{other} formula"))
    return panels


def _rates(name: str, inputs: Sequence[Layers], uniform: bool = False) -> list[Row]:
    """Return rows of the agreement, of all inputs together.

    uniform: of weights that are equal up to random noise.
    """
    sums: dict[tuple[str, int], Agreement] = {}
    for layers in inputs:
        for layer, signals in layers.items():
            weights = signals.weights("hamilton")
            if uniform:
                weights = torch.rand_like(weights)
            for top in TOPS:
                found = agreement(weights, signals.seen, top)
                before = sums.get((layer, top))
                sums[layer, top] = before + found if before else found
    rows: list[Row] = []
    for (layer, top), total in sums.items():
        for row in total.rows():
            rows.append({"weights": name, "layer": layer, "top": top} | row)
    return rows


NOTE_TOP = (
    "Table 11. Agreement of the K keys with the largest weight, over queries, layers, heads and "
    "pairs of components, ± standard deviation over layers, heads and pairs. chance: K / T, what K "
    "keys drawn at random have in common; ratio: agreement / chance. marginal: agreement for keys "
    "drawn as often as each component chooses them in that sequence, but independently. Uniform "
    "attention has no largest weight: its keys are drawn at random."
)
NOTE_PAIR = (
    "Table 4. Top-1 agreement in percent by pair of components, ± standard deviation over layers "
    "and heads."
)
NOTE_HEAD = (
    "Table 10. Top-1 agreement in percent by layer and head, ± standard deviation over the six "
    "pairs; by component: mean of its three pairs."
)
NOTE_OUTPUTS = (
    "Table 5, Figures 3 and 4. The paper's values are those of its own networks, for comparison. A "
    "quantile correlation near 1 means that two distributions have the same shape, not that two "
    "outputs are alike. Compare with the rows of random weights, of another seed, and of uniform "
    "attention. Networks that begin with the same weights have correlated outputs; so do those "
    "with random weights."
)
