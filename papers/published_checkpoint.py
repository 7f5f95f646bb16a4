"""Convert the checkpoint of the published Conformer (`best_model.pt`) to a folder that qse
evaluates and exports.

    qse experiment published-checkpoint --out published --set file=best_model.pt
    qse evaluate published --dataset voicebank --data VOICEBANK --metrics published
    qse export published models/published

The file is read by PyTorch's restricted reader, which runs no code of the file.
"""

import os
import pickle
from dataclasses import dataclass
from pathlib import Path

import tomli_w
import torch
from torch import Tensor

from qse.audio.atomic_write import write_text
from qse.audio.file_mode import Sources
from qse.audio.folder_path import make_folder, open_source
from qse.errors import QseError, UsageError
from qse.model_folder import CONFIG, WEIGHTS
from qse.networks import build_network
from qse.train.checkpoint import save
from qse.train.recipe import model_table

from .base import Experiment
from .networks.count import parameter_count

NETWORK = "qse_papers.networks.published:Published"
HOLDERS = ("model_state_dict", "generator")  # where a training checkpoint has the weights
COMPONENTS = ("r_weight", "i_weight", "j_weight", "k_weight")


@dataclass(frozen=True)
class PublishedCheckpoint(Experiment):
    """Settings: file, the checkpoint; attention: published, or shared, Eq. 10 of its weights."""

    file: str = ""
    attention: str = "published"

    def run(self, out: Path) -> str:
        if not self.file:
            raise UsageError("this needs a checkpoint: --set file=best_model.pt")
        for name in (CONFIG, *WEIGHTS):
            if os.path.lexists(out / name):
                raise QseError(f"{out / name} is there already: name a new folder")
        network = build_network({"network": NETWORK, "attention": self.attention})
        with Sources([Path(self.file)]) as source:
            tensors = read_checkpoint(Path(self.file))
        try:
            network.get_submodule("core").load_state_dict(tensors)
        except RuntimeError as error:
            differences = str(error).splitlines()[1:]
            first = differences[0].strip() if differences else str(error)
            raise QseError(
                f"{self.file}: not a checkpoint of the published network, whose weights have other "
                f"names or shapes: {first[:200]}"
            ) from error
        make_folder(out)
        write_text(out / CONFIG, tomli_w.dumps({"model": model_table(network)}), source=None)
        save(out / WEIGHTS[0], network.state_dict(), {}, source)
        return (
            f"{parameter_count(network):,} parameters: qse evaluate {out}, qse export {out} MODEL"
        )


def read_checkpoint(path: Path) -> dict[str, Tensor]:
    """Return the weights of a checkpoint by the names of our layers.

    Four component weights become one, (4, out, in, *kernel). Raises QseError for a file that cannot
    be read without running code.
    """
    try:
        with open(path, "rb", opener=open_source) as file:
            found = torch.load(file, map_location="cpu", weights_only=True)
    except OSError as error:
        raise QseError(f"{path} cannot be read: {error.strerror}") from error
    except (RuntimeError, EOFError, LookupError, ValueError, pickle.UnpicklingError) as error:
        raise QseError(
            f"{path}: cannot read these weights; name the published best_model.pt"
        ) from error
    for name in HOLDERS:
        if isinstance(found, dict) and name in found:
            found = found[name]
    if not isinstance(found, dict):
        raise QseError(f"{path}: holds no weights by name")

    weights: dict[str, Tensor] = {}
    for name, value in found.items():
        plain = name.removeprefix("module.")  # of training on several GPUs
        if not plain.endswith(COMPONENTS):
            weights[plain] = value
        elif plain.endswith(COMPONENTS[0]):
            stem = name.removesuffix(COMPONENTS[0])
            missing = [each for each in COMPONENTS if stem + each not in found]
            if missing:
                raise QseError(f"{path}: {stem} is without {', '.join(missing)}")
            parts = torch.stack([found[stem + component] for component in COMPONENTS])
            if parts.ndim == 3:  # of a linear layer, (4, in, out)
                parts = parts.mT
            weights[plain.removesuffix(COMPONENTS[0]) + "weight"] = parts.contiguous()
    return weights
