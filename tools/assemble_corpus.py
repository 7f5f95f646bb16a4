"""Assemble a training corpus of noise and speech from public Git repositories.

    python tools/assemble_corpus.py --sources tools/corpus_sources.tsv --repositories DIR --out OUT

Every row of the table names a repository and the audio files wanted from its newest commit:

repository  owner/name; read from DIR/owner+name (clone or bare repository), else cloned into DIR
paths       globs, separated by spaces; `*` also matches `/`, `?` stands for a space; the case of
            letters does not matter
exclude     globs likewise, or plain words: a file is left out if a word of its path begins with one
group       name of the folder in OUT/noise or OUT/speech; `x-folder:2` is x- and the second path
            component, `x-name:9` x- and the first nine characters of the file name, `x-client:12`
            x- and 12 characters of the client_id of tables of Common Voice (*.tsv), `various-x`
            for clips of which they name none
use         experiments: no licence is stated, or it excludes commercial use; left out unless
            --experiments is given. training, or no such column: any use

Kept recordings become OUT/<kind>/<group>/<id>.flac, mono PCM16, and a row of OUT/index.tsv; the
rest are listed in OUT/dropped.tsv with the reason. A file named in either list is not looked at
again: a run may be repeated.
"""

import argparse
import collections
import io
import subprocess
from pathlib import Path

import numpy as np
import sound_files
import soundfile
import soxr
from audio_prints import ALIKE, PATCH, SAME, directions, log_mel, power_spectra, references
from numpy.lib.stride_tricks import sliding_window_view
from repository_files import Row, clients, contents, open_repository, read_table
from source_rows import name_of, wanted

from qse.audio.atomic_write import atomic_path, open_to_append
from qse.audio.folder_path import make_folder, open_found

ORIGIN = ["kind", "id", "group", "repository", "path", "licence"]
LISTS = {
    "index.tsv": [*ORIGIN, "seconds", "sample_rate", "cutoff_hz"],
    "dropped.tsv": ["kind", "repository", "path", "reason"],
}


def frame_power(audio: np.ndarray, rate: int) -> np.ndarray:
    """Return the power of each 20 ms frame."""
    size = rate // 50
    return np.square(audio[: len(audio) // size * size].reshape(-1, size)).mean(1)


def decode(content: bytes, highest_rate: int) -> tuple[np.ndarray, int]:
    """Decode a file to mono without offset and silent ends; returns samples and sampling rate."""
    audio, rate = soundfile.read(io.BytesIO(content), dtype="float32", always_2d=True)
    audio = audio.mean(1)
    if rate > highest_rate:
        audio = soxr.resample(audio, rate, highest_rate, quality="VHQ")
        rate = highest_rate
    sounding = np.flatnonzero(frame_power(audio, rate) > 1e-8)
    if not len(sounding):
        return audio[:0], rate
    audio = audio[sounding[0] * rate // 50 : (sounding[-1] + 1) * rate // 50]
    return audio - audio.sum() / max(1, len(audio)), rate


def fault(audio: np.ndarray, rate: int, kind: str) -> str | None:
    """Return why the level of a recording makes it useless, or None."""
    level = 10 * np.log10(frame_power(audio, rate) + 1e-10)  # dBFS, every 20 ms
    if np.sum(level > -65) < 25:
        return "short"
    if not np.mean(10 ** (level / 10)) >= 10**-6.5:
        return "silent"
    if kind != "speech":
        return None
    if np.percentile(level, 95) - np.percentile(level, 5) < 30:
        return "noisy speech"
    return "clipped speech" if np.sum(np.abs(audio) > 0.999) > 10 else None


def cutoff(audio: np.ndarray, rate: int) -> int:
    """Return the highest frequency whose 250 Hz band is within 80 dB of the strongest, in Hz."""
    size = rate * 16 // 250
    power = np.zeros(size // 2 + 1)
    for block in power_spectra(audio, size, size // 2):
        power += block.sum(0, dtype="float64")
    bands = power[: len(power) // 16 * 16].reshape(-1, 16).sum(1)
    highest = np.flatnonzero(bands >= 1e-8 * bands.max())[-1]
    return int(min(250 * (1 + highest), rate // 2))


class Corpus:
    """The corpus folder: what it holds, what was dropped, and the prints that find copies."""

    def __init__(self, out: Path, forbidden: dict[str, np.ndarray], highest_rate: int) -> None:
        self.out = out
        self.forbidden = forbidden
        self.highest_rate = highest_rate
        self.seen: set[tuple[str, str]] = set()
        self.objects: list[str] = []
        self.prints: list[np.ndarray] = []
        self.seconds: list[float] = []
        make_folder(out)
        for name, columns in LISTS.items():
            if not (out / name).exists():
                self.append(name, columns)
            self.seen |= {(row["repository"], row["path"]) for row in read_table(out / name)}
        if (out / "prints.npz").exists():
            with open(out / "prints.npz", "rb", opener=open_found) as file:
                saved = np.load(file)
                self.objects = list(saved["objects"])
                self.prints = list(saved["prints"])
                self.seconds = list(saved["seconds"])

    def append(self, name: str, fields: list) -> None:
        """Append a line to one of the lists."""
        with open_to_append(self.out / name, source=None) as file:
            file.write(("\t".join(map(str, fields)) + "\n").encode())

    def add(self, row: Row, path: str, name: str, content: bytes, client: str) -> str | None:
        """Store one file of a repository; returns None, or the reason why it is left out."""
        if name in self.objects:
            return "copy"
        if content.startswith(b"version https://git-lfs"):
            return "LFS pointer"
        try:
            audio, rate = decode(content, self.highest_rate)
        except (soundfile.LibsndfileError, ValueError):
            return "undecodable"
        reason = fault(audio, rate, row["kind"])
        if reason:
            return reason
        mel = log_mel(audio, rate)
        like = self._likeness(mel, row["kind"])
        if like > ALIKE:
            return f"forbidden ({like:.2f})"

        audio = audio[max(0, len(audio) - 60 * rate) // 2 :][: 60 * rate]  # the middle minute
        seconds = len(audio) / rate
        cells = np.array([cell.mean(0) for cell in np.array_split(mel, PATCH)])
        mark = directions(cells[None])[0][0]
        if self._is_known(mark, seconds):
            return "copy"
        self.objects.append(name)
        self.prints.append(mark)
        self.seconds.append(seconds)
        self._write(row, path, audio, rate, client)
        return None

    def _likeness(self, mel: np.ndarray, kind: str) -> float:
        """Return the highest correlation of a patch with one that must not occur, 0 without any."""
        if not self.forbidden:
            return 0.0
        windows = sliding_window_view(mel, PATCH, axis=0)
        highest = -1.0
        for start in range(0, len(windows), 1000):
            block, _ = directions(windows[start : start + 1000])
            highest = max(highest, (block @ self.forbidden[kind].T).max())
        return highest

    def _is_known(self, mark: np.ndarray, seconds: float) -> bool:
        """Tell whether there is a recording of about the same length with the same print."""
        as_long = np.flatnonzero(np.abs(np.array(self.seconds) / seconds - 1) < 0.02)
        return any(self.prints[i] @ mark > SAME for i in as_long)

    def _write(self, row: Row, path: str, audio: np.ndarray, rate: int, client: str) -> None:
        """Write the recording, and its line in the index."""
        group, id_ = name_of(path, row, client)
        target = self.out / row["kind"] / group / f"{id_}.flac"
        make_folder(target.parent)
        sound_files.write(target, audio * min(1, 0.99 / np.abs(audio).max()), rate, source=None)
        origin = [row["repository"], path, row["licence"]]
        measured = [f"{len(audio) / rate:.3f}", rate, cutoff(audio, rate)]
        self.append("index.tsv", [row["kind"], id_, group, *origin, *measured])

    def take(self, row: Row, folder: Path) -> collections.Counter[str]:
        """Bring the files of one row of the table into the corpus; return {outcome: count}."""
        git, files = open_repository(row["repository"], folder)
        new = {}
        for path, name in files.items():
            if wanted(path, row) and (row["repository"], path) not in self.seen:
                new[path] = name
        speaks = clients(git, files) if "client:" in row["group"] else {}
        counts = collections.Counter[str]()
        for (path, name), content in zip(new.items(), contents(git, new.values()), strict=True):
            client = speaks.get(Path(path).name, "")
            reason = "missing" if content is None else self.add(row, path, name, content, client)
            counts[reason.split(" (")[0] if reason else "kept"] += 1
            if reason:
                self.append("dropped.tsv", [row["kind"], row["repository"], path, reason])
        with atomic_path(self.out / "prints.npz", source=None) as part, part.open("wb") as file:
            np.savez(file, objects=self.objects, prints=self.prints, seconds=self.seconds)
        return counts


def main() -> None:
    """Read the command line and go through the table, one line of output per row."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    folders = {
        "--sources": "table of repositories",
        "--repositories": "folder of clones named owner+name",
        "--out": "folder of the corpus",
    }
    for name, explanation in folders.items():
        parser.add_argument(name, type=Path, required=True, help=explanation)
    parser.add_argument(
        "--sample-rate", type=int, default=48000, help="highest sampling rate stored, in Hz"
    )
    parser.add_argument(
        "--exclude-like",
        type=Path,
        action="append",
        default=[],
        help="recordings that must not occur",
    )
    parser.add_argument(
        "--experiments",
        action="store_true",
        help="also sources of which no model may be released: those with experiments under `use`",
    )
    options = parser.parse_args()
    corpus = Corpus(options.out, references(options.exclude_like), options.sample_rate)
    for row in read_table(options.sources):
        if row.get("use") == "experiments" and not options.experiments:
            print(f"{row['repository']}: left out, for experiments only", flush=True)
            continue
        try:
            counts = corpus.take(row, options.repositories)
            outcome = ", ".join(f"{n} {what}" for what, n in counts.most_common())
        except subprocess.CalledProcessError:
            outcome = "cannot be read or cloned"
        print(f"{row['repository']}: {outcome}", flush=True)


if __name__ == "__main__":
    main()
