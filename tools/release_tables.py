"""Measure the released models and write the tables of the documents.

    python tools/release_tables.py MODELS --data DATA --results RESULTS

MODELS has a folder for each model, named live-SIZE or studio-SIZE.
DATA has the folders valid and unseen (16 kHz), valid48 and unseen48 (48 kHz), rooms and whispers,
each with `clean/` and `noisy/`, and real with `noisy/` alone. The first four also have a
tab-separated `groups.tsv` with the columns id, speaker, snr_db, noise, speech_source and
noise_source. mix_pairs.py makes unseen, unseen48 and rooms, cut_excerpts.py makes real, and
validation_groups.py the groups of valid and valid48.
RESULTS gets one folder per model and evaluation; what it holds is not measured again.

The documents are those in docs/ with marks, or those given with --document. A table is rewritten if
the line above it is `<!-- release_tables: NAME, N rows kept -->`; its first N rows stay, with empty
cells for columns that they lack. A table has the models that were measured on its set, and stays as
it is if none was; the program says so.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from release_cells import BINS, MAIN, PAUSES
from release_rows import STREAMED, Absent, Tables

from qse.audio.atomic_write import write_text
from qse.audio.folder_path import make_folder
from qse.errors import QseError

SCORES = (*MAIN, *BINS, *PAUSES)
EVALUATIONS: dict[str, tuple[str, tuple[str, ...], list[str]]] = {
    # name: folder of DATA, metrics, further options
    "valid": ("valid", SCORES, []),
    "valid48": ("valid48", (*SCORES, "band_snr"), []),
    "valid48-wide": ("valid48", SCORES, ["--sample-rate", "16000"]),
    "unseen": ("unseen", SCORES, []),
    "unseen48": ("unseen48", (*SCORES, "band_snr"), []),
    "rooms": ("rooms", (*MAIN, *PAUSES), []),
    "real": ("real", ("dnsmos",), []),
    "stream": ("valid", MAIN, ["--lead-in", "3"]),
    "clean": ("valid", MAIN, []),
    "whispers": ("whispers", MAIN[1:], []),
}
SIZES = ("tiny", "base", "large")
QSE = "from qse_cli.main import main; main()"
ROOT = Path(__file__).parents[1]
STEADY = ROOT / "assets" / "steady.py"
MARK = re.compile(r"<!-- release_tables: ([\w-]+), (\d+) rows kept -->\n((?:\|.*\n)+)")


def main() -> None:
    """Read the command line, measure what is not measured yet, and rewrite the documents."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", type=Path)
    for name in ("--data", "--results"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--document", type=Path, action="append", help="else those in docs/")
    given = parser.parse_args()

    models = models_in(given.models)
    for model in models:
        measure(given.models / model, given.data, given.results / model)
    tables = Tables(given.results, given.data, models)
    for document in given.document or documents():
        text = rewritten(document.read_text(encoding="utf-8"), tables)
        write_text(document, text, source=None, is_named=True)


def models_in(folder: Path) -> list[str]:
    """Return the names of the models in `folder`: live, then studio, each from small to large."""
    names = [path.name for path in folder.glob("*-*") if path.is_dir()]
    found = [name for name in names if name.startswith(("live-", "studio-"))]
    if not found:
        raise QseError(f"{folder}: holds no folder called live-SIZE or studio-SIZE")
    return sorted(found, key=_place)


def _place(name: str) -> tuple[str, int, str]:
    family, _, size = name.partition("-")
    return family, SIZES.index(size) if size in SIZES else len(SIZES), size


def documents() -> list[Path]:
    """Return the documents that have marks."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    return [page for page in pages if MARK.search(page.read_text(encoding="utf-8"))]


def measure(model: Path, data: Path, results: Path) -> None:
    """Evaluate one model on all sets, and measure its gains for sustained sounds."""
    for name, (folder, metrics, options) in EVALUATIONS.items():
        if name == "stream" and model.name not in STREAMED:
            continue
        if (results / name / "summary.json").exists():
            continue
        if not (data / folder).is_dir():
            print(f"{model.name}, {name}: not measured, for {data / folder} is absent")
            continue

        clean = data / folder / "clean"
        noisy = clean if name == "clean" else data / folder / "noisy"
        line: list[str | Path] = ["evaluate", model, "--noisy", noisy]
        if clean.is_dir():
            line += ["--clean", clean]
        line += ["--metrics", ",".join(metrics), *options]
        _run(["-c", QSE, *line, "--out", results / name])
    if not (results / "steady.md").exists():
        make_folder(results)
        write_text(results / "steady.md", _run([STEADY, model]), source=None)


def rewritten(document: str, tables: Tables) -> str:
    """Return the document with all marked tables replaced."""

    def replaced(match: re.Match[str]) -> str:
        name, kept, old = match.groups()
        try:
            table = tables.table(name)
        except Absent as reason:
            print(f"table {name}: stays as it is, for {reason}")
            return match.group()

        lines = [_line(table.head), f"|{'---|' * len(table.head)}\n"]
        for line in old.splitlines()[2 : 2 + int(kept)]:
            missing = 1 + len(table.head) - line.count("|")
            lines.append(line + " |" * missing + "\n")
        lines += map(_line, table.rows)
        return f"<!-- release_tables: {name}, {kept} rows kept -->\n{''.join(lines)}"

    return MARK.sub(replaced, document)


def _line(cells: list[str]) -> str:
    padded = [f" {cell} " if cell else " " for cell in cells]
    return f"|{'|'.join(padded)}|\n"


def _run(line: list[str | Path]) -> str:
    """Run Python with the arguments and return what it prints."""
    words = [str(word) for word in line]
    done = subprocess.run([sys.executable, "-P", *words], capture_output=True, text=True)
    if done.returncode:
        raise QseError(f"{' '.join(words)} failed: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    try:
        main()
    except QseError as error:
        raise SystemExit(f"release_tables.py: {error}") from None
