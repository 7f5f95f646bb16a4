"""Released graphs on unusual signals: silence, square waves, offsets, denormals, samples that are
not finite.

Printed per signal and graph, as the table of docs/reliability.md: the peak of the output in dBFS.
For `NaN`, `Inf` and `1e38`, 20 ms of them in speech: the time until the output is again, within
-40 dBFS, what it is without them. At last, for each model: the peak for near-silence in files of 8
to 192 kHz. Exit status 1 if a result is not as it should be.

    python tests/soak/numerical.py --seconds 60
"""

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import soundfile
import soxr

import qse
from qse.runtime.engine import Engine

# 16 kHz
SPEECH = soundfile.read(Path(__file__).parents[2] / "assets" / "clean.wav", dtype="float32")[0]
LITTLE = 10 ** (-40 / 20)
RATES = (8000, 11025, 16000, 22050, 32000, 44100, 48000, 96000, 192000)
GRAPHS = (16000, 48000)


def noise(samples: int, dbfs: float, seed: int = 0) -> np.ndarray:
    """Return white noise of that RMS level (float32)."""
    white = np.random.default_rng(seed).standard_normal(samples)
    return (10 ** (dbfs / 20) * white).astype(np.float32)


def signals(rate: int, seconds: float) -> Iterator[tuple[str, np.ndarray, float]]:
    """Yield name, samples, and the loudest output in dBFS that is not invented sound."""
    short = np.arange(round(min(5, seconds) * rate))
    long = round(seconds * rate)
    yield "zeros", np.zeros(long, np.float32), -60
    square = np.sign(np.sin(2 * np.pi * 441.7 / rate * short))
    yield "square wave, full scale", square.astype(np.float32), 6
    yield "offset of 0.5", np.full(len(short), 0.5, np.float32), 0
    yield "denormals", noise(long, -780), -60  # about 1e-39
    dither = np.random.default_rng(0).integers(-1, 2, long)
    yield "dither of 16 bits", dither.astype(np.float32) / 32768, -60
    yield "noise at -80 dBFS", noise(long, -80), -60


def peak(audio: np.ndarray) -> float:
    """Return the peak in dBFS, -200 for less; infinity if a sample is not finite."""
    return 20 * np.log10(max(1e-10, np.abs(audio).max())) if np.isfinite(audio).all() else np.inf


def recovery(engine: Engine, value: float) -> tuple[float, int]:
    """Return for how many seconds after 20 ms of `value` in speech the output is disturbed, and the
    resets."""
    rate = engine.sample_rate
    audio = soxr.resample(SPEECH[:40000], 16000, rate)
    start = rate // 2
    stop = rate // 2 + rate // 50
    streams = [qse.Stream(engine) for _ in range(2)]
    without = audio.copy()
    with_them = audio.copy()
    without[start:stop] = 0
    with_them[start:stop] = value
    difference = np.abs(streams[0].process(without) - streams[1].process(with_them))
    if not np.isfinite(difference).all():
        return np.inf, streams[1].resets
    loud = np.flatnonzero(difference > LITTLE)
    end = loud[-1] - streams[0].latency + 1 if len(loud) else 0
    return max(0.0, (end - stop) / rate), streams[1].resets


def rates(name: str) -> float:
    """Return the peak in dBFS of the outputs for half a second of noise at -80 dBFS, over all
    sample rates."""
    loudest = -np.inf
    for rate in RATES:
        audio = noise(rate // 2, -80)
        enhanced = qse.denoise(audio, rate, name)
        assert enhanced.shape == audio.shape, rate
        loudest = max(loudest, peak(enhanced))
    return loudest


def cells(name: str, graph: int, seconds: float) -> Iterator[tuple[str, str, bool]]:
    """Yield signal, what happened, and whether it is as it should be."""
    engine = qse.load(name, sample_rate=graph, flush_to_zero=True)
    for what, audio, most in signals(graph, seconds):
        found = peak(qse.denoise(audio, graph, engine))
        said = "-200" if found == -200 else f"{found:.1f}"
        yield f"{what}, {len(audio) / graph:g} s", said, found <= most
    for what, value in (("NaN", np.nan), ("Inf", np.inf), ("1e38", 1e38)):
        again, resets = recovery(engine, value)
        said = f"{1000 * again:.0f} ms, {resets} resets"
        yield f"{what} for 20 ms in speech: recovery", said, again <= 1.0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of silence and near-silence")
    parser.add_argument("models", nargs="*", default=["live-tiny", "live-base", "live-large"])
    asked = parser.parse_args()
    graphs = list(product(asked.models, GRAPHS))
    table: dict[str, list[str]] = {}
    wrong = []
    for name, graph in graphs:
        for what, found, good in cells(name, graph, asked.seconds):
            table.setdefault(what, []).append(found)
            wrong += [] if good else [f"{name}, {graph} Hz, {what}: {found}"]
    heads = [f"{name.removeprefix('live-')}, {graph // 1000} kHz" for name, graph in graphs]
    print("| signal |", " | ".join(heads), "|")
    print("|---" * (len(graphs) + 1) + "|")
    for what, row in table.items():
        print(f"| {what} |", " | ".join(row), "|")
    loudest = {name: rates(name) for name in asked.models}
    peaks = [f"{found:.1f} ({name})" for name, found in loudest.items()]
    print("\nFiles of 8 to 192 kHz:", ", ".join(peaks))
    wrong += [f"{name}, files: {found:.1f}" for name, found in loudest.items() if found > -60]
    print(*wrong, sep="\n", end="")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
