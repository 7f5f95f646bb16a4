"""Files of the torch half: weights, runs to resume, tables of evaluations and of text corpora."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from qse.errors import QseError

from .mutations import damaged, garbled
from .target import Target, told


class Weights(Target):
    """Weights and configuration of a model, one of them damaged: a network is built and run."""

    name = "weights"

    def prepare(self, folder: Path) -> None:
        import small_networks
        import tomli_w

        from qse.train import checkpoint

        network = small_networks.streaming()
        checkpoint.save(folder / "weights.safetensors", network.state_dict(), {"step": "10"}, None)
        table = {"network": "streaming", **small_networks.STREAMING}
        (folder / "config.toml").write_text(tomli_w.dumps({"model": table}))
        self.folder = folder

    def run(self, folder: Path, rng: Random) -> None:
        import torch

        from qse.networks.weights import load_network, weights_step

        config, weights = (folder / name for name in ("config.toml", "weights.safetensors"))
        which = rng.random() < 0.5
        text = (self.folder / "config.toml").read_text()
        data = (self.folder / "weights.safetensors").read_bytes()
        config.write_bytes(garbled(text, rng) if which else text.encode())
        weights.write_bytes(data if which else damaged(data, rng))
        try:
            network, _ = load_network(config, weights)
            weights_step(folder)
        except QseError as error:
            if config.name not in str(error):
                told(str(error), weights)
            return
        with torch.no_grad():
            network(torch.zeros(1, 4 * network.config.hop_length))


class Runs(Target):
    """A training run, a file of which is damaged before it is resumed."""

    name = "runs"

    def prepare(self, folder: Path) -> None:
        import numpy as np
        import small_training
        import soundfile

        from qse.train.run import train

        rng = np.random.default_rng(0)
        for name in ("speech/a/1.wav", "noise/b/1.wav"):
            (folder / name).parent.mkdir(parents=True)
            soundfile.write(folder / name, 0.1 * rng.standard_normal(20000), 16000)
        self.job = small_training.job(folder, folder / "run", valid=None)
        train(small_training.CONFIG, self.job)

    def run(self, folder: Path, rng: Random) -> None:
        from dataclasses import replace

        from qse.train.recipe import read_config
        from qse.train.run import train

        out = folder / "run"
        shutil.copytree(self.job.out, out)
        path = rng.choice(sorted(path for path in out.iterdir() if path.suffix != ".png"))
        how: Callable[[], bytes] = lambda: garbled(path.read_text(), rng)  # noqa: E731
        path.write_bytes(
            damaged(path.read_bytes(), rng) if path.suffix == ".safetensors" else how()
        )
        try:
            train(read_config(out / "config.toml"), replace(self.job, out=out, resume=True))
        except QseError as error:
            if not any(
                other.name in str(error) for other in (path, out / "checkpoint.safetensors")
            ):
                told(str(error), path)


class Tables(Target):
    """Tables of an unfinished evaluation, of groups, and of text corpora."""

    name = "tables"
    TEXTS = {
        "scores.csv": "name,stamp,pesq_wb,stoi,error\na,1,2.5,0.9,\nb,1,2.5,,\nc,2,,,failed\n",
        "settings.json": json.dumps({"system": "x", "metrics": ["stoi"]}),
        "groups.tsv": "file\tsnr\na\t5\nb\t10\n",
        "sst2.tsv": "sentence\tlabel\nvery good\t1\nbad\t0\n",
        "snli.jsonl": '{"gold_label": "neutral", "sentence1": "a", "sentence2": "b"}\n',
    }

    def prepare(self, folder: Path) -> None:
        pass

    def run(self, folder: Path, rng: Random) -> None:
        from qse_papers.words import read_snli, read_sst2

        from qse.evaluate.report import read_groups
        from qse.evaluate.store import Store

        name = rng.choice(sorted(self.TEXTS))
        for other, text in self.TEXTS.items():
            (folder / other).write_bytes(garbled(text, rng) if other == name else text.encode())
        columns = ["name", "stamp", "pesq_wb", "stoi", "error"]
        settings = json.loads(self.TEXTS["settings.json"])
        read = {
            "groups.tsv": lambda path: read_groups(path, "snr"),
            "sst2.tsv": read_sst2,
            "snli.jsonl": read_snli,
        }.get(name, lambda path: Store(path.parent, columns, settings, {"a": "1", "b": "1"}))
        try:
            read(folder / name)
        except QseError as error:
            if str(folder) not in str(error):
                told(str(error), folder / name)
