"""Released graphs stay as small as they were: operators, MACs, state and file of each, against
graphs_recorded.json.

A graph that was meant to change brings a new record: qse bench graphs --json
tests/graphs_recorded.json
"""

import json
from pathlib import Path

import pytest

pytest.importorskip("onnx")

import graphs

from qse import bench

HERE = Path(__file__).parent
RECORD = HERE / "graphs_recorded.json"
RELEASED = sorted(str(path.parent) for path in (HERE.parent / "models").glob("*/model.onnx"))


def found(*models: str) -> dict[str, dict]:
    """The counts of models by the names of their folders."""
    rows = bench.topics()["graphs"](bench.Request(models)).rows if models else []
    counts = {}
    for row in rows:
        model = Path(row["model"]).name
        counts[model] = {key: row[key] for key in row if key != "model"}
    return counts


def recorded() -> dict[str, dict]:
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["rows"]
    return {row.pop("model"): row for row in rows}


def test_released_graphs_are_as_recorded():
    assert found(*RELEASED) == recorded()


@pytest.mark.parametrize("change", ["a memory more", "an operator more", "more to store"])
def test_a_graph_that_grew_is_noticed(tmp_path, change):
    paths = (
        graphs.recurrent(tmp_path / "a" / "model.onnx"),
        graphs.recurrent(tmp_path / "b" / "model.onnx"),
    )
    (before, after) = found(*map(str, (path.parent for path in paths))).values()
    assert before == after
    if change == "more to store":
        graphs.recurrent(paths[1], comment="longer than before")
    elif change == "an operator more":
        graphs.fragile(paths[1])
    else:
        graphs.delay(paths[1], latency=320)
    assert found(str(paths[1].parent))["b"] != before
