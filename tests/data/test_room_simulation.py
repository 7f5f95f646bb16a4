"""Simulated rooms: decay and first reflection."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from made_audio import RATE

from qse.data.room_simulation import reflection, room_bank, room_response


@pytest.mark.parametrize("seconds", [0.2, 0.4, 0.8])
def test_room_bank_decays_in_its_rt60(seconds):
    bank = room_bank(6, RATE, (seconds, seconds), (0.5, 2.0), seed=3)
    assert torch.equal(bank, room_bank(6, RATE, (seconds, seconds), (0.5, 2.0), seed=3))
    np.testing.assert_allclose(bank[:, 0], 1.0, rtol=1e-5)
    for response in bank.double().numpy():
        energy = np.cumsum(response[::-1] ** 2)[::-1]  # Schroeder integration
        decay = 10 * np.log10(energy[int(0.04 * RATE) :] / energy[int(0.04 * RATE)])
        measured = 3 * np.argmax(decay < -20) / RATE
        assert measured == pytest.approx(seconds, rel=0.2)


def test_room_response_reflects_at_the_nearest_wall():
    size = torch.tensor([6.0, 5.0, 3.0])
    rt60 = torch.tensor([0.5])
    microphone = torch.tensor([3.0, 2.0, 0.5])
    talker = torch.tensor([4.0, 2.0, 0.5])
    response = room_response(size, microphone, talker, rt60, torch.zeros(RATE), RATE)
    path = math.hypot(1.0, 1.0)  # by way of the floor, half a metre below both
    first = (path - 1.0) / 343 * RATE
    at = 1 + int(response[1:].abs().argmax())
    assert abs(at - first) <= 1
    assert response[at - 1 : at + 2].sum() == pytest.approx(
        float(reflection(size, rt60)) / path, rel=0.02
    )
