"""Readers of CIFAR-10 and CIFAR-100, and augmentation of images.

Images are (N, 3, 32, 32), uint8. Three layouts: the binary files of CIFAR-10 and of CIFAR-100, and
folders train/CLASS/*.png and test/CLASS/*.png (or .jpg).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from qse.errors import QseError
from qse.extras import need

SIZE = 32
PICTURES = {".png", ".jpg", ".jpeg"}
MEAN = 0.47  # of all colours, about that of both data sets
DEVIATION = 0.25


class Layout(NamedTuple):
    """Binary files of a data set; `before`: bytes before an image, the last of which is a label."""

    train: list[str]
    test: list[str]
    before: int
    classes: int


BINARY = {  # by a file that only this layout has
    "data_batch_1.bin": Layout(
        [f"data_batch_{number}.bin" for number in range(1, 6)], ["test_batch.bin"], 1, 10
    ),
    "train.bin": Layout(["train.bin"], ["test.bin"], 2, 100),
}


@dataclass(frozen=True)
class Images:
    """images (N, 3, 32, 32) uint8, labels (N,)."""

    images: Tensor
    labels: Tensor

    def first(self, count: int) -> "Images":
        """Return `count` images, drawn from all of them in one fixed order."""
        order = torch.randperm(len(self.labels), generator=torch.Generator().manual_seed(0))[:count]
        return Images(self.images[order], self.labels[order])


def read_images(folder: Path) -> tuple[Images, Images, int]:
    """Return training images, test images and the number of classes.

    Raises QseError for another layout.
    """
    for name, layout in BINARY.items():
        if (folder / name).is_file():
            train = _read_binary(folder, layout.train, layout)
            test = _read_binary(folder, layout.test, layout)
            return train, test, layout.classes

    names: list[str] = []
    for path in sorted((folder / "train").glob("*")):
        if path.is_dir():
            names.append(path.name)
    if not names:
        raise QseError(
            f"{folder}: no images; this needs CIFAR's binary files (data_batch_1.bin or train.bin) "
            "or folders train/CLASS and test/CLASS; Python pickles are not read"
        )
    return _read_folders(folder / "train", names), _read_folders(folder / "test", names), len(names)


def quaternions(images: Tensor) -> Tensor:
    """Return 0 + R i + G j + B k of Eq. 73, (N, 4, 32, 32).

    Colours are centred and divided by their deviation.
    """
    colours = (images.float() / 255 - MEAN) / DEVIATION
    return F.pad(colours, (0, 0, 0, 0, 1, 0))


def cropped_and_flipped(x: Tensor) -> Tensor:
    """Shift each of (N, C, H, W) by up to four pixels and mirror half of them, at random."""
    height, width = x.shape[-2:]
    padded = F.pad(x, (4, 4, 4, 4))
    rows = torch.randint(9, (len(x), 1)) + torch.arange(height)
    columns = torch.randint(9, (len(x), 1)) + torch.arange(width)
    columns = torch.where(torch.rand(len(x), 1) < 0.5, columns, columns.flip(1))
    image = torch.arange(len(x))[:, None, None]
    return padded[image, :, rows[:, :, None], columns[:, None]].movedim(-1, 1)


def erased(x: Tensor, probability: float) -> Tensor:
    """Set a rectangle of (N, C, H, W) to zero, at random (Zhong et al. 2020).

    It has up to half the height and width.
    """
    height, width = x.shape[-2:]
    inside = torch.rand(len(x), 1, 1) < probability
    for axis, size in ((1, height), (2, width)):
        extent = torch.randint(size // 8, size // 2 + 1, (len(x), 1))
        begin = (torch.rand(len(x), 1) * (size - extent + 1)).long()
        place = torch.arange(size)
        inside = inside & ((place >= begin) & (place < begin + extent)).unsqueeze(3 - axis)
    return x.masked_fill(inside[:, None], 0.0)


def mixed(x: Tensor, targets: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """Return x and target probabilities, each mixed with those of another image.

    Mixup, Zhang et al. 2018.
    """
    share = float(np.random.default_rng(int(torch.randint(2**31, ()))).beta(alpha, alpha))
    order = torch.randperm(len(x))
    return share * x + (1 - share) * x[order], share * targets + (1 - share) * targets[order]


def _read_binary(folder: Path, names: list[str], layout: Layout) -> Images:
    """Read records of label bytes and 3 x 32 x 32 bytes."""
    records = np.concatenate([_read_records(folder / name, layout) for name in names])
    data = torch.from_numpy(records)
    images = data[:, layout.before :].reshape(-1, 3, SIZE, SIZE)
    return Images(images, data[:, layout.before - 1].long())


def _read_records(path: Path, layout: Layout) -> np.ndarray:
    """Return the records (N, bytes) of a file."""
    length = layout.before + 3 * SIZE * SIZE
    try:
        content = np.fromfile(path, np.uint8)
    except OSError as error:
        raise QseError(f"{path}: cannot read this file; fetch the binary version anew") from error

    labels = content[layout.before - 1 :: length]
    if not len(content) or len(content) % length or labels.max() >= layout.classes:
        raise QseError(f"{path}: not records of {length} bytes; fetch the binary version anew")
    return content.reshape(-1, length)


def _read_folders(folder: Path, names: list[str]) -> Images:
    images: list[Tensor] = []
    labels: list[int] = []
    for number, name in enumerate(names):
        for path in sorted((folder / name).glob("*")):
            if path.suffix.lower() in PICTURES:
                images.append(_read_picture(path))
                labels.append(number)
    if not images:
        raise QseError(f"{folder}: no pictures; this needs a folder for each of {', '.join(names)}")
    return Images(torch.stack(images), torch.tensor(labels))


def _read_picture(path: Path) -> Tensor:
    """Return a picture (3, 32, 32). Raises QseError for a file that is none of this size."""
    opened = need("PIL.Image", "train").open
    try:
        with opened(path) as picture:
            pixels = np.array(picture.convert("RGB"))
    except OSError as error:
        raise QseError(f"{path}: not a picture; fetch it anew or delete it") from error
    if pixels.shape != (SIZE, SIZE, 3):
        raise QseError(
            f"{path}: {pixels.shape[1]} x {pixels.shape[0]} pixels; this needs {SIZE} x {SIZE}"
        )
    return torch.from_numpy(pixels).movedim(-1, 0)
