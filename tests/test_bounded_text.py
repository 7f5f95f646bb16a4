"""Text files of any size in the folders of runs and evaluations: refused after a part is read."""

import os
import tracemalloc

import pytest

from qse.bounded_text import read_table_text
from qse.errors import QseError
from qse.evaluate.store import read_rows, read_settings

HOLE = 1 << 27  # bytes, which take no place on the disk


def settings(path):
    return read_settings(path.parent)


def curves(path):
    pytest.importorskip("torch")
    from qse.train.training_log import read_table

    return read_table(path)


def parts(path):
    pytest.importorskip("torch")
    from qse.data.part_schedule import PartSchedule

    return PartSchedule(path).rows()


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("scores.csv", read_rows),
        ("settings.json", settings),
        ("valid.csv", curves),
        ("train.csv", curves),
        ("parts.csv", parts),
    ],
)
def test_a_hole_is_refused_without_its_memory(tmp_path, name, read):
    (path := tmp_path / name).write_text("")
    os.truncate(path, HOLE)
    tracemalloc.start()
    with pytest.raises(QseError, match=rf"{name}: has more than \d+ characters; .*(delete|lose)"):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < HOLE


@pytest.mark.parametrize(("name", "read"), [("scores.csv", read_rows), ("valid.csv", curves)])
@pytest.mark.parametrize("row", ["1\n", "1,1,1,1,1,1,1,1\n"])
def test_a_table_of_many_small_cells_is_refused_before_it_is_parsed(tmp_path, name, read, row):
    (path := tmp_path / name).write_text("name,step\n" + row * (1 << 21))
    tracemalloc.start()
    with pytest.raises(QseError, match=f"{name}: has (too many|more than)"):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < HOLE


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
    tracemalloc.start()
    with pytest.raises(QseError, match="would be replaced"):
        write_config(path, CONFIG, network, overwrite=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < HOLE / 8
