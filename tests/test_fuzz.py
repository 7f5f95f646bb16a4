"""Damaged files of every kind are refused in a sentence, or read; `python -m fuzz` does the same
with more cases."""

import pytest
from fuzz.__main__ import CASES, TORCH, fuzz


@pytest.mark.parametrize("target", CASES)
def test_fuzz_finds_nothing(target):
    if target in TORCH:
        pytest.importorskip("torch")
    assert not list(fuzz(target, CASES[target]))
