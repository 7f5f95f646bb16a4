"""Image classification experiment: networks learn which colour an image has."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse.experiments import experiment


@pytest.fixture
def colours(tmp_path):
    """Records of CIFAR-10's layout: class 0 is red, class 1 blue, with noise."""
    rng = np.random.default_rng(0)
    for name in (*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"):
        content = b""
        for label in (0, 1) * 8:
            image = rng.integers(0, 120, (3, 32, 32), dtype=np.uint8)
            image[2 * label] += 120
            content += bytes([label]) + image.tobytes()
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_images_learns_a_colour(colours, tmp_path, rows_of):
    arms = ["shared", "real", "vit-quaternion", "vit"]
    changes = [f"data={colours}", "width=0.05", "epochs=5", "batch=16", "learning_rate=0.01", "mixup=0.2",
               "erasing=0.2", f"arms={json.dumps(arms)}"]  # fmt: skip
    experiment("images", tmp_path / "out", changes)
    rows = {row["network"]: row for row in rows_of(tmp_path / "out" / "images.csv")}
    assert list(rows) == arms
    assert all(float(row["accuracy %"]) > 85 for row in rows.values())
    assert (
        rows["shared"]["paper: accuracy %"] == "-" and rows["vit"]["paper: accuracy %"] == "74.2"
    )  # ten classes
    assert int(rows["shared"]["parameters"]) < int(rows["real"]["parameters"]) / 3
