"""Reasoning tasks: every answer is computed again from its prompt."""

import random
import re

import pytest

torch = pytest.importorskip("torch")

from qse.experiments.reasoning import corpus
from qse.experiments.tasks import TASKS


def last_of_chain(prompt: str) -> str:
    links, name = dict(re.findall(r"(\w)->(\w)", prompt)), prompt.rsplit(";", 1)[1][0]
    while name in links:
        name = links[name]
    return name


def order(prompt: str) -> str:
    facts, (a, b) = dict(re.findall(r"(\w)>(\w)", prompt)), re.findall(r"(\w)\?(\w)", prompt)[0]
    while a in facts:
        a = facts[a]
        if a == b:
            return ">"
    return "<"


def heading(prompt: str) -> str:
    at = sum({"N": 1j, "S": -1j, "E": 1, "W": -1}[step] for step in re.findall(r"go (\w)", prompt))
    north = "N" if at.imag > 0 else "S" if at.imag < 0 else ""
    return (north + ("E" if at.real > 0 else "W" if at.real < 0 else "")) or "0"


def solve_logic(prompt: str) -> str:
    true = re.findall(r"(\w)=T", prompt)
    return "FT"[
        {"AND": len(true) == 2, "OR": len(true) > 0, "XOR": len(true) == 1}[prompt.split()[1]]
    ]


def solve_inverse(prompt: str) -> str:
    slope, offset, y = map(int, re.fullmatch(r"f\(x\)=(\d+)x\+(\d+);f-1\((\d+)\)", prompt).groups())
    return str((y - offset) // slope)


def solve_variables(prompt: str) -> str:
    start, step = re.fullmatch(r"(?:\w)=(\d+);(?:\w)=\w([+-]\d+);\w\?", prompt).groups()
    return str(int(start) + int(step))


SOLVERS = {
    "brackets": lambda p: str(max(p[:n].count("(") - p[:n].count(")") for n in range(len(p) + 1))),
    "variables": solve_variables,
    "logic": solve_logic,
    "arithmetic": lambda p: str(sum(map(int, p.split("+")))),
    "patterns": lambda p: next(
        p[len(p) - n] for n in range(2, 6) if all(a == b for a, b in zip(p, p[n:], strict=False))
    ),
    "relations": order,
    "spatial": heading,
    "transitivity": last_of_chain,
    "inverse": solve_inverse,
    "copy": lambda p: p,
}


@pytest.mark.parametrize("name", TASKS)
def test_task_answers_follow_from_prompts(name):
    source = random.Random(0)
    drawn = [TASKS[name](source) for _ in range(300)]
    assert all(SOLVERS[name](prompt) == answer for prompt, answer in drawn)
    assert len({answer for _, answer in drawn}) > 1
    if name == "brackets":
        assert all(prompt.count("(") == prompt.count(")") for prompt, _ in drawn)


def test_corpus_marks_answers():
    found = corpus(tuple(TASKS), 5, 48, seed=3)
    longest = (found.tokens != 0).sum(1).max()
    assert (
        found.tokens.shape == (50, longest)
        and longest <= 48
        and torch.bincount(found.task).tolist() == [5] * 10
    )
    for tokens, answer, task in zip(found.tokens, found.answer, found.task, strict=True):
        line = bytes(tokens[tokens != 0].tolist()).decode("ascii")
        prompt, wanted = line.rsplit("=", 1)
        assert SOLVERS[found.names[task]](prompt) == wanted.rstrip("\n")
        assert bytes(tokens[answer].tolist()).decode("ascii") == wanted
    again, other = corpus(tuple(TASKS), 5, 48, seed=3), corpus(tuple(TASKS), 5, 48, seed=4)
    assert torch.equal(found.tokens, again.tokens) and not torch.equal(found.tokens, other.tokens)
