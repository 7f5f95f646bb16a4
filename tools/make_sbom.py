"""Write the software bill of materials (SBOM) of qse in CycloneDX JSON.

    pip install cyclonedx-bom
    python tools/make_sbom.py CLEAN/bin/python SBOM.json

CLEAN is a virtual environment that holds the wheel and its dependencies. The libraries that the
wheel itself contains (qse/web/vendor) are added with their checksums: cyclonedx-py sees only
packages.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from qse.audio.atomic_write import write_text

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "qse/web/vendor"
ROW = re.compile(
    r"^\| `(?P<file>[^`]+)` \| (?:(?P<name>\S+) (?P<version>\S+), (?P<licence>[\w.-]+)|the same)",
    re.M,
)


def main(python: str, target: str) -> None:
    line = ["cyclonedx-py", "environment", "--pyproject", str(ROOT / "pyproject.toml")]
    line += ["--mc-type", "library", "--output-reproducible", "--spec-version", "1.6", python]
    bill = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
    if "onnxruntime" not in {component["name"] for component in bill["components"]}:
        raise SystemExit(
            f"{python} has no qse with its dependencies: install the wheel there first"
        )
    bill["components"] += vendored()
    write_text(Path(target), json.dumps(bill, indent=2) + "\n", source=None, is_named=True)
    print(f"{target}: {len(bill['components'])} components")


def vendored() -> list[dict]:
    """Return a component for each library in VENDOR, as its README lists them, with checksums."""
    sums = {}
    for line in (VENDOR / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split()
        sums[name] = digest

    found: list[dict] = []
    for row in ROW.finditer((VENDOR / "README.md").read_text(encoding="utf-8")):
        if row["name"]:
            found.append(
                {
                    "type": "library",
                    "bom-ref": row["name"],
                    "name": row["name"],
                    "version": row["version"],
                    "purl": f"pkg:npm/{row['name']}@{row['version']}",
                    "licenses": [{"license": {"id": row["licence"]}}],
                    "components": [],
                }
            )
        hashes = [{"alg": "SHA-256", "content": sums[row["file"]]}]
        found[-1]["components"].append(
            {"type": "file", "name": f"qse/web/vendor/{row['file']}", "hashes": hashes}
        )
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
