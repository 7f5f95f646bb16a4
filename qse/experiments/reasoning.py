"""Nine reasoning tasks and six architectures ("Q-Jamba", sections 4 and 5, Tables 3 and 4): validation loss and exact
match.

Bytes of "prompt=answer" and a line feed, zeros behind. The loss is the cross-entropy of every byte after the first; an
answer matches when every byte of it, line feed included, is the likeliest one, which greedy decoding would write.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..networks.language import ARMS, Language
from .results import Row, plot_curves, write_table
from .tasks import TASKS

WEIGHT_DECAY = {"A0": 0.01, "A1": 0.01, "A5": 0.01}  # 0.05 where the network is regularised (Table 2)


@dataclass(frozen=True)
class Reasoning:
    """The settings; the paper's in FULL. `width` scales dim and feed of every arm."""

    arms: tuple[str, ...] = tuple(ARMS)
    tasks: tuple[str, ...] = tuple(TASKS)
    width: float = 0.25
    length: int = 48
    train_per_task: int = 1500
    valid_per_task: int = 40
    steps: int = 300
    warmup: int = 30
    batch: int = 16
    learning_rate: float = 1e-3
    validations: int = 6
    seeds: tuple[int, ...] = (42,)
    device: str = "cpu"

    FULL: ClassVar[dict] = {
        "width": 1.0,
        "length": 128,
        "valid_per_task": 60,
        "steps": 2000,
        "warmup": 100,
        "batch": 64,
        "learning_rate": 3e-4,
        "validations": 20,
        "seeds": [42, 123, 7, 314, 2024],
    }

    def __post_init__(self):
        for given, known in ((self.arms, ARMS), (self.tasks, TASKS)):
            if set(given) - set(known):
                raise ValueError(f"{given}: choose from {', '.join(known)}")

    def run(self, out: Path) -> str:
        curves, table = list[Row](), list[Row]()
        for seed in self.seeds:
            train = corpus(self.tasks, self.train_per_task, self.length, seed)
            valid = corpus(self.tasks, self.valid_per_task, self.length, seed + 1_000_000)
            for arm in self.arms:
                table.append({"arm": arm, "seed": seed} | self._train(arm, seed, train, valid, curves))
                write_table(out / "reasoning.csv", table)
                write_table(out / "reasoning-curves.csv", curves)
        first = [row for row in curves if row["seed"] == self.seeds[0]]
        plot_curves(out / "reasoning.png", first, x="step", y="loss", by="arm")
        return "; ".join(f"{row['arm']} loss {row['loss']:.3f}, exact {row['exact']:.0%}" for row in table)

    def network(self, arm: str) -> Language:
        """An arm at this experiment's width, whole quaternions in every head."""
        config = ARMS[arm]
        unit = 8 * config.heads
        dim, feed = (max(unit, round(size * self.width / unit) * unit) for size in (config.dim, config.feed))
        return Language(replace(config, dim=dim, feed=feed))

    def _train(self, arm: str, seed: int, train: "Corpus", valid: "Corpus", curves: list[Row]) -> Row:
        """The best validation of a run, by its loss."""
        torch.manual_seed(seed)
        network = self.network(arm).to(self.device)
        decay = WEIGHT_DECAY.get(arm, 0.05)
        optimizer = torch.optim.AdamW(network.parameters(), self.learning_rate, weight_decay=decay)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, self._rate)
        best: Row = {"loss": math.inf}
        for step in range(1, self.steps + 1):
            chosen = torch.randint(len(train.tokens), (self.batch,))
            optimizer.zero_grad()
            loss_of(network, train.tokens[chosen].to(self.device)).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            if step % max(1, self.steps // self.validations) == 0:
                row = judge(network, valid, self.device)
                curves.append({"arm": arm, "seed": seed, "step": step, "loss": row["loss"]})
                best = min(best, row, key=lambda row: row["loss"])
        return {"params": sum(parameter.numel() for parameter in network.parameters())} | best

    def _rate(self, step: int) -> float:
        """Linear warm-up, then a cosine down to zero."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        return 0.5 + 0.5 * math.cos(math.pi * (step - self.warmup) / max(1, self.steps - self.warmup))


@dataclass(frozen=True)
class Corpus:
    """tokens (N, length), answer (N, length) True at the bytes of the answer, task (N,) by its number in `names`."""

    tokens: Tensor
    answer: Tensor
    task: Tensor
    names: tuple[str, ...]


def corpus(names: tuple[str, ...], per_task: int, length: int, seed: int) -> Corpus:
    """So many sequences of each task; those longer than `length` bytes are drawn anew."""
    random, rows = Random(seed), []
    for number, name in enumerate(names):
        while len(rows) < (number + 1) * per_task:
            prompt, answer = TASKS[name](random)
            if len(prompt) + len(answer) + 2 <= length:
                rows.append((prompt, answer, number))
    tokens, marks = torch.zeros(len(rows), length, dtype=torch.long), torch.zeros(len(rows), length, dtype=torch.bool)
    for n, (prompt, answer, _) in enumerate(rows):
        line = f"{prompt}={answer}\n".encode("ascii")
        tokens[n, : len(line)] = torch.tensor(list(line))
        marks[n, len(prompt) + 1 : len(line)] = True
    return Corpus(tokens, marks, torch.tensor([number for *_, number in rows]), names)


def loss_of(network: nn.Module, tokens: Tensor) -> Tensor:
    """Mean cross-entropy in nats of every byte after the first, padding left out."""
    logits, wanted = network(tokens[:, :-1]), tokens[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=0)


@torch.no_grad()
def judge(network: nn.Module, valid: Corpus, device: str = "cpu", batch: int = 128) -> Row:
    """{"loss", "exact", and the exact match of every task}."""
    network.eval()
    right, losses, sizes = [], [], []
    for tokens, answer in zip(valid.tokens.split(batch), valid.answer.split(batch), strict=True):
        tokens = tokens.to(device)
        guess = network(tokens[:, :-1]).argmax(-1).cpu()
        right.append(((guess == tokens[:, 1:].cpu()) | ~answer[:, 1:]).all(1))
        losses.append(loss_of(network, tokens).item())
        sizes.append((tokens[:, 1:] != 0).sum().item())
    network.train()
    exact = torch.cat(right).float()
    loss = sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / sum(sizes)
    by_task = {name: exact[valid.task == number].mean().item() for number, name in enumerate(valid.names)}
    return {"loss": loss, "exact": exact.mean().item()} | by_task
