"""Write the software bill of materials (SBOM) of qse in CycloneDX JSON, from an environment in which it is installed.

    pip install cyclonedx-bom
    python tools/make_sbom.py CLEAN/bin/python SBOM.json

CLEAN is a virtual environment that holds the wheel and its dependencies. ONNX Runtime Web, which the wheel contains, is
added with its checksums: cyclonedx-py sees only packages.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "qse/web/vendor"
PACKAGE = "qse-speech"


def main(python: str, target: str) -> None:
    line = ["cyclonedx-py", "environment", "--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "library"]
    line += ["--output-reproducible", "--spec-version", "1.6", python]
    bill = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
    names = {component["name"] for component in bill["components"]} | {bill["metadata"]["component"]["name"]}
    if PACKAGE not in names or "onnxruntime" not in names:
        raise SystemExit(f"{python} has no {PACKAGE} with its dependencies: install the wheel there first")
    bill["components"].append(onnxruntime_web())
    Path(target).write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    print(f"{target}: {len(bill['components'])} components")


def onnxruntime_web() -> dict:
    """Return the component for the files of VENDOR, with the version that its README names."""
    version = (VENDOR / "README.md").read_text(encoding="utf-8").split()[4]
    sums = [line.split() for line in (VENDOR / "SHA256SUMS").read_text(encoding="utf-8").splitlines()]
    return {
        "type": "library",
        "bom-ref": "onnxruntime-web",
        "name": "onnxruntime-web",
        "version": version,
        "purl": f"pkg:npm/onnxruntime-web@{version}",
        "licenses": [{"license": {"id": "MIT"}}],
        "components": [
            {"type": "file", "name": f"qse/web/vendor/{name}", "hashes": [{"alg": "SHA-256", "content": checksum}]}
            for checksum, name in sums
        ],
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
