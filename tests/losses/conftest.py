"""A pair of signals for the tests of losses."""

import pytest


@pytest.fixture(scope="session")
def pair():
    """(2, 12800) float64 clean and enhanced."""
    import numpy as np
    import torch
    from loss_signals import coloured_noise, speech_like

    clean = np.stack([speech_like(seed, 0.8) for seed in (1, 2)])
    enhanced = np.stack([0.8 * x + coloured_noise(7, 1, x, 5) for x in clean])
    return torch.tensor(clean), torch.tensor(enhanced)
