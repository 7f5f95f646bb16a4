"""Cut excerpts of recordings in public Git repositories: REAL, or the measured responses of ROOMS.

    python tools/cut_excerpts.py --sources tools/real_sources.tsv --repositories DIR --out OUT

Every row of the table names one excerpt:

name        name of the excerpt: OUT/<name>.flac
repository  owner/name; read from DIR/owner+name (clone or bare repository), else cloned into DIR
path        the recording in the newest commit of the repository
start_s     first second of the excerpt
end_s       last second of the excerpt

An excerpt is mono PCM16 at the sampling rate of its recording. Levels are untouched, except that
a peak above full scale is lowered to 0.99. Files that exist already are not made again. The exit
status is 1 if an excerpt could not be made.
"""

import argparse
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import sound_files
import soundfile
from repository_files import Row, contents, open_repository, read_table

from qse.audio.folder_path import make_folder


def excerpt(content: bytes, start: float, end: float) -> tuple[np.ndarray, int]:
    """Return the samples from `start` to `end` (seconds) of a recording, mono, and its rate."""
    audio, rate = soundfile.read(io.BytesIO(content), dtype="float32", always_2d=True)
    audio = audio[round(start * rate) : round(end * rate)].mean(1)
    if len(audio) < round((end - start) * rate) - rate // 10:
        raise ValueError("the recording is shorter than the table says")
    return audio / max(1, np.abs(audio).max() / 0.99), rate


def cut(rows: list[Row], folder: Path, out: Path) -> dict[str, str]:
    """Write the excerpts of one repository; returns {name of a missing excerpt: reason}."""
    missing: dict[str, str] = {}
    try:
        git, files = open_repository(rows[0]["repository"], folder)
    except subprocess.CalledProcessError:
        return {row["name"]: "the repository cannot be read or cloned" for row in rows}
    paths = sorted({row["path"] for row in rows} & set(files))
    recordings = dict(zip(paths, contents(git, [files[path] for path in paths]), strict=True))
    for row in rows:
        content = recordings.get(row["path"])
        if content is None:
            missing[row["name"]] = "no such file in the newest commit"
            continue
        try:
            audio, rate = excerpt(content, float(row["start_s"]), float(row["end_s"]))
        except (soundfile.LibsndfileError, ValueError) as error:
            missing[row["name"]] = str(error)
            continue
        sound_files.write(out / f"{row['name']}.flac", audio, rate, source=None)
    return missing


def main() -> int:
    """Read the command line and go through the repositories; print what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments = {
        "--sources": "table of excerpts",
        "--repositories": "folder of clones named owner+name",
        "--out": "folder of the excerpts",
    }
    for name, explanation in arguments.items():
        parser.add_argument(name, type=Path, required=True, help=explanation)
    options = parser.parse_args()
    make_folder(options.out)
    rows = read_table(options.sources)
    missing: dict[str, str] = {}
    for repository in sorted({row["repository"] for row in rows}):
        named = [row for row in rows if row["repository"] == repository]
        wanted = [row for row in named if not (options.out / f"{row['name']}.flac").exists()]
        if wanted:
            missing |= cut(wanted, options.repositories, options.out)
    for name, reason in missing.items():
        print(f"{name}: {reason}", flush=True)
    print(f"{len(rows) - len(missing)} of {len(rows)} excerpts in {options.out}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
