"""Models of a benchmark: untrained networks of recipes, names of rows."""

import pytest

torch = pytest.importorskip("torch")

import graphs

from qse.bench.models import graphs as models_of
from qse.bench.models import network
from qse.errors import QseError
from qse.runtime.engine import Engine


def test_network_of_a_recipe_is_reproducible(recipe):
    first = network(str(recipe))
    second = network(str(recipe))
    assert all(
        torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True)
    )
    with pytest.raises(QseError, match="no network called nothing: give a recipe"):
        network("nothing")


def test_graphs_exports_a_recipe(recipe):
    with models_of((str(recipe),)) as found:
        assert (
            list(found) == ["small, untrained"]
            and Engine(found["small, untrained"]).hop_length == 32
        )


def test_graphs_distinguishes_recipes_of_one_name(recipe, tmp_path, monkeypatch):
    def export(network, path, **_):
        path.write_bytes(bytes(sum(parameter.numel() for parameter in network.parameters())))

    monkeypatch.setattr("qse.export.streaming.export_stream", export)
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / recipe.name
    other.write_text(recipe.read_text().replace("growth = 2", "growth = 4"))
    graphs.recurrent(tmp_path / "small" / "model.onnx")
    with models_of((str(recipe), str(tmp_path / "small"))) as found:
        assert list(found) == ["small, untrained", str(tmp_path / "small")]
    with models_of((str(recipe), str(other))) as found:
        sizes = {path.stat().st_size for path in found.values()}
    assert list(found) == [f"{recipe}, untrained", f"{other}, untrained"] and len(sizes) == 2
