"""Score one set of weights at several look-aheads, and draw quality over latency.

    python tools/latency_curve.py RUN --pairs UNSEEN --every 3 --picture docs/images/latency.png

Prints a row per look-ahead: frames, latency in ms, and the means of WB-PESQ, STOI, SI-SDR and
attenuation in pauses.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch

from qse.audio.atomic_write import atomic_path
from qse.evaluate.scoring import score_pair
from qse.model_folder import CONFIG, weights_of
from qse.networks.weights import load_network
from qse.train.validation_pairs import Utterance, find_pairs, read_pairs

METRICS = {
    "pesq_wb": "WB-PESQ",
    "stoi": "STOI",
    "si_sdr": "SI-SDR dB",
    "pause_attenuation": "pauses dB",
}
OTHERS = {"DPCRN, FastEnhancer": 32, "DeepFilterNet 3": 40}  # algorithmic latency in ms


def frames_of(network: Any) -> list[int]:
    """Return the look-aheads to score, in frames: 0 and the powers of two up to the network's."""
    most = network.config.look_ahead
    return [0, *(2**power for power in range(most.bit_length()))]


@torch.no_grad()
def scores(network: Any, pairs: list[Utterance]) -> dict[str, float]:
    """Return the mean of every metric over pairs, which are at the sample rate of the network."""
    values: dict[str, list[float]] = {name: [] for name in METRICS}
    for pair in pairs:
        enhanced = network.enhance(torch.from_numpy(pair.noisy)[None])[0].numpy()
        signals = {"clean": pair.clean, "noisy": pair.noisy, "enhanced": enhanced}
        found = score_pair(**signals, sample_rate=pair.sample_rate, metrics=METRICS)
        for name, value in found.items():
            values[name].append(value)
    return {name: float(np.mean(column)) for name, column in values.items()}


def draw(latencies: list[float], columns: dict[str, list[float]], path: Path) -> None:
    """Draw a panel per metric over the latencies in ms, with those of other enhancers marked."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(METRICS), figsize=(13, 3), layout="constrained")
    for panel, (name, title) in zip(panels, METRICS.items(), strict=True):
        panel.plot(latencies, columns[name], "o-", color="tab:blue")
        for other, latency in OTHERS.items():
            panel.axvline(latency, color="tab:gray", linestyle=":")
            place = {"xy": (latency, 0.55), "xycoords": ("data", "axes fraction")}
            panel.annotate(other, **place, rotation=90, fontsize=7)
        panel.set_xscale("log")
        panel.set_xticks(latencies, [f"{latency:g}" for latency in latencies], fontsize=7)
        panel.minorticks_off()
        panel.set_xlabel("latency, ms")
        panel.set_title(title, fontsize=10)
    with atomic_path(path, source=None, is_named=True) as part:
        figure.savefig(part, format="png", dpi=130)


def main() -> None:
    """Read the command line, score and draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path, help="folder of a run or a model")
    parser.add_argument("--pairs", type=Path, required=True, help="folder with clean/ and noisy/")
    parser.add_argument("--every", type=int, default=1, help="use every n-th pair")
    parser.add_argument("--picture", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    network: Any = load_network(options.run / CONFIG, weights_of(options.run))[0]
    pairs = read_pairs(find_pairs(options.pairs, 16000)[:: options.every])
    latencies = []
    columns: dict[str, list[float]] = {name: [] for name in METRICS}
    for frames in frames_of(network):
        part = network.at(16000, frames).eval()
        latency = 1000 * (part.latency + part.config.hop_length) / 16000
        found = scores(part, pairs)
        latencies.append(latency)
        for name, value in found.items():
            columns[name].append(value)
        numbers = " ".join(f"{METRICS[name]} {value:.4f}" for name, value in found.items())
        print(f"{frames} frames, {latency:g} ms: {numbers}", flush=True)
    draw(latencies, columns, options.picture)


if __name__ == "__main__":
    main()
