"""PHM experiments: the rotation matrix, and what the layers learn."""

import re

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse_papers import experiment
from qse_papers.phm import rotation
from result_tables import rows_of


def test_rotation_turns_about_its_axis():
    matrix = rotation(torch.tensor([0.0, 0.0, 1.0]), torch.pi / 2)
    torch.testing.assert_close(
        matrix @ torch.tensor([1.0, 0.0, 5.0]), torch.tensor([0.0, 1.0, 5.0])
    )


@pytest.mark.parametrize("name", ["phm-rotation", "phm-hamilton"])
def test_phm_experiments_learn_the_rule(name, tmp_path):
    line = experiment(name, tmp_path, ["steps=600"])
    assert float(re.search(r"within (\S+) of", line)[1]) < 1e-2
    assert float(rows_of(tmp_path / f"{name}.csv")[-1]["loss"]) < 1e-4
    assert (tmp_path / f"{name}.png").stat().st_size > 1000
