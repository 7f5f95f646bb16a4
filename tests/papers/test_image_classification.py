"""Image classification experiment: networks learn which colour an image has."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse_papers import experiment
from qse_papers.images import BINARY
from result_tables import numbers, rows_by


@pytest.fixture
def colours(tmp_path):
    """Records of CIFAR-10's layout: class 0 is red, class 1 blue, with noise."""
    rng = np.random.default_rng(0)
    for name in (*BINARY["data_batch_1.bin"].train, "test_batch.bin"):
        content = b""
        for label in (0, 1) * 8:
            image = rng.integers(0, 120, (3, 32, 32), dtype=np.uint8)
            image[2 * label] += 120
            content += bytes([label]) + image.tobytes()
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_images_learns_a_colour(colours, tmp_path):
    arms = ["shared", "real", "vit-quaternion", "vit"]
    changes = [f"data={colours}", "width=0.05", "epochs=5", "batch=16", "learning_rate=0.01"]
    changes += ["mixup=0.2", "erasing=0.2", f"arms={json.dumps(arms)}"]
    experiment("images", tmp_path / "out", changes)
    counts = f"{16 * len(BINARY['data_batch_1.bin'].train)} training and 16 test images"
    assert counts in (tmp_path / "out/images.md").read_text()
    rows = rows_by(tmp_path / "out" / "images.csv", "network")
    assert list(rows) == arms
    assert min(numbers(list(rows.values()), "accuracy %")) > 85
    # ten classes
    assert rows["shared"]["paper: accuracy %"] == "-" and rows["vit"]["paper: accuracy %"] == "74.2"
    assert int(rows["shared"]["parameters"]) < int(rows["real"]["parameters"]) / 3
