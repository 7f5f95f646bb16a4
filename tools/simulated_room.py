"""A room for mixed pairs, by pyroomacoustics: image sources, and walls of materials whose
absorption depends on frequency."""

import numpy as np

CURTAINS = "curtains_cotton_0.5"
MATERIALS = ("hard_surface", "rough_concrete", "plasterboard", "wooden_lining", CURTAINS)
FLOORS = ("carpet_thin", "linoleum_on_concrete", "wood_16mm", "carpet_cotton")


def room_responses(rng: np.random.Generator, rate: int, distances: list[float]) -> list[np.ndarray]:
    """Simulate a random room with a microphone and sources at these distances in metres: their
    responses at `rate` Hz, the direct sound 1 at sample 0."""
    import pyroomacoustics  # which the tests do without

    size = rng.uniform([4.0, 3.5, 2.4], [9.0, 7.0, 3.5])
    walls = pyroomacoustics.make_materials(
        ceiling=str(rng.choice(MATERIALS)),
        floor=str(rng.choice(FLOORS)),
        east=str(rng.choice(MATERIALS)),
        west=str(rng.choice(MATERIALS)),
        north=str(rng.choice(MATERIALS)),
        south=CURTAINS,
    )
    room = pyroomacoustics.ShoeBox(
        size, fs=rate, materials=walls, max_order=17, air_absorption=True
    )
    microphone = np.array([0.4, size[1] / 2, 1.2]) + rng.uniform(0, 0.3, 3)
    room.add_microphone(microphone)
    for distance in distances:
        room.add_source(_place(rng, size, microphone, distance))
    room.compute_rir()
    found = []
    for response in room.rir[0]:
        direct = int(np.abs(response).argmax())
        found.append(response[direct:] / response[direct])
    return found


def _place(
    rng: np.random.Generator, size: np.ndarray, microphone: np.ndarray, distance: float
) -> np.ndarray:
    """Return a random place in the room at this distance, nearly."""
    angle = rng.uniform(-1.2, 1.2)
    way = np.array([np.cos(angle), np.sin(angle), rng.uniform(-0.1, 0.1)])
    return np.clip(microphone + distance * way, 0.2, size - 0.2)
