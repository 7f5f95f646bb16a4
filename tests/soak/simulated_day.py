"""A day of sound through `qse live --from FILE --to FILE --as-fast-as-possible`, without a file of
that length.

The input repeats assets/noisy.wav at another level each time; it is generated block by block, in
place of what the command would read. The output is not stored: each hour of it becomes a checksum.
Reported per hour: the checksum, the lag of the output behind the input by cross-correlation, and
the memory of the process. `--reference` sends the same sound through `qse denoise`; both reports
must have the same checksums.

    python tests/soak/simulated_day.py --hours 24 > live.tsv
    python tests/soak/simulated_day.py --hours 24 --reference > file.tsv
    cut -f 1-3 live.tsv | cmp - <(cut -f 1-3 file.tsv)
"""

import argparse
import hashlib
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import soundfile

from qse.audio.formats import Layout

LOOP, RATE = soundfile.read(Path(__file__).parents[2] / "assets" / "noisy.wav", dtype="float32")
BLOCK = 1 << 16
HOUR = 3600 * RATE
PROBE = 4 * RATE


def sound(start: int, stop: int) -> np.ndarray:
    """Return the samples from `start` to `stop` of the endless input: (samples,) float32."""
    at = np.arange(start, stop)
    # dB: 0 to -30, so that the model never sees a periodic signal
    level = -3 * ((at // len(LOOP)) * 7 % 11)
    return LOOP[at % len(LOOP)] * np.float32(10) ** (level / 20).astype(np.float32)


class Endless:
    """In place of an audio file: `samples` of `sound`; see qse.audio.reader.AudioReader."""

    damage = None

    def __init__(self, samples: int):
        self.samples = samples
        self.layout = Layout(RATE, 1, "RF64", "FLOAT", "FILE", {})

    def __enter__(self) -> "Endless":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def blocks(self) -> Iterator[np.ndarray]:
        for start in range(0, self.samples, BLOCK):
            yield sound(start, min(start + BLOCK, self.samples))[:, None]


class Report:
    """In place of the writer: print a row for each hour of output."""

    def __init__(self) -> None:
        self.written = 0
        self._digest = hashlib.sha256()
        self._last = np.zeros(0, np.float32)

    def write(self, target: Path, blocks: Iterable[np.ndarray], *_: object) -> int:
        print("hour", "samples", "sha256", "lag", "MiB", "elapsed s", sep="\t", flush=True)
        self._began = time.monotonic()
        for block in blocks:
            while len(block):
                part, block = np.split(
                    block[:, 0] if block.ndim == 2 else block, [HOUR - self.written % HOUR]
                )
                self._take(part)
        if self.written % HOUR:
            self._row()
        return self.written

    def _take(self, part: np.ndarray) -> None:
        self.written += len(part)
        self._digest.update(np.ascontiguousarray(part).tobytes())
        self._last = np.concatenate([self._last, part])[-PROBE:]
        if self.written % HOUR == 0:
            self._row()

    def _row(self) -> None:
        noisy = sound(self.written - len(self._last), self.written)
        spectra = [np.fft.rfft(audio, 2 * len(noisy)) for audio in (self._last, noisy)]
        match = np.fft.irfft(spectra[0] * spectra[1].conj())
        lag = (int(np.argmax(match)) + len(noisy)) % (2 * len(noisy)) - len(noisy)
        memory = (
            int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
        )
        row = (
            f"{self.written / HOUR:g}",
            self.written,
            self._digest.hexdigest()[:16],
            lag,
            f"{memory:.1f}",
        )
        print(*row, f"{time.monotonic() - self._began:.0f}", sep="\t", flush=True)
        self._digest = hashlib.sha256()


def main() -> None:
    """Run the command line with the input and the output replaced."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--model", default="live-tiny")
    parser.add_argument("--blocksize", default="4000")
    parser.add_argument("--reference", action="store_true")
    asked = parser.parse_args()

    import qse.audio.reader
    import qse.audio.writer

    qse.audio.reader.open_audio = lambda *_, **__: Endless(round(asked.hours * HOUR))
    qse.audio.writer.write = Report().write
    from qse_cli.main import main as command

    live = [
        "live",
        "--from",
        "endless.rf64",
        "--to",
        "none.rf64",
        "--as-fast-as-possible",
        "--blocksize",
    ]
    line = (
        ["denoise", __file__, "-o", "none.rf64", "--quiet"]
        if asked.reference
        else [*live, asked.blocksize]
    )
    sys.argv = ["qse", *line, "--model", asked.model]
    command()


if __name__ == "__main__":
    main()
