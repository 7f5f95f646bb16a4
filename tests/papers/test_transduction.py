"""Tasks of sequence-to-sequence networks: answers computed again, operands apart, BLEU by hand."""

import re
from random import Random

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks.transducer import END
from qse_papers.transduction import (
    CHARACTERS,
    Arithmetic,
    ParallelText,
    bleu,
    content,
    exact_match,
)

from qse.errors import QseError


def text(tokens):
    return "".join(CHARACTERS[token - 2] for token in content(tokens))


def test_arithmetic_answers_follow_from_problems():
    source, target = Arithmetic(2, 200).held_out()
    operators = set()
    for problem, answer in zip(source.tolist(), target.tolist(), strict=True):
        x, y, a, operator, b = re.fullmatch(
            r"x=(-?\d+),y=(-?\d+),([xy])(.)([xy])", text(problem)
        ).groups()
        values = {"x": int(x), "y": int(y)}
        known = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[operator](
            values[a], values[b]
        )
        assert text(answer) == str(known) and a != b and max(map(abs, values.values())) <= 99
        assert answer[len(str(known))] == END
        operators.add(operator)
    assert operators == set("+-*")


def test_arithmetic_never_trains_on_held_out_operands():
    task = Arithmetic(1, 1)
    source = Random(0)

    def operands(held):
        return {task.problem(source, held)[0].rpartition(",")[0] for _ in range(3000)}

    assert operands(True) and not operands(True) & operands(False)


def test_arithmetic_batches_differ_and_repeat_with_the_seed():
    task = Arithmetic(2, 1)
    first = task.batch(4, torch.Generator().manual_seed(1))[0]
    second = task.batch(4, torch.Generator().manual_seed(1))[0]
    other = task.batch(4, torch.Generator().manual_seed(2))[0]
    assert torch.equal(first, second) and not torch.equal(first, other)


def test_bleu_by_hand():
    """Precisions 5/6, 4/5, 3/4, 2/3; then a brevity penalty of exp(1 - 6/5)."""
    assert bleu([list("abcdeg")], [list("abcdef")]) == pytest.approx(100 * (1 / 3) ** 0.25)
    assert bleu([list("abcde")], [list("abcdef")]) == pytest.approx(
        100 * 2.718281828 ** (1 - 6 / 5)
    )
    assert bleu([list("abcdef")] * 2, [list("abcdef")] * 2) == pytest.approx(100)
    assert bleu([list("aaaa")], [list("abcd")]) == 0 and bleu([[]], [list("abcd")]) == 0


def test_exact_match_needs_every_token():
    assert exact_match([[5, 6], [5]], torch.tensor([[5, 6, END], [5, 6, END]])) == 50


def test_parallel_text_skips_long_pairs_and_ends_targets(tmp_path):
    for part in ("train", "test"):
        (tmp_path / f"{part}.new").write_text("you are here\nthis is far too long a line\n")
        (tmp_path / f"{part}.old").write_text("thou art here\nlong\n")
    task = ParallelText(tmp_path, ("new", "old"), words=20, length=5, test=2)
    assert task.pairs == [("you are here", "thou art here")]
    source, target = task.batch(3, torch.Generator().manual_seed(0))
    assert source.shape == (3, 3) and target[0, 3] == END and END not in source
    assert source[0, 2] == target[0, 2]  # "here" is one token in both
    assert (
        task.test[0].shape[0] == 2
        and task.score([content(row) for row in task.test[1].tolist()], task.test[1]) == 0
    )


def test_parallel_text_refuses_files_of_different_length(tmp_path):
    for part in ("train", "test"):
        (tmp_path / f"{part}.new").write_text("a b\nc d\n")
        (tmp_path / f"{part}.old").write_text("a b\n")
    with pytest.raises(QseError, match="2 and 1 lines"):
        ParallelText(tmp_path, ("new", "old"), words=20, length=5, test=2)
