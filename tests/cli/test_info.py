"""qse info: the table of the language models."""

import pytest

pytest.importorskip("torch")

from qse.experiments.networks.language import TABLE_4


def test_info_language_lists_arms_and_paper(command):
    status, out, _ = command("info", "language")
    rows = [line.split() for line in out.splitlines()]
    assert status == 0
    assert [[row[0], *row[-2:]] for row in rows[1:7]] == [[arm, f"{n:,}", f"{n:,}"] for arm, n in TABLE_4.items()]
