"""Classification of spoken digits, in place of the phonemes of TIMIT (Parcollet et al. 2019, section 3.2, Tables 1, 2).

Compares quaternion and real recurrent networks on the features of Eq. 25. `data` is a folder of the Free Spoken Digit
Dataset: DIGIT_SPEAKER_NUMBER.wav. A seed is a fold: its two test speakers serve for nothing else, the accuracy is that
of the last epoch, and no setting is chosen by it.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..audio.reader import read_array
from ..errors import QseError, UsageError
from .acoustic_features import BANDS, acoustic_quaternions
from .classify import Examples, train_classifier
from .networks.spoken import SpokenClassifier, parameters, units_with
from .results import Row, plot_runs, write_results
from .study import listed, of_arm, run_all, spread

NAME = re.compile(r"(\d)_([^_]+)_(\d+)\.wav")
MATCHED = "rnn-matched"
ARMS = {  # arm -> cell and algebra
    "qrnn": ("rnn", "quaternion"), "rnn": ("rnn", "real"), MATCHED: ("rnn", "real"), "qlstm": ("lstm", "quaternion"),
    "lstm": ("lstm", "real"), "qgru": ("gru", "quaternion"), "gru": ("gru", "real"),
}  # fmt: skip


@dataclass(frozen=True)
class Digits:
    """Settings; FULL holds the paper's sizes. units: real numbers per hidden layer; `rnn-matched` is a real RNN with
    at most the parameters of the quaternion one. takes: recordings of each digit and speaker; frames: length at most.
    warmup: the share of the steps in which the learning rate rises, before a cosine to zero; the paper halves it by
    validation.
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

    FULL: ClassVar[dict] = {
        "units": 2048,
        "layers": 4,
        "takes": 50,
        "epochs": 30,
        "learning_rate": 1e-4,
    }

    def __post_init__(self) -> None:
        if set(self.arms) - set(ARMS) or not self.arms:
            raise ValueError(f"arms = {list(self.arms)}: choose from {', '.join(ARMS)}")
        if self.units % 4:
            raise ValueError(f"units = {self.units}: must be a multiple of 4")

    def run(self, out: Path) -> str:
        rows, curves = run_all(out / "digits-runs.json", self, self._train)
        table = [
            {
                "network": arm,
                "parameters": of_arm(rows, arm, "parameters")[0],
                "error %": spread(of_arm(rows, arm, "error %")),
                "paper, TIMIT: PER %": PAPER.get(arm, "-"),
            }
            for arm in self.arms
        ]
        write_results(out / "digits", table, curves, NOTE.format(self, listed(self.seeds)))
        labels = "epoch", "error on unheard speakers, %"
        plot_runs(out / "digits.png", curves, x="epoch", y="error %", labels=labels)
        return "; ".join(
            f"{row['network']} {row['error %']} % ({row['parameters']:,})" for row in table
        )

    def network(self, arm: str) -> SpokenClassifier:
        """Build the untrained network of an arm."""
        cell, algebra = ARMS[arm]
        units = self.units
        if arm == MATCHED:
            units = units_with(parameters(self.network("qrnn")), cell, BANDS, self.layers, 10)
        return SpokenClassifier(cell, algebra, BANDS, units, self.layers, 10)

    def _train(self, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        torch.manual_seed(seed)
        network = self.network(arm)
        train, test = self._split(seed)
        optimizer = torch.optim.Adam(network.parameters(), self.learning_rate)
        sizes: Row = {"epochs": self.epochs, "batch": self.batch, "warmup": self.warmup}
        rows = train_classifier(network, train, test, optimizer, title=title, **sizes)
        curve = [
            {"epoch": row["epoch"], "loss": row["loss"], "error %": 100 * (1 - row["accuracy"])}
            for row in rows
        ]
        return {"parameters": parameters(network), "error %": curve[-1]["error %"]}, curve

    def _split(self, fold: int) -> tuple[Examples, Examples]:
        x, frames, digit, speaker = self._recordings
        names = sorted(set(speaker))
        if len(names) < 3:
            raise QseError(
                f"{self.data}: {len(names)} speakers; two are held out, so this needs three at least"
            )
        held = {names[2 * fold % len(names)], names[(2 * fold + 1) % len(names)]}
        out = torch.tensor([name in held for name in speaker])
        train, test = (([x[part], frames[part]], digit[part]) for part in (~out, out))
        return train, test

    @cached_property
    def _recordings(self) -> tuple[Tensor, Tensor, Tensor, list[str]]:
        """Return features (N, frames, 4, BANDS) padded with zeros at the end, lengths, digits (N,) and speakers."""
        if not self.data:
            raise UsageError(
                "this needs recordings: --set data=free-spoken-digit-dataset/recordings"
            )
        found = []
        for path in sorted(Path(self.data).glob("*.wav")):
            match = NAME.fullmatch(path.name)
            if match and int(match[3]) < self.takes:
                wave, rate = read_array(path)
                found.append(
                    (acoustic_quaternions(wave[:, 0], rate)[: self.frames], int(match[1]), match[2])
                )
        if not found:
            raise QseError(
                f"{self.data}: no recording DIGIT_SPEAKER_NUMBER.wav; name the folder that holds them"
            )
        features, digits, speakers = zip(*found, strict=True)
        x = nn.utils.rnn.pad_sequence(list(features), batch_first=True)
        return (
            x,
            torch.tensor([len(part) for part in features]),
            torch.tensor(digits),
            list(speakers),
        )


PAPER = {"qrnn": "17.0 (11.3 M)", "rnn": "17.3 (33.4 M)"}
NOTE = (
    "Error on the digits of two speakers that were not trained on, folds {1}; "
    "chance 90 %. {0.layers} layers of {0.units} real units, {0.takes} takes of each digit, "
    "{0.epochs} epochs. The paper's phoneme error rates are of another task and do not compare with these."
)
