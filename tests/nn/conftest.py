"""Fixtures for tests of layers."""

import pytest


@pytest.fixture
def float64():
    """Make float64 the default type."""
    import torch

    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)
