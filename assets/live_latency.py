"""Draw assets/live-latency.png: what waits before a simulated output, with ten disturbances.

python assets/live_latency.py
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from latency_over_time import EVERY, STALLS, run

COUNT = 10


def main() -> None:
    """Run the simulation and draw it."""
    _, times, waits, _ = run(COUNT)
    figure, axes = pyplot.subplots(figsize=(8, 2.6), constrained_layout=True)
    for number in range(1, COUNT + 1):
        begin = number * EVERY
        axes.axvspan(begin, begin + STALLS, color="tab:orange", alpha=0.3, linewidth=0)
    axes.plot(times, 1000 * waits, linewidth=1)
    axes.set(xlabel="time in s", ylabel="waits in ms", xlim=(0, times[-1]), ylim=(0, None))
    figure.savefig(Path(__file__).with_name("live-latency.png"), dpi=100)


if __name__ == "__main__":
    main()
