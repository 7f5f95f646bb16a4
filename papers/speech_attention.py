"""Do shared scores lose quality of speech? (Yamauchi et al. 2026, Table 2, sections 3.3 and 5.)

Arms are one network with another attention: shared scores, Hamilton attention, uniform scores (the
mean of the values), none; "-real" stands for real in place of quaternion projections to queries,
keys and values, the paper's premise. The runs of a seed train on the same batches. Margins are
fixed before: the paper's own, 0.05 WB-PESQ and 0.3 dB SI-SDR.

The experiment is sensitive to attention only where the uniform arm loses more than the margin; what
it says of shared scores is valid only there.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from qse.errors import QseError, UsageError
from qse.evaluate import METRICS, evaluate
from qse.train import Job, RunConfig, find_recipe, read_config
from qse.train.validation_pairs import find_pairs

from .base import OnDevice
from .networks.count import parameter_count
from .paired import Difference, difference
from .plots import new_grid, save
from .results import Row, column, markdown, write_markdown, write_table
from .speech_training import train_run
from .study import arm_values, listed, mean_and_deviation, run_all

OWN = "qse_papers.networks.speech_arms:"
ARMS = {  # arm -> `model.attention`
    "shared": "shared",
    "hamilton": "hamilton",
    "uniform": f"{OWN}UniformAttention",
    "none": f"{OWN}NoAttention",
    "shared-real": f"{OWN}RealSharedScoreAttention",
    "hamilton-real": f"{OWN}RealHamiltonAttention",
}
# with the network qse_papers.networks.published, whose arm "shared" is Eq. 10
KNOWN = ARMS | {"published": "published"}
DIGITS = {"pesq_wb": 3, "stoi": 4, "si_sdr": 2, "phase_error": 2, "frequency_error": 2}
COMPARISONS = (  # arm, and what it is compared with
    ("shared", "hamilton"),
    ("uniform", "hamilton"),
    ("none", "hamilton"),
    ("shared-real", "hamilton-real"),
    ("hamilton-real", "hamilton"),
    ("shared", "published"),
)
PREMISE = "(shared - hamilton) - (shared-real - hamilton-real)"
Compared = dict[tuple[str, str], Difference]  # by the name of the difference, and the metric


@dataclass(frozen=True)
class SpeechAttention(OnDevice):
    """Settings; the defaults are the pilot with the streaming network, FULL is the offline network.

    recipe, changes: of the training, "key=value" lines. hours: of audio in a run. speech, noise:
    folders to train on; cache: for decoded copies of them; valid: folder of pairs that are scored.
    """

    recipe: str = "live-tiny"
    changes: tuple[str, ...] = ()
    speech: str = ""
    noise: str = ""
    valid: str = ""
    cache: str = ""
    arms: tuple[str, ...] = tuple(ARMS)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    hours: float = 10.0
    pesq_margin: float = 0.05
    si_sdr_margin: float = 0.3  # dB

    FULL = {
        "recipe": "voicebank",
        "changes": ["model.network=qtransformer", "model.channels=8", "model.heads=2"],
        "hours": 6.0,
    }
    FREE = (*OnDevice.FREE, "cache")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_known("arms", KNOWN)
        if not any({arm, other} <= set(self.arms) for arm, other in COMPARISONS):
            raise ValueError(f"arms = {list(self.arms)}: nothing to compare; add hamilton")
        if len(self.seeds) < 2:
            raise ValueError(f"seeds = {list(self.seeds)}: an interval needs two")

    def run(self, out: Path) -> str:
        if not (self.speech and self.noise and self.valid):
            raise UsageError(
                "speech-attention trains on three folders: "
                "--set speech=SPEECH --set noise=NOISE --set valid=VALID"
            )
        train = partial(self._train, out)
        rows, _ = run_all(out / "speech-attention-runs.json", self, train)
        table = [_summary(arm, rows) for arm in self.arms]
        compared = self._compared(rows)
        write_table(out / "speech-attention-seeds.csv", rows)
        write_table(out / "speech-attention.csv", table)
        differences = _difference_table(compared)
        write_table(out / "speech-attention-differences.csv", differences)
        findings = [self._finding(metric, compared) for metric in self._margins]
        note = NOTE.format(self, listed(self.seeds))
        notes = (note, markdown(differences), NOTE_DIFFERENCES, *findings)
        write_markdown(out / "speech-attention.md", table, *notes)
        self._plot(out / "speech-attention.png", compared)
        return "; ".join(findings)

    @property
    def _margins(self) -> dict[str, float]:
        """Return by how much an arm may be worse."""
        return {"pesq_wb": self.pesq_margin, "si_sdr": self.si_sdr_margin}

    def _config(self, arm: str, seed: int) -> RunConfig:
        """Return the recipe of a run; the plateau of the learning rate keeps its share of steps."""
        changes = [*self.changes, f"model.attention={KNOWN[arm]}"]
        config = read_config(find_recipe(self.recipe), changes)
        plan = config.train
        steps = max(1, round(3600 * self.hours / (plan.batch * config.mix.segment)))
        plateau = plan.plateau_steps
        if plan.steps:
            plateau = round(plateau * steps / plan.steps)
        return replace(config, train=replace(plan, seed=seed, steps=steps, plateau_steps=plateau))

    def _train(self, out: Path, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        """Train an arm, or continue its run, and score it on the pairs of `valid`."""
        config = self._config(arm, seed)
        job = Job(
            speech=Path(self.speech),
            noise=Path(self.noise),
            out=out / f"{arm}-{seed}",
            device=self.device,
            cache=Path(self.cache) if self.cache else None,
        )
        network = train_run(config, job, title)
        pairs = find_pairs(Path(self.valid), config.mix.sample_rate)
        scores = evaluate(network, pairs, metrics=list(DIGITS))
        for name, error in scores.failed.items():
            raise QseError(
                f"{name}: cannot be scored ({error}); leave the pair out of {self.valid}"
            )
        return {"parameters": parameter_count(network)} | scores.means, []

    def _compared(self, rows: list[Row]) -> Compared:
        """Return the paired differences of all arms that are there, by their name and metric."""
        compared: Compared = {}
        for metric in DIGITS:
            scores = {arm: arm_values(rows, arm, metric) for arm in self.arms}
            for arm, reference in COMPARISONS:
                if arm in scores and reference in scores:
                    found = difference(scores[arm], scores[reference])
                    compared[f"{arm} - {reference}", metric] = found
            if {"shared", "hamilton", "shared-real", "hamilton-real"} <= scores.keys():
                quaternion = np.subtract(scores["shared"], scores["hamilton"])
                real = np.subtract(scores["shared-real"], scores["hamilton-real"])
                compared[PREMISE, metric] = difference(quaternion.tolist(), real.tolist())
        return compared

    def _finding(self, metric: str, compared: Compared) -> str:
        """Return what the experiment says of shared scores by one metric."""
        title = METRICS[metric].title
        margin = self._margins[metric]
        uniform = compared.get(("uniform - hamilton", metric))
        shared = compared.get(("shared - hamilton", metric))
        if uniform is None or shared is None:
            return f"{title}: not valid, the arms shared, hamilton and uniform are not all there"

        control = f"uniform - hamilton {uniform.text(DIGITS[metric])}"
        if uniform.verdict(margin) != "loss":
            return (
                f"{title}: not valid, the uniform arm does not lose more than {margin:g}: {control}"
            )
        found = f"{shared.verdict(margin)} at a margin of {margin:g}"
        shown = f"shared - hamilton {shared.text(DIGITS[metric])}"
        return f"{title}: {found}: {shown} (valid: {control})"

    def _plot(self, path: Path, compared: Compared) -> None:
        """Draw the differences with their intervals, and the margins."""
        names = column(_difference_table(compared), "difference")
        figure, axes = new_grid(10.0, 1.4 + 0.45 * len(names), len(self._margins))
        for axis, (metric, margin) in zip(axes, self._margins.items(), strict=True):
            for place, name in enumerate(names):
                found = compared[name, metric]
                axis.plot([found.low, found.high], [place, place], color=f"C{place}")
                axis.plot(found.mean, place, "o", color=f"C{place}")
            axis.axvline(0, color="grey", linewidth=1)
            axis.axvline(-margin, color="black", linestyle="--", linewidth=1, label="margin")
            axis.set_yticks(range(len(names)), names, fontsize=8)
            axis.set_xlabel(f"difference of {METRICS[metric].title}, 95 % interval over seeds")
            axis.legend(frameon=False, fontsize=8)
        save(figure, path)


def _summary(arm: str, rows: list[Row]) -> Row:
    """Return the mean scores of an arm."""
    row: Row = {"arm": arm, "parameters": arm_values(rows, arm, "parameters")[0]}
    for metric, digits in DIGITS.items():
        row[METRICS[metric].title] = mean_and_deviation(arm_values(rows, arm, metric), digits)
    return row


def _difference_table(compared: Compared) -> list[Row]:
    """Return a row per comparison, a column per metric."""
    table: dict[str, Row] = {}
    for (name, metric), found in compared.items():
        row = table.setdefault(name, {"difference": name})
        row[METRICS[metric].title] = found.text(DIGITS[metric])
    return list(table.values())


NOTE = (
    "Means over seeds {1} ± standard deviation; recipe {0.recipe}, {0.hours:g} h of audio in a "
    "run, averaged weights of the last step. The runs of a seed train on the same batches. "
    "uniform: the mean of the values in place of scores; none: the output layer of the attention "
    "alone; -real: real in place of quaternion projections to queries, keys and values."
)
NOTE_DIFFERENCES = (
    "Paired differences with 95 % intervals over seeds (Student). Of errors of phase and frequency "
    "the lower is better. The last row, where it is there, is the paper's premise: what real "
    "projections change in the loss by shared scores."
)
