"""Measure the released models and write the tables of docs/models-tables.md.

    python tools/release_tables.py MODELS --data DATA --results RESULTS --before BEFORE
        [--document docs/models-tables.md]

MODELS has the folders live-tiny, live-base and live-large. DATA has the folders valid and unseen (16 kHz), valid48 and
unseen48 (48 kHz), german, english and whispers, each with `clean/` and `noisy/`. The first four also have a
tab-separated `groups.tsv` with the columns id, speaker, snr_db, noise, speech_source and noise_source; valid has voice
in addition, valid48 language. mix_pairs.py makes unseen and unseen48.
RESULTS gets one folder per model and evaluation; what it holds is not measured again. BEFORE is the RESULTS of an
earlier release, for the changes.

A table of the document is rewritten if the line above it is `<!-- release_tables: NAME, N rows kept -->`; its head and
its first N rows stay.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from release_rows import BINS, MAIN, MODELS, Tables

from qse.errors import QseError

EVALUATIONS = {  # name: folder of DATA, metrics, further options
    "valid": ("valid", (*MAIN, *BINS), []),
    "valid48": ("valid48", (*MAIN, *BINS, "band_snr"), []),
    "valid48-wide": ("valid48", (*MAIN, *BINS), ["--sample-rate", "16000"]),
    "unseen": ("unseen", (*MAIN, *BINS), []),
    "unseen48": ("unseen48", (*MAIN, *BINS, "band_snr"), []),
    "stream": ("valid", MAIN, ["--lead-in", "3"]),
    "clean": ("valid", MAIN, []),
    "german": ("german", MAIN, []),
    "english": ("english", MAIN, []),
    "whispers": ("whispers", MAIN[1:], []),
}
QSE = "from qse_cli.main import main; main()"
STEADY = Path(__file__).parents[1] / "assets" / "steady.py"
MARK = re.compile(r"<!-- release_tables: ([\w-]+), (\d+) rows kept -->\n((?:\|.*\n)+)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", type=Path)
    for name in ("--data", "--results", "--before"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--document", type=Path, default=Path("docs/models-tables.md"))
    given = parser.parse_args()
    for model in MODELS:
        measure(given.models / model, given.data, given.results / model)
    tables = Tables(given.results, given.before, given.data)
    given.document.write_text(
        rewritten(given.document.read_text(encoding="utf-8"), tables), encoding="utf-8"
    )


def measure(model: Path, data: Path, results: Path) -> None:
    """Evaluate one model on everything, and measure its gains for sustained sounds."""
    for name, (folder, metrics, options) in EVALUATIONS.items():
        if (results / name / "summary.json").exists():
            continue
        clean, noisy = (
            data / folder / side for side in ("clean", "clean" if name == "clean" else "noisy")
        )
        line = [
            "evaluate",
            model,
            "--clean",
            clean,
            "--noisy",
            noisy,
            "--metrics",
            ",".join(metrics),
            *options,
        ]
        _run(["-c", QSE, *line, "--out", results / name])
    if not (results / "steady.md").exists():
        (results / "steady.md").write_text(_run([STEADY, model]), encoding="utf-8")


def rewritten(document: str, tables: Tables) -> str:
    """Return the document with the rows of all marked tables replaced."""

    def replaced(match: re.Match[str]) -> str:
        name, kept, table = match.groups()
        old = table.splitlines(keepends=True)[: 2 + int(kept)]
        new = [
            f"|{'|'.join(f' {text} ' if text else ' ' for text in row)}|\n"
            for row in tables.rows(name)
        ]
        return f"<!-- release_tables: {name}, {kept} rows kept -->\n{''.join([*old, *new])}"

    return MARK.sub(replaced, document)


def _run(line: list) -> str:
    """Run Python with the arguments and return what it prints."""
    done = subprocess.run([sys.executable, *map(str, line)], capture_output=True, text=True)
    if done.returncode:
        raise QseError(f"{' '.join(map(str, line))} failed: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    try:
        main()
    except QseError as error:
        raise SystemExit(f"release_tables.py: {error}") from None
