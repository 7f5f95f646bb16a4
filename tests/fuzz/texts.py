"""Text files that the light half and evaluation read: recipes, manifests, journals, tables."""

import json
from pathlib import Path
from random import Random

from audio_files import make, tone

from qse.errors import QseError

from .mutations import garbled
from .target import Finding, Target, qse, told

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))


class Manifests(Target):
    """An input manifest or the output manifest of an interrupted run, through `qse clean`."""

    name = "manifests"

    def prepare(self, folder: Path) -> None:
        self.wav = make(folder / "one.wav", tone(500))
        lines = [
            {"audio_filepath": "one.wav", "duration": 0.03, "text": "é", "offset": 0.0},
            {"audio_filepath": "no"},
        ]
        self.manifest = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / "in.jsonl").write_text(self.manifest)
        qse("clean", folder / "in.jsonl", "-o", folder / "out", "--manifest", folder / "out.jsonl")
        self.journal = (folder / "out.jsonl").read_text()

    def run(self, folder: Path, rng: Random) -> None:
        (folder / "one.wav").write_bytes(self.wav.read_bytes())
        first = rng.random() < 0.5
        (folder / "in.jsonl").write_bytes(
            garbled(self.manifest, rng) if first else self.manifest.encode()
        )
        if not first:
            (folder / "out.jsonl").write_bytes(garbled(self.journal, rng))
        line = (
            "clean",
            folder / "in.jsonl",
            "-o",
            folder / "out",
            "--manifest",
            folder / "out.jsonl",
        )
        qse(*line, "--overwrite")
        if any(path.suffix == ".part" for path in folder.rglob("*")):
            raise Finding("a partial file was left")


class Configurations(Target):
    """A recipe, read and changed as `qse train` does, without PyTorch where that is missing."""

    name = "configurations"

    def prepare(self, folder: Path) -> None:
        self.texts = [path.read_text() for path in RECIPES]

    def run(self, folder: Path, rng: Random) -> None:
        from qse import config as configuration

        path = folder / "recipe.toml"
        path.write_bytes(garbled(rng.choice(self.texts), rng))
        change = garbled("train.steps=100", rng).decode("utf-8", "replace").strip()
        try:
            read_config = _reader()
            read_config(
                path, [change] if rng.random() < 0.3 else []
            ) if read_config else configuration.read(path)
        except QseError as error:
            if path.name in str(error) or "--set" in str(error):
                return
            told(str(error), path)


def _reader():
    try:
        from qse.train.recipe import read_config
    except ImportError:
        return None
    return read_config
