"""A recipe of a small streaming network."""

import pytest


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(
        '[model]\nnetwork = "streaming"\nn_fft = 64\nhop_length = 32\n'
        "ranges = [[32, 2]]\nchannels = [2, 2, 4]\n"
        "growth = 2\ndilations = [1, 2]\nblocks = 1\nheads = 2\n"
    )
    return path
