"""Spectrograms of one utterance, enhanced by trained offline networks.

Yamauchi et al. 2026, appendix C.6, Figure 5. Panels in one colour scale: clean, noisy, each
network. The table has the metrics of each panel, and its level from 32 to 96 Hz, where the paper
compares the residual noise, in dB above the clean signal.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from qse.audio.file_mode import Sources
from qse.data.datasets import Pair
from qse.errors import UsageError
from qse.evaluate.plot import plot_spectrograms
from qse.evaluate.reading import read_pair
from qse.evaluate.scoring import score_pair
from qse.evaluate.signals import SAMPLE_RATE
from qse.model_folder import weights_of
from qse.networks.weights import load_network

from .base import OnDevice
from .results import Row, summary, write_markdown, write_table

LOW_BAND = (32, 96)  # Hz
METRICS = ("pesq_wb", "si_sdr")


@dataclass(frozen=True)
class Spectrograms(OnDevice):
    """Settings: folders of trained networks, and the files of one utterance at 16 kHz."""

    models: tuple[str, ...] = ()
    clean: str = ""
    noisy: str = ""

    def run(self, out: Path) -> str:
        if not (self.models and self.clean and self.noisy):
            needed = "--set 'models=[\"RUN\"]' --set clean=FILE --set noisy=FILE"
            raise UsageError(f"spectrograms needs networks and an utterance: {needed}")

        pair = Pair(Path(self.noisy).stem, Path(self.noisy), Path(self.clean))
        with Sources(pair.files) as source:
            clean, noisy = read_pair(pair, True)
        assert clean is not None
        panels = {"noisy": noisy}
        for model in self.models:
            panels[Path(model).name] = _enhanced(model, noisy, self.device)
        table = [_row(name, audio, clean) for name, audio in panels.items()]
        write_table(out / "spectrograms.csv", table)
        write_markdown(out / "spectrograms.md", table)

        shown = [("clean", clean, SAMPLE_RATE)]
        for name, audio in panels.items():
            shown.append((name, audio, SAMPLE_RATE))
        plot_spectrograms(shown, out / "spectrograms.png", source)
        return summary(table, "{panel}: WB-PESQ {pesq_wb:.2f}, SI-SDR {si_sdr:.1f} dB")


def low_level(audio: np.ndarray) -> float:
    """Return the mean power of LOW_BAND in dB."""
    power = np.abs(np.fft.rfft(audio)) ** 2 / len(audio) ** 2
    frequency = np.fft.rfftfreq(len(audio), 1 / SAMPLE_RATE)
    inside = (frequency >= LOW_BAND[0]) & (frequency <= LOW_BAND[1])
    return float(10 * np.log10(power[inside].sum() + 1e-12))


def _enhanced(model: str, noisy: np.ndarray, device: str) -> np.ndarray:
    folder = Path(model)
    network, _ = load_network(folder / "config.toml", weights_of(folder))
    network = network.eval().to(device)
    with torch.no_grad():
        audio = torch.from_numpy(noisy.astype(np.float32))[None].to(device)
        return network.enhance(audio)[0].cpu().numpy()


def _row(name: str, audio: np.ndarray, clean: np.ndarray) -> Row:
    scores = score_pair(clean=clean, enhanced=audio, metrics=METRICS)
    low = low_level(audio) - low_level(clean)
    return {"panel": name, **scores, "32 to 96 Hz, dB above clean": low}
