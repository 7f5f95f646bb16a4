"""Readers of CIFAR-10 and CIFAR-100, and augmentation of images.

Images are (N, 3, 32, 32), uint8. Three layouts: the binary files of CIFAR-10 and of CIFAR-100, and folders
train/CLASS/*.png and test/CLASS/*.png (or .jpg).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ..errors import QseError
from ..extras import need

SIZE = 32
PICTURES = {".png", ".jpg", ".jpeg"}
BINARY = {  # a file by which a layout is known -> training files, test files, bytes before the image, classes
    "data_batch_1.bin": ([f"data_batch_{n}.bin" for n in range(1, 6)], ["test_batch.bin"], 1, 10),
    "train.bin": (["train.bin"], ["test.bin"], 2, 100),
}
MEAN, DEVIATION = 0.47, 0.25  # of all colours, about those of both data sets


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
    """Return training images, test images and the number of classes. Raises QseError for another layout."""
    for name, (train, test, before, classes) in BINARY.items():
        if (folder / name).is_file():
            return (
                _read_binary(folder, train, before, classes),
                _read_binary(folder, test, before, classes),
                classes,
            )
    names = sorted(path.name for path in (folder / "train").glob("*") if path.is_dir())
    if not names:
        raise QseError(
            f"{folder}: no images; this needs CIFAR's binary files (data_batch_1.bin or train.bin) or folders "
            "train/CLASS and test/CLASS; Python pickles are not read"
        )
    return _read_folders(folder / "train", names), _read_folders(folder / "test", names), len(names)


def quaternions(images: Tensor) -> Tensor:
    """Return 0 + R i + G j + B k of Eq. 73, (N, 4, 32, 32), colours centred and divided by their deviation."""
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
    """Set a rectangle of up to half the height and width of (N, C, H, W) to zero, at random (Zhong et al. 2020)."""
    height, width = x.shape[-2:]
    inside = torch.rand(len(x), 1, 1) < probability
    for axis, size in ((1, height), (2, width)):
        extent = torch.randint(size // 8, size // 2 + 1, (len(x), 1))
        begin = (torch.rand(len(x), 1) * (size - extent + 1)).long()
        place = torch.arange(size)
        inside = inside & ((place >= begin) & (place < begin + extent)).unsqueeze(3 - axis)
    return x.masked_fill(inside[:, None], 0.0)


def mixed(x: Tensor, targets: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """Return x and target probabilities, each mixed with those of another image (Mixup, Zhang et al. 2018)."""
    share = float(np.random.default_rng(int(torch.randint(2**31, ()))).beta(alpha, alpha))
    order = torch.randperm(len(x))
    return share * x + (1 - share) * x[order], share * targets + (1 - share) * targets[order]


def _read_binary(folder: Path, names: list[str], before: int, classes: int) -> Images:
    """Read records of `before` label bytes, the last of which counts, and 3 x 32 x 32 bytes."""
    length, records = before + 3 * SIZE * SIZE, []
    for name in names:
        try:
            content = np.fromfile(folder / name, np.uint8)
        except OSError as error:
            raise QseError(
                f"{folder / name}: cannot read this file; fetch the binary version anew"
            ) from error
        if (
            not len(content)
            or len(content) % length
            or content[before - 1 :: length].max() >= classes
        ):
            raise QseError(
                f"{folder / name}: not records of {length} bytes; fetch the binary version anew"
            )
        records.append(content.reshape(-1, length))
    data = torch.from_numpy(np.concatenate(records))
    return Images(data[:, before:].reshape(-1, 3, SIZE, SIZE), data[:, before - 1].long())


def _read_folders(folder: Path, names: list[str]) -> Images:
    opened = need("PIL.Image", "train").open
    images, labels = [], []
    for number, name in enumerate(names):
        for path in sorted((folder / name).glob("*")):
            if path.suffix.lower() not in PICTURES:
                continue
            try:
                with opened(path) as picture:
                    pixels = np.array(picture.convert("RGB"))
            except OSError as error:
                raise QseError(f"{path}: not a picture; fetch it anew or delete it") from error
            if pixels.shape != (SIZE, SIZE, 3):
                raise QseError(
                    f"{path}: {pixels.shape[1]} x {pixels.shape[0]} pixels; this needs {SIZE} x {SIZE}"
                )
            images.append(torch.from_numpy(pixels).movedim(-1, 0))
            labels.append(number)
    if not images:
        raise QseError(f"{folder}: no pictures; this needs a folder for each of {', '.join(names)}")
    return Images(torch.stack(images), torch.tensor(labels))
