"""Simulate rooms with one microphone, a talker and others who stand farther from it.

Glossary: R rooms, P places of others in each, L samples of a response.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

from .mix_config import MixConfig
from .room_simulation import LARGEST, SMALLEST, room_response

PLACES = 4
DIRECTIONS = 16  # tried for each place: walls may be nearer than the wanted distance
WALL = 0.2  # metres from every wall at least


class TalkerRooms(NamedTuple):
    """Impulse responses, float32, the direct sound 1 at sample 0: of the talker (R, L) and of the
    places of others (R, P, L)."""

    talker: Tensor
    others: Tensor


def talker_rooms(mix: MixConfig, seed: int) -> TalkerRooms:
    """Simulate the rooms of a recipe, see room_simulation.py.

    The talker stands at a distance from `distance`, the others by a distance from `others_farther`
    farther away, or as far as the walls allow.
    """
    rng = torch.Generator().manual_seed(seed)

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(shape, generator=rng)

    def position(size: Tensor, microphone: Tensor, distance: Tensor) -> Tensor:
        """Return the best position (3,) of several directions."""
        direction = normalize(uniform(-1, 1, DIRECTIONS, 3), dim=1)
        found = torch.minimum((microphone + direction * distance).clamp_min(WALL), size - WALL)
        missed = ((found - microphone).norm(dim=1) - distance).abs()
        return found[missed.argmin()]

    samples = math.ceil(mix.rt60[1] * mix.sample_rate)
    responses = torch.zeros(mix.rooms, 1 + PLACES, samples)
    for room in responses:
        size = SMALLEST + uniform(0, 1, 3) * (LARGEST - SMALLEST)
        microphone = 0.5 + uniform(0, 1, 3) * (size - 1.0)
        decay = uniform(*mix.rt60, 1)
        nearest = uniform(*mix.distance, 1)
        distances = torch.cat([nearest, nearest + uniform(*mix.others_farther, PLACES)])
        for response, distance in zip(room, distances, strict=True):
            place = position(size, microphone, distance)
            noise = torch.randn(samples, generator=rng)
            response += room_response(size, microphone, place, decay, noise, mix.sample_rate)
    return TalkerRooms(responses[:, 0], responses[:, 1:])
