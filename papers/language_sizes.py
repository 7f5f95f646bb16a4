"""Parameters of the networks of "Q-Jamba", Table 4, beside the paper's counts."""

from dataclasses import dataclass
from pathlib import Path

from .base import Experiment
from .networks.language import ARMS, TABLE_4, count
from .results import Row, markdown, write_markdown, write_table


@dataclass(frozen=True)
class LanguageSizes(Experiment):
    """This experiment has no settings."""

    def run(self, out: Path) -> str:
        rows: list[Row] = []
        for arm, config in ARMS.items():
            rows.append(
                {
                    "arm": arm,
                    "layers (A: attention, M: state space)": config.pattern,
                    "algebra": config.algebra,
                    "dim": config.dim,
                    "parameters": count(arm),
                    "paper: parameters": TABLE_4[arm],
                }
            )
        write_table(out / "language-sizes.csv", rows)
        write_markdown(out / "language-sizes.md", rows)
        return markdown(rows)
