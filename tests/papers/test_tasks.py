"""Reasoning tasks: every answer is computed again from its prompt."""

import random
import re

import pytest

torch = pytest.importorskip("torch")

from qse_papers.reasoning_corpus import corpus
from qse_papers.tasks import TASKS


def last_of_chain(prompt: str) -> str:
    links = dict(re.findall(r"(\w)->(\w)", prompt))
    name = prompt.rsplit(";", 1)[1][0]
    while name in links:
        name = links[name]
    return name


def order(prompt: str) -> str:
    facts = dict(re.findall(r"(\w)>(\w)", prompt))
    (a, b) = re.findall(r"(\w)\?(\w)", prompt)[0]
    while a in facts:
        a = facts[a]
        if a == b:
            return ">"
    return "<"


def heading(prompt: str) -> str:
    at = prompt.count("N") * 1j - prompt.count("S") * 1j + prompt.count("E") - prompt.count("W")
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


def solve_patterns(prompt: str) -> str:
    for period in range(2, 6):
        if prompt[period:] == prompt[:-period]:
            return prompt[-period]


def solve_brackets(prompt: str) -> str:
    deepest = 0
    while prompt:
        prompt = prompt.replace("()", "")
        deepest += 1
    return str(deepest)


SOLVERS = {
    "brackets": solve_brackets,
    "variables": solve_variables,
    "logic": solve_logic,
    "arithmetic": lambda p: str(sum(map(int, p.split("+")))),
    "patterns": solve_patterns,
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
    for prompt, answer in drawn:
        assert SOLVERS[name](prompt) == answer
        assert prompt.count("(") == prompt.count(")")
    assert len(dict(map(reversed, drawn))) > 1  # different answers


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
    again = corpus(tuple(TASKS), 5, 48, seed=3)
    other = corpus(tuple(TASKS), 5, 48, seed=4)
    assert torch.equal(found.tokens, again.tokens) and not torch.equal(found.tokens, other.tokens)
