"""Measure what training by each recipe takes: memory, and processor time of a step, as a table.

python tools/recipe_costs.py [--steps 4] [--batch N] [RECIPE ...]     names or .toml files, or all

Every recipe runs in a process of its own, on one thread of the CPU, as `qse train` does in one
process: whole steps (mixing, network, losses, gradients, optimisers) in the precision of the
recipe, of noise in place of recordings. A first step, which is the slowest, is left out. The memory
is the largest that the process had; corpora come on top of it.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

from qse.bench import torch_threads, train
from qse.bench.models import network, recipe
from qse.machine import machine

FOLDER = Path(__file__).parents[1] / "recipes"
HEAD = ("recipe", "batch", "precision", "GiB", "CPU s per step", "audio s per step", "steps")


def measured(path: Path, steps: int, batch: int | None) -> dict:
    """Return the costs of a recipe, measured in this process; `batch`: in place of its own."""
    config = recipe(str(path))
    if batch:
        config = replace(config, train=replace(config.train, batch=batch))
    cpu = torch.device("cpu")
    source = train.made_up(config, cpu)
    plan = config.train
    precision = plan.precision
    with torch_threads(1):
        step = train.stepper(network(str(path)), config, source, precision)
        step()
        before = time.process_time()
        for _ in range(steps):
            step()
        seconds = (time.process_time() - before) / steps
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # from KiB
    together = f"{config.train.batch} x {config.mix.segment:g} s"
    if config.train.accumulate > 1:
        together = f"{config.train.accumulate} x {together}"
    return {
        "recipe": path.stem,
        "batch": together,
        "precision": precision,
        "GiB": f"{peak:.1f}",
        "CPU s per step": f"{seconds:.2f}",
        "audio s per step": f"{train.seconds_per_step(config):.1f}",
        "steps": f"{plan.steps:,}" if plan.steps else f"{plan.epochs} epochs",
    }


def table(paths: list[Path], options: list[str]) -> str:
    """Return the costs of recipes as a Markdown table, and the machine."""
    lines = [HEAD, ["---"] * len(HEAD)]
    for path in paths:
        line = [sys.executable, __file__, "--one", *options, str(path)]
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True)
        row = json.loads(done.stdout)
        lines.append([row[name] for name in HEAD])
        print(done.stdout, end="", file=sys.stderr, flush=True)
    rows = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([*rows, "", str(machine(1))])


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("recipes", nargs="*", metavar="RECIPE")
    parser.add_argument("--steps", type=int, default=4, help="steps that are measured")
    parser.add_argument("--batch", type=int, help="in place of those of the recipes")
    parser.add_argument("--one", action="store_true", help="measure in this process, as JSON")
    wanted = parser.parse_args()
    paths = []
    for name in wanted.recipes:
        paths.append(Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml")
    if wanted.one:
        print(json.dumps(measured(paths[0], wanted.steps, wanted.batch)))
        return
    options = ["--steps", str(wanted.steps)]
    options += ["--batch", str(wanted.batch)] if wanted.batch else []
    print(table(paths or sorted(FOLDER.glob("*.toml")), options))


if __name__ == "__main__":
    main()
