"""What the time mixers and algebras of the streaming family cost: parameters, operations, memory, time per hop.

Networks are untrained: cost does not depend on the values of weights. For quality, train the recipe once per word,
`qse train --config recipes/mixers.toml --set model.time_mixer=ssm ...`.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch

from .. import __version__
from ..engine import Engine
from ..export import export_stream
from ..networks import build_network
from ..networks.algebra import ALGEBRAS
from ..networks.mixers import TIME_MIXERS
from ..release import measure
from .results import Row, write_table


@dataclass(frozen=True)
class Mixers:
    """Every mixer over quaternions, and every other algebra with a GRU."""

    mixers: tuple[str, ...] = tuple(TIME_MIXERS)
    algebras: tuple[str, ...] = ALGEBRAS[1:]
    seconds: float = 10.0

    FULL: ClassVar[dict] = {}

    def run(self, out: Path) -> str:
        words = [{"time_mixer": mixer} for mixer in self.mixers] + [{"algebra": algebra} for algebra in self.algebras]
        rows = list[Row]()
        for word in words:
            rows.append({"model": " ".join(word.values())} | self._cost(word))
            write_table(out / "mixers.csv", rows)
        return "; ".join(f"{row['model']} {row['p50_us']:.0f} µs per hop" for row in rows)

    def _cost(self, word: dict[str, str]) -> Row:
        torch.manual_seed(0)
        network = build_network({"network": "live", **word}).eval()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            export_stream(network, path, name="-".join(word.values()), version=__version__)
            cost = measure(network, Engine(path), self.seconds)
        return {
            "params": cost.params,
            "macs_per_second": cost.macs,
            "state_bytes": cost.state_bytes,
            "p50_us": 1e6 * cost.p50,
            "p99_us": 1e6 * cost.p99,
            "rtf": cost.rtf,
        }
