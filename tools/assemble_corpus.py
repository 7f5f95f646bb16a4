"""Assemble a training corpus of noise and speech from public Git repositories.

    python tools/assemble_corpus.py --sources tools/corpus_sources.tsv --repositories DIR --out OUT

Every row of the table names a repository and the audio files wanted from its newest commit:

repository  owner/name; read from DIR/owner+name (a clone or a bare repository), else cloned into DIR
paths       globs, separated by spaces; `*` also matches `/`, `?` stands for a space, case is ignored
exclude     globs likewise, or plain words: a file is left out if a word of its path begins with one of them
group       name of the folder in OUT/noise or OUT/speech; `x-folder:2` is x- and the second path component, `x-name:9`
            x- and the first nine characters of the file name

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
import tempfile
from pathlib import Path

import numpy as np
import soundfile
import soxr
from audio_prints import ALIKE, AUDIO, PATCH, SAME, directions, log_mel, power_spectra, references
from numpy.lib.stride_tricks import sliding_window_view

SPOKEN = re.compile(  # words of a path that tell of speech
    "(voice|speech|speak|announc|dialog|vocal|taunt|chatter|narrat|spoken|talk|lyric|acknowledg|count(ing|down)).*"
    "|vox|says?|said|words?|phrases?|sing(s|ing|er)?|sung|rap|ack|scanner"
)
LISTS = {
    "index.tsv": [
        "kind",
        "id",
        "group",
        "repository",
        "path",
        "licence",
        "seconds",
        "sample_rate",
        "cutoff_hz",
    ],
    "dropped.tsv": ["kind", "repository", "path", "reason"],
}


def read_table(path):
    """Return the rows of a tab-separated file as dictionaries."""
    return list(
        csv.DictReader(path.read_text().split("\n"), delimiter="\t", quoting=csv.QUOTE_NONE)
    )


def open_repository(repository, folder):
    """Return the git command for `owner/name`, cloned if it is not in `folder`, and {path: object id} of its files."""
    clone = folder / repository.replace("/", "+")
    if not clone.exists():
        source = ["--bare", "--depth", "1", f"https://github.com/{repository}", clone]
        subprocess.run(["git", "clone", "--quiet", *source], check=True)
    git = ["git", f"--git-dir={clone / '.git' if (clone / '.git').exists() else clone}"]
    listing = subprocess.run(
        [*git, "ls-tree", "-r", "-z", "HEAD"], check=True, capture_output=True
    ).stdout
    entries = (line.split("\t", 1) for line in listing.decode(errors="replace").split("\0") if line)
    return git, {
        path: meta.split()[2] for meta, path in entries if meta.startswith("100")
    }  # files, no links


def contents(git, names):
    """Yield the content of each object of a repository, None where it is missing."""
    with tempfile.TemporaryFile() as wanted:
        wanted.write("".join(f"{name}\n" for name in names).encode())
        wanted.seek(0)
        with subprocess.Popen(
            [*git, "cat-file", "--batch"], stdin=wanted, stdout=subprocess.PIPE
        ) as reader:
            for _ in names:
                size = reader.stdout.readline().split()[2:]
                yield reader.stdout.read(int(size[0]) + 1)[:-1] if size else None


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
    group, part, number = re.fullmatch("(.*?)(?:(folder|name):(.*))?", row["group"]).groups()
    if part:
        group += (
            path.split("/")[int(number) - 1] if part == "folder" else Path(path).name[: int(number)]
        )
    digest = hashlib.sha1(f"{row['repository']}/{path}".encode()).hexdigest()[:8]
    group, stem = (
        re.sub("[^a-z0-9]+", "-", text.lower()).strip("-") for text in (group, Path(path).stem[:40])
    )
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
    audio = (
        audio[sounding[0] * rate // 50 : (sounding[-1] + 1) * rate // 50]
        if len(sounding)
        else audio[:0]
    )
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


def cutoff(audio, rate):
    """Return the highest frequency whose 250 Hz band is within 80 dB of the strongest, in Hz."""
    size = rate * 16 // 250
    power = sum(block.sum(0, dtype="float64") for block in power_spectra(audio, size, size // 2))
    bands = power[: len(power) // 16 * 16].reshape(-1, 16).sum(1)
    return int(min(250 * (1 + np.flatnonzero(bands >= 1e-8 * bands.max())[-1]), rate // 2))


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
            self.objects, self.prints, self.seconds = (
                list(saved[key]) for key in ("objects", "prints", "seconds")
            )

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
        like = (
            max((block @ self.forbidden[row["kind"]].T).max() for block in blocks)
            if self.forbidden
            else 0
        )
        if like > ALIKE:
            return f"forbidden ({like:.2f})"
        audio = audio[max(0, len(audio) - 60 * rate) // 2 :][: 60 * rate]  # the middle minute
        seconds = len(audio) / rate
        mark = directions(np.array([[cell.mean(0) for cell in np.array_split(mel, PATCH)]]))[0][0]
        as_long = np.flatnonzero(np.abs(np.array(self.seconds) / seconds - 1) < 0.02)
        if any(self.prints[i] @ mark > SAME for i in as_long):
            return "copy"
        for known, value in (self.objects, name), (self.prints, mark), (self.seconds, seconds):
            known.append(value)
        group, id_ = name_of(path, row)
        target = self.out / row["kind"] / group / f"{id_}.flac"
        target.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(target, audio * min(1, 0.99 / np.abs(audio).max()), rate, subtype="PCM_16")
        fields = [
            row["kind"],
            id_,
            group,
            row["repository"],
            path,
            row["licence"],
            f"{seconds:.3f}",
            rate,
        ]
        self.append("index.tsv", [*fields, cutoff(audio, rate)])
        return None

    def take(self, row, folder):
        """Bring the files of one row of the table into the corpus; returns {kept or why not: count}."""
        git, files = open_repository(row["repository"], folder)
        new = {
            p: n
            for p, n in files.items()
            if wanted(p, row) and (row["repository"], p) not in self.seen
        }
        counts = collections.Counter()
        for (path, name), content in zip(new.items(), contents(git, new.values()), strict=True):
            reason = "missing" if content is None else self.add(row, path, name, content)
            counts[reason.split(" (")[0] if reason else "kept"] += 1
            if reason:
                self.append("dropped.tsv", [row["kind"], row["repository"], path, reason])
        np.savez(
            self.out / "prints.npz", objects=self.objects, prints=self.prints, seconds=self.seconds
        )
        return counts


def main():
    """Read the command line and go through the table, one line of output per row."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sources", type=Path, required=True, help="table of repositories")
    parser.add_argument(
        "--repositories", type=Path, required=True, help="folder of clones named owner+name"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the corpus")
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
    options = parser.parse_args()
    corpus = Corpus(options.out, references(options.exclude_like), options.sample_rate)
    for row in read_table(options.sources):
        try:
            outcome = ", ".join(
                f"{n} {what}" for what, n in corpus.take(row, options.repositories).most_common()
            )
        except subprocess.CalledProcessError:
            outcome = "cannot be read or cloned"
        print(f"{row['repository']}: {outcome}", flush=True)


if __name__ == "__main__":
    main()
