"""Assemble a training corpus of noise and speech from public Git repositories.

    python tools/assemble_corpus.py --sources tools/corpus_sources.tsv --repositories DIR --out OUT

Every row of the table names a repository and the audio files wanted from its newest commit:

repository  owner/name; read from DIR/owner+name (a clone or a bare repository), else cloned into DIR
paths       globs, separated by spaces; `*` also matches `/`, `?` stands for a space, case is ignored
exclude     globs likewise, or plain words: a file is left out if a word of its path begins with one of them
group       name of the folder in OUT/noise or OUT/speech; `x-folder:2` is x- and the second path component

Kept recordings become OUT/<kind>/<group>/<id>.flac, mono PCM16, and a row of OUT/index.tsv; the rest are listed
in OUT/dropped.tsv with the reason. A file named in either list is not looked at again: a run may be repeated.
"""

import argparse
import collections
import csv
import fnmatch
import hashlib
import io
import re
import subprocess
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.lib.stride_tricks import sliding_window_view

AUDIO = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff")
SPOKEN = re.compile(  # words of a path that tell of speech
    "(voice|speech|speak|announc|dialog|vocal|taunt|chatter|narrat|spoken|talk|lyric|acknowledg|count(ing|down)).*"
    "|vox|says?|said|words?|phrases?|sing(s|ing|er)?|sung|rap|ack|scanner"
)
LISTS = {
    "index.tsv": ["kind", "id", "group", "repository", "path", "licence", "seconds", "sample_rate", "cutoff_hz"],
    "dropped.tsv": ["kind", "repository", "path", "reason"],
}
RATE, FFT, HOP, PATCH = 16000, 1024, 320, 24  # of the prints that recognise a recording; a patch has 0.48 s
BANDS = (700 * (np.geomspace(1 + 100 / 700, 1 + 7500 / 700, 33) - 1) * FFT / RATE).astype(int)  # mel scale
ALIKE = 0.88  # correlation of two patches that show the same recording
SAME = 0.93  # correlation of two whole recordings of the same length that are copies


def read_table(path):
    """Return the rows of a tab-separated file as dictionaries."""
    return list(csv.DictReader(path.read_text().split("\n"), delimiter="\t", quoting=csv.QUOTE_NONE))


def open_repository(repository, folder):
    """Return the git command for `owner/name`, cloned if it is not in `folder`, and {path: object id} of its files."""
    clone = folder / repository.replace("/", "+")
    if not clone.exists():
        source = ["--bare", "--depth", "1", f"https://github.com/{repository}", clone]
        subprocess.run(["git", "clone", "--quiet", *source], check=True)
    git = ["git", f"--git-dir={clone / '.git' if (clone / '.git').exists() else clone}"]
    listing = subprocess.run([*git, "ls-tree", "-r", "-z", "HEAD"], check=True, capture_output=True).stdout
    entries = (line.split("\t", 1) for line in listing.decode(errors="replace").split("\0") if line)
    return git, {path: meta.split()[2] for meta, path in entries if meta.startswith("100")}  # files, no links


def wanted(path, row):
    """Tell whether the row of the table asks for this path."""
    lower, exclude = path.lower(), row["exclude"].lower().split()
    words = tuple(w for w in exclude if not set(w) & set("*?/"))
    said = re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", path.rsplit(".", 1)[0]).lower())
    return (
        lower.endswith(AUDIO)
        and any(fnmatch.fnmatchcase(lower, g) for g in row["paths"].lower().split())
        and not any(fnmatch.fnmatchcase(lower, g) for g in exclude)
        and not any(w.startswith(words) for w in said)
        and not (row["kind"] == "noise" and any(SPOKEN.fullmatch(w) for w in said))
    )


def name_of(path, row):
    """Return the group and the id of a file."""
    group, folder, number = row["group"].partition("folder:")
    group += path.split("/")[int(number) - 1] if folder else ""
    digest = hashlib.sha1(f"{row['repository']}/{path}".encode()).hexdigest()[:8]
    group, stem = (re.sub("[^a-z0-9]+", "-", text.lower()).strip("-") for text in (group, Path(path).stem[:40]))
    return group, f"{stem or 'x'}-{digest}"


def frame_power(audio, rate):
    """Return the power of each 20 ms frame."""
    size = rate // 50
    return np.square(audio[: len(audio) // size * size].reshape(-1, size)).mean(1)


def decode(content, highest_rate):
    """Decode a file to mono without offset and without silent ends; returns samples and sampling rate."""
    audio, rate = soundfile.read(io.BytesIO(content), dtype="float32", always_2d=True)
    audio = audio.mean(1)
    if rate > highest_rate:
        audio, rate = soxr.resample(audio, rate, highest_rate, quality="VHQ"), highest_rate
    sounding = np.flatnonzero(frame_power(audio, rate) > 1e-8)
    audio = audio[sounding[0] * rate // 50 : (sounding[-1] + 1) * rate // 50] if len(sounding) else audio[:0]
    return audio - audio.sum() / max(1, len(audio)), rate


def fault(audio, rate, kind):
    """Return why the level of a recording makes it useless, or None."""
    level = 10 * np.log10(frame_power(audio, rate) + 1e-10)  # dBFS, every 20 ms
    if np.sum(level > -65) < 25:
        return "short"
    if not np.mean(10 ** (level / 10)) >= 10**-6.5:
        return "silent"
    if kind == "speech" and np.percentile(level, 95) - np.percentile(level, 5) < 30:
        return "noisy speech"
    return "clipped speech" if kind == "speech" and np.sum(np.abs(audio) > 0.999) > 10 else None


def power_spectra(audio, size, hop):
    """Yield the power spectra (frames, bins) of a recording, block by block."""
    frames = sliding_window_view(np.pad(audio, (0, max(0, size - len(audio)))), size)[::hop]
    for i in range(0, len(frames), 2000):
        yield np.square(np.abs(np.fft.rfft(frames[i : i + 2000] * np.hanning(size)))).astype("float32")


def cutoff(audio, rate):
    """Return the highest frequency whose 250 Hz band is within 80 dB of the strongest, in Hz."""
    size = rate * 16 // 250
    power = sum(block.sum(0, dtype="float64") for block in power_spectra(audio, size, size // 2))
    bands = power[: len(power) // 16 * 16].reshape(-1, 16).sum(1)
    return int(min(250 * (1 + np.flatnonzero(bands >= 1e-8 * bands.max())[-1]), rate // 2))


def log_mel(audio, rate):
    """Return the log power (frames, 32 bands) of a recording, 50 frames a second, 60 dB deep."""
    audio = soxr.resample(audio, rate, RATE, quality="HQ")
    audio = np.pad(audio, (0, max(0, FFT + PATCH * HOP - len(audio))))
    power = np.concatenate([np.add.reduceat(block, BANDS, 1)[:, :-1] for block in power_spectra(audio, FFT, HOP)])
    return np.log10(np.maximum(power, power.max() * 1e-6) + 1e-12)


def directions(patches):
    """Return (n, a, b) patches without the mean of every row and column as unit vectors, and their lengths."""
    patches = patches - patches.mean(1, keepdims=True)
    patches = (patches - patches.mean(2, keepdims=True)).reshape(len(patches), -1)
    length = np.linalg.norm(patches, axis=1, keepdims=True)
    return patches / np.maximum(length, 1.0), length[:, 0]


def patches_of(audio, rate):
    """Return the four most eventful patches of a recording, each at two phases of the frame grid."""
    grids = (sliding_window_view(log_mel(audio[shift:], rate), PATCH, axis=0)[::PATCH] for shift in (0, rate // 100))
    return np.concatenate([unit[np.argsort(-length)[:4]] for unit, length in map(directions, grids)])


def references(folders):
    """Return {kind: patches that must not occur}; folders clean and noisy give noisy minus clean, and clean."""
    found = {"noise": [], "speech": []}
    for folder in folders:
        pairs = (folder / "clean").is_dir() and (folder / "noisy").is_dir()
        for path in (p for p in (folder / "clean" if pairs else folder).rglob("*") if p.suffix.lower() in AUDIO):
            audio, rate = soundfile.read(path, dtype="float32", always_2d=True)
            noise = soundfile.read(folder / "noisy" / path.name, always_2d=True)[0] - audio if pairs else audio
            found["noise"].append(patches_of(noise.mean(1, dtype="float32"), rate))
            found["speech"].append(patches_of(audio.mean(1), rate))
    return {kind: np.concatenate(patches) for kind, patches in found.items() if patches}


class Corpus:
    """The corpus folder: what it holds, what was dropped, and the prints that find copies."""

    def __init__(self, out, forbidden, highest_rate):
        self.out, self.forbidden, self.highest_rate = out, forbidden, highest_rate
        self.seen, self.objects, self.prints, self.seconds = set(), [], [], []
        out.mkdir(parents=True, exist_ok=True)
        for name, columns in LISTS.items():
            if not (out / name).exists():
                self.append(name, columns)
            self.seen |= {(row["repository"], row["path"]) for row in read_table(out / name)}
        if (out / "prints.npz").exists():
            saved = np.load(out / "prints.npz")
            self.objects, self.prints, self.seconds = (list(saved[key]) for key in ("objects", "prints", "seconds"))

    def append(self, name, fields):
        """Append a line to one of the lists."""
        with open(self.out / name, "a") as file:
            file.write("\t".join(map(str, fields)) + "\n")

    def add(self, row, path, name, content):
        """Store one file of a repository; returns None, or the reason why it is left out."""
        if content.startswith(b"version https://git-lfs") or name in self.objects:
            return "copy" if name in self.objects else "LFS pointer"
        try:
            audio, rate = decode(content, self.highest_rate)
        except (soundfile.LibsndfileError, ValueError):
            return "undecodable"
        if reason := fault(audio, rate, row["kind"]):
            return reason
        mel = log_mel(audio, rate)
        windows = sliding_window_view(mel, PATCH, axis=0)
        blocks = (directions(windows[i : i + 1000])[0] for i in range(0, len(windows), 1000))
        like = max((block @ self.forbidden[row["kind"]].T).max() for block in blocks) if self.forbidden else 0
        if like > ALIKE:
            return f"forbidden ({like:.2f})"
        audio = audio[max(0, len(audio) - 60 * rate) // 2 :][: 60 * rate]  # the middle minute
        seconds = len(audio) / rate
        mark = directions(np.array([[cell.mean(0) for cell in np.array_split(mel, PATCH)]]))[0][0]
        if any(abs(t / seconds - 1) < 0.02 and p @ mark > SAME for t, p in zip(self.seconds, self.prints, strict=True)):
            return "copy"
        for known, value in (self.objects, name), (self.prints, mark), (self.seconds, seconds):
            known.append(value)
        group, id_ = name_of(path, row)
        target = self.out / row["kind"] / group / f"{id_}.flac"
        target.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(target, audio * min(1, 0.99 / np.abs(audio).max()), rate, subtype="PCM_16")
        fields = [row["kind"], id_, group, row["repository"], path, row["licence"], f"{seconds:.3f}", rate]
        self.append("index.tsv", [*fields, cutoff(audio, rate)])
        return None

    def take(self, row, folder):
        """Bring the files of one row of the table into the corpus; returns {kept or why not: count}."""
        git, files = open_repository(row["repository"], folder)
        new = {p: n for p, n in files.items() if wanted(p, row) and (row["repository"], p) not in self.seen}
        counts = collections.Counter()
        for path, name in new.items():
            found = subprocess.run([*git, "cat-file", "blob", name], capture_output=True, check=False)
            reason = self.add(row, path, name, found.stdout) if found.returncode == 0 else "missing"
            counts[reason.split(" (")[0] if reason else "kept"] += 1
            if reason:
                self.append("dropped.tsv", [row["kind"], row["repository"], path, reason])
        np.savez(self.out / "prints.npz", objects=self.objects, prints=self.prints, seconds=self.seconds)
        return counts


def main():
    """Read the command line and go through the table, one line of output per row."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sources", type=Path, required=True, help="table of repositories")
    parser.add_argument("--repositories", type=Path, required=True, help="folder of clones named owner+name")
    parser.add_argument("--out", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--sample-rate", type=int, default=48000, help="highest sampling rate stored, in Hz")
    parser.add_argument("--exclude-like", type=Path, action="append", default=[], help="recordings that must not occur")
    options = parser.parse_args()
    corpus = Corpus(options.out, references(options.exclude_like), options.sample_rate)
    for row in read_table(options.sources):
        try:
            outcome = ", ".join(f"{n} {what}" for what, n in corpus.take(row, options.repositories).most_common())
        except subprocess.CalledProcessError:
            outcome = "cannot be read or cloned"
        print(f"{row['repository']}: {outcome}", flush=True)


if __name__ == "__main__":
    main()
