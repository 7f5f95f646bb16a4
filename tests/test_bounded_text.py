"""Text files of any size in the folders of runs and evaluations: refused after a part is read."""

import os
import tracemalloc
from contextlib import contextmanager

import pytest

from qse.bounded_text import read_table_text
from qse.errors import QseError
from qse.evaluate.store import read_rows, read_settings

HOLE = 1 << 27  # bytes, which take no place on the disk


@contextmanager
def memory_below(most: float):
    """Let Python take less than `most` bytes at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def reader(name: str):
    """Return the function that reads a file of this name, imported before memory is counted."""
    if name == "scores.csv":
        return read_rows
    if name == "settings.json":
        return lambda path: read_settings(path.parent)
    pytest.importorskip("torch")
    if name == "parts.csv":
        from qse.data.part_schedule import PartSchedule

        return lambda path: PartSchedule(path).rows()
    from qse.train.training_log import read_table

    return read_table


@pytest.mark.parametrize(
    "name", ["scores.csv", "settings.json", "valid.csv", "train.csv", "parts.csv"]
)
def test_a_hole_is_refused_without_its_memory(tmp_path, name):
    read = reader(name)
    (path := tmp_path / name).write_text("")
    os.truncate(path, HOLE)
    said = rf"{name}: has more than \d+ characters; .*(delete|lose)"
    with memory_below(HOLE), pytest.raises(QseError, match=said):
        read(path)


@pytest.mark.parametrize("name", ["scores.csv", "valid.csv"])
@pytest.mark.parametrize("row", ["1\n", "1,1,1,1,1,1,1,1\n", ",x"])
def test_a_table_of_many_small_cells_is_refused_before_it_is_parsed(tmp_path, name, row):
    read = reader(name)
    (path := tmp_path / name).write_text("name,step" + row[-1] + row * (1 << 21))
    with memory_below(HOLE), pytest.raises(QseError, match=f"{name}: has (too many|more than)"):
        read(path)


def test_the_curves_of_twenty_million_steps_are_read(tmp_path):
    """A row every 250 steps, of 15 numbers."""
    (path := tmp_path / "train.csv").write_bytes(
        b"\r\n".join([b",".join([b"0.1234567"] * 15)] * 80000)
    )
    assert len(read_table_text(path, "")) == path.stat().st_size


def test_the_recipe_of_a_run_is_compared_with_the_beginning_of_a_file(tmp_path):
    pytest.importorskip("torch")
    from small_training import CONFIG

    from qse.networks import build_network
    from qse.train.recipe import write_config

    network = build_network(CONFIG.model)
    path = tmp_path / "config.toml"
    for _ in range(2):  # the same again is no other text
        write_config(path, CONFIG, network, overwrite=False)
    os.truncate(path, HOLE)
    with memory_below(HOLE / 8), pytest.raises(QseError, match="would be replaced"):
        write_config(path, CONFIG, network, overwrite=False)
