"""Model folders without PyTorch: graphs and checksums."""

import shutil
from pathlib import Path
from random import Random

import graphs
import numpy as np

from qse.errors import QseError
from qse.runtime.checksums import seal
from qse.runtime.denoise import denoise
from qse.runtime.zoo import load

from .mutations import damaged, garbled
from .target import Finding, Target, qse, told

NOISY = np.random.default_rng(0).standard_normal(2000).astype(np.float32) / 10
RELEASED = Path(__file__).parents[2] / "models" / "live-tiny"


class Models(Target):
    """A folder with graph and checksums, one of them damaged: loaded, run, and listed by `qse
    info`."""

    name = "models"

    def prepare(self, folder: Path) -> None:
        self.intact = [folder / name for name in ("delay", "recurrent", "released")]
        graphs.delay(folder / "delay" / "model.onnx")
        graphs.recurrent(folder / "recurrent" / "model.onnx")
        (folder / "released").mkdir()
        shutil.copy(RELEASED / "model.onnx", folder / "released")
        for model in self.intact:
            seal(model)

    def run(self, folder: Path, rng: Random) -> None:
        model = folder / "damaged"
        shutil.copytree(rng.choice(self.intact), model)
        graph = model / "model.onnx"
        sums = model / "SHA256SUMS"
        if rng.random() < 0.1:
            sums.write_bytes(garbled(sums.read_text(), rng))
        else:
            graph.write_bytes(damaged(graph.read_bytes(), rng))
            sums.unlink()
        try:
            loaded = load(model)
        except QseError as error:
            told(str(error), model)
            return
        try:
            enhanced = denoise(NOISY, 16000, loaded)
        except QseError as error:
            told(str(error), model)
            return
        if enhanced.shape != NOISY.shape or not np.isfinite(enhanced).all():
            raise Finding(
                f"enhanced {NOISY.shape} samples: {enhanced.shape}, "
                f"finite: {np.isfinite(enhanced).all()}"
            )


class CommandModels(Models):
    """The same through `qse denoise --model` with a sound file."""

    name = "models-denoise"

    def run(self, folder: Path, rng: Random) -> None:
        model = folder / "damaged.onnx"
        model.write_bytes(damaged((rng.choice(self.intact) / "model.onnx").read_bytes(), rng))
        wav = folder / "noisy.wav"
        shutil.copy(Path(__file__).parents[2] / "assets" / "clean.wav", wav)
        with wav.open("r+b") as file:
            file.truncate(4000)
        status, said = qse("denoise", wav, "--model", model, "--salvage")
        if status and sorted(path.name for path in folder.iterdir()) != [
            "damaged.onnx",
            "noisy.wav",
        ]:
            raise Finding(f"status {status}, but more files than before: {said}")
