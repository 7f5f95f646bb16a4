"""Classification of spoken digits, in place of the phonemes of TIMIT.

Parcollet et al. 2019, section 3.2, Tables 1, 2. Compares quaternion and real recurrent networks on
the features of Eq. 25. `data` is a folder of the Free Spoken Digit Dataset:
DIGIT_SPEAKER_NUMBER.wav. A seed is a fold: its two test speakers serve for nothing else, the
accuracy is that of the last epoch, and no setting is chosen by it.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor, nn

from qse.audio.reader import read_array
from qse.errors import QseError, UsageError

from .acoustic_features import BANDS, acoustic_quaternions
from .base import OnDevice
from .classify import Examples, train_classifier
from .networks.count import parameter_count
from .networks.spoken import SpokenClassifier, units_with
from .plots import plot_runs
from .results import Row, summary, write_results
from .study import listed, run_all, table_by_arm

NAME = re.compile(r"(\d)_([^_]+)_(\d+)\.wav")
CLASSES = 10
MATCHED = "rnn-matched"
ARMS = {  # arm -> cell and algebra
    "qrnn": ("rnn", "quaternion"),
    "rnn": ("rnn", "real"),
    MATCHED: ("rnn", "real"),
    "qlstm": ("lstm", "quaternion"),
    "lstm": ("lstm", "real"),
    "qgru": ("gru", "quaternion"),
    "gru": ("gru", "real"),
}
PAPER = {"qrnn": "17.0 (11.3 M)", "rnn": "17.3 (33.4 M)"}


@dataclass(frozen=True)
class Recordings:
    """Features (N, frames, 4, BANDS) padded with zeros at the end, lengths (N,), digits (N,)."""

    features: Tensor
    frames: Tensor
    digits: Tensor
    speakers: list[str]

    def chosen(self, which: Tensor) -> Examples:
        """Return inputs and labels of the recordings where `which` (N,) is True."""
        return [self.features[which], self.frames[which]], self.digits[which]


@dataclass(frozen=True)
class Digits(OnDevice):
    """Settings; FULL holds the paper's sizes.

    units: real numbers per hidden layer; `rnn-matched` is a real RNN with at most the parameters of
    the quaternion one. takes: recordings of each digit and speaker; frames: length at most. warmup:
    the share of the steps in which the learning rate rises, before a cosine to zero; the paper
    halves it by validation.
    """

    data: str = ""
    arms: tuple[str, ...] = tuple(ARMS)
    units: int = 128
    layers: int = 2
    takes: int = 20
    frames: int = 100
    epochs: int = 12
    batch: int = 32
    learning_rate: float = 2e-3
    warmup: float = 0.1
    seeds: tuple[int, ...] = (0, 1, 2)

    FULL = {"units": 2048, "layers": 4, "takes": 50, "epochs": 30, "learning_rate": 1e-4}
    MAY_BE_ZERO = ("warmup",)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_known("arms", ARMS)
        if self.units % 4:
            raise ValueError(f"units = {self.units}: must be a multiple of 4")

    def run(self, out: Path) -> str:
        rows, curves = run_all(out / "digits-runs.json", self, self._train)
        table = table_by_arm(self.arms, rows, {"error %": 2}, {"paper, TIMIT: PER %": PAPER})
        write_results(out / "digits", table, curves, NOTE.format(self, listed(self.seeds)))
        labels = ("epoch", "error on unheard speakers, %")
        plot_runs(out / "digits.png", curves, x="epoch", y="error %", labels=labels)
        return summary(table, "{network} {error %} % ({parameters:,})")

    def network(self, arm: str) -> SpokenClassifier:
        """Build the untrained network of an arm."""
        cell, algebra = ARMS[arm]
        units = self.units
        if arm == MATCHED:
            count = parameter_count(self.network("qrnn"))
            units = units_with(count, cell, BANDS, self.layers, CLASSES)
        return SpokenClassifier(cell, algebra, BANDS, units, self.layers, CLASSES)

    def _train(self, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        torch.manual_seed(seed)
        network = self.network(arm).to(self.device)
        train, test = self._split(seed)
        optimizer = torch.optim.Adam(network.parameters(), self.learning_rate)
        sizes: Row = {"epochs": self.epochs, "batch": self.batch, "warmup": self.warmup}
        curve: list[Row] = []
        for row in train_classifier(network, train, test, optimizer, title=title, **sizes):
            error = 100 - row.pop("accuracy %")
            curve.append(row | {"error %": error})
        return {"parameters": parameter_count(network), "error %": curve[-1]["error %"]}, curve

    def _split(self, fold: int) -> tuple[Examples, Examples]:
        """Return the recordings of all speakers but two, and those of the two."""
        found = self._recordings
        names = sorted(set(found.speakers))
        if len(names) < 3:
            raise QseError(
                f"{self.data}: {len(names)} speakers; two are held out, so this needs three or more"
            )
        first = 2 * fold % len(names)
        held = {names[first], names[(first + 1) % len(names)]}
        out = torch.tensor([name in held for name in found.speakers])
        return found.chosen(~out), found.chosen(out)

    @cached_property
    def _recordings(self) -> Recordings:
        if not self.data:
            raise UsageError(
                "this needs recordings: --set data=free-spoken-digit-dataset/recordings"
            )
        features: list[Tensor] = []
        digits: list[int] = []
        speakers: list[str] = []
        for path in sorted(Path(self.data).glob("*.wav")):
            match = NAME.fullmatch(path.name)
            if match and int(match[3]) < self.takes:
                wave, rate = read_array(path)
                features.append(acoustic_quaternions(wave[:, 0], rate)[: self.frames])
                digits.append(int(match[1]))
                speakers.append(match[2])
        if not features:
            raise QseError(
                f"{self.data}: no recording DIGIT_SPEAKER_NUMBER.wav; "
                "name the folder that holds them"
            )
        padded = nn.utils.rnn.pad_sequence(features, batch_first=True)
        frames = torch.tensor(list(map(len, features)))
        return Recordings(padded, frames, torch.tensor(digits), speakers)


NOTE = (
    "Error on the digits of two speakers that were not trained on, folds {1}; chance 90 %. "
    "{0.layers} layers of {0.units} real units, {0.takes} takes of each digit, {0.epochs} epochs. "
    "The paper's phoneme error rates are of another task and do not compare with these."
)
