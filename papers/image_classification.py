"""Image classification.

Yamauchi et al. 2026, appendix E.1, Table 13; "Q-Jamba", section 5.5, Table 6. Compares the
quaternion ResNet and Transformer with shared scores, Hamilton attention, attention on convolutions
(QTN) and real matrices, and the Vision Transformer with real matrices and with Q-Linear. `data` is
a folder of CIFAR-10 or CIFAR-100. The accuracy is that of the last epoch on the test images, and no
setting is chosen by it.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qse.errors import UsageError

from .base import OnDevice
from .classify import predictions
from .fit import fit, warmup_cosine
from .images import Images, cropped_and_flipped, erased, mixed, quaternions, read_images
from .networks.count import parameter_count
from .networks.vision import image_classifier
from .plots import plot_runs
from .results import Row, summary, write_results
from .study import arm_values, listed, run_all, table_by_arm

ARMS = ("shared", "hamilton", "convolution", "real", "vit-quaternion", "vit")
PAPER_100 = {"shared": 70.94, "hamilton": 71.09, "convolution": 70.09}  # CIFAR-100, accuracy %
PAPER_10 = {"vit-quaternion": 80.4, "vit": 74.2}  # CIFAR-10
FEW = 10  # classes of CIFAR-10


@dataclass(frozen=True)
class ImageClassification(OnDevice):
    """Settings; FULL holds those of appendix E.1.

    width: scales all channels. images, test: how many are used at most. mixup: alpha of the Beta
    distribution, 0 for none. erasing: probability. smoothing: of the labels.
    """

    data: str = ""
    arms: tuple[str, ...] = ARMS
    width: float = 0.25
    images: int = 5000
    test: int = 2000
    epochs: int = 6
    batch: int = 64
    learning_rate: float = 1e-3
    warmup: float = 0.1
    mixup: float = 0.0
    erasing: float = 0.0
    smoothing: float = 0.1
    seeds: tuple[int, ...] = (42,)

    FULL = {
        "width": 1.0,
        "images": 50000,
        "test": 10000,
        "epochs": 100,
        "batch": 128,
        "mixup": 0.8,
        "erasing": 0.25,
        "seeds": [42, 123, 456],
    }
    MAY_BE_ZERO = ("warmup", "mixup", "erasing", "smoothing")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_known("arms", ARMS)

    def run(self, out: Path) -> str:
        rows, curves = run_all(out / "images-runs.json", self, self._train)
        classes = arm_values(rows, self.arms[0], "classes")[0]
        paper = PAPER_10 if classes <= FEW else PAPER_100
        metrics = {"accuracy %": 2, "training, s": 0}
        table = table_by_arm(self.arms, rows, metrics, {"paper: accuracy %": paper})
        counts = f"{rows[0]['images']} training and {rows[0]['test images']} test images"
        note = NOTE.format(self, counts, classes, listed(self.seeds))
        write_results(out / "images", table, curves, note)
        labels = ("epoch", "accuracy on test images, %")
        plot_runs(out / "images.png", curves, x="epoch", y="accuracy %", labels=labels, lines=paper)
        return summary(table, "{network} {accuracy %} % ({parameters:,})")

    @cached_property
    def _images(self) -> tuple[Images, Images, int]:
        if not self.data:
            raise UsageError("this needs images: --set data=cifar-10")
        train, test, classes = read_images(Path(self.data))
        return train.first(self.images), test.first(self.test), classes

    def _train(self, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        torch.manual_seed(seed)
        train, test, classes = self._images
        network = image_classifier(arm, classes, self.width).to(self.device)
        optimizer = torch.optim.AdamW(network.parameters(), self.learning_rate, weight_decay=0.05)
        per_epoch = -(-len(train.labels) // self.batch)
        steps = self.epochs * per_epoch
        schedule = warmup_cosine(optimizer, round(self.warmup * steps), steps)
        batches = self._batches(train)

        def loss_of_batch() -> Tensor:
            images, labels = next(batches)
            return self._loss(network, images, labels, classes)

        held = quaternions(test.images)
        curve: list[Row] = []
        seconds = 0.0
        began = time.process_time()
        for step, loss in fit(loss_of_batch, optimizer, steps, schedule=schedule, title=title):
            if step % per_epoch == 0:
                seconds += time.process_time() - began
                right = predictions(network, [held], self.batch) == test.labels
                accuracy = 100 * right.float().mean().item()
                curve.append({"epoch": step // per_epoch, "loss": loss, "accuracy %": accuracy})
                began = time.process_time()
        found = {"parameters": parameter_count(network), "classes": classes, "training, s": seconds}
        found |= {"images": len(train.labels), "test images": len(test.labels)}
        return found | {"accuracy %": curve[-1]["accuracy %"]}, curve

    def _batches(self, train: Images) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield images and labels of one epoch after the other, in random order."""
        while True:
            for chosen in torch.randperm(len(train.labels)).split(self.batch):
                yield train.images[chosen], train.labels[chosen]

    def _loss(self, network: nn.Module, images: Tensor, labels: Tensor, classes: int) -> Tensor:
        x = cropped_and_flipped(quaternions(images))
        targets = F.one_hot(labels, classes).float()
        if self.erasing:
            x = erased(x, self.erasing)
        if self.mixup:
            x, targets = mixed(x, targets, self.mixup)
        x = x.to(self.device)
        targets = targets.to(self.device)
        return F.cross_entropy(network(x), targets, label_smoothing=self.smoothing)


NOTE = (
    "{1} of {2} classes, {0.epochs} epochs, {0.width} of the paper's width, seeds {3}. Training: "
    "processor time of the steps. The paper's values are those of CIFAR-100 for ResNet "
    "and Transformer and of CIFAR-10 for the Vision Transformers, after 100 and 50 epochs of all "
    "images."
)
