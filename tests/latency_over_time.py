"""A simulated output with disturbances: its latency over time, by a clock that counts samples."""

import numpy as np
from sound import HEADSET, MICROPHONE, Sound

from qse.live.loudspeaker import Loudspeaker

RATE = 16000
BLOCK = RATE // 100
STALL = 0.25  # seconds in which nothing arrives; then all of it at once
STALLS = 10  # of a disturbance, one a second
EVERY = 90.0  # seconds from one disturbance to the next


def speech(seconds: float) -> np.ndarray:
    """A tone of 150 Hz in words of 0.6 s, with pauses of 0.3 s that hold noise at -66 dBFS."""
    at = np.arange(round(seconds * RATE)) / RATE
    word = np.clip(np.minimum(at % 0.9, 0.6 - at % 0.9) / 0.03, 0, 1)
    noise = 5e-4 * np.random.default_rng(0).uniform(-1, 1, len(at))
    return (0.5 * word * np.sin(2 * np.pi * 150 * at) + noise).astype(np.float32)


def run(disturbances: int, drift: float = 0.0, audio=speech):
    """Play with a disturbance every EVERY seconds; return the loudspeaker, the times, the seconds
    that wait before the device at each of them, and what was played."""
    sound = Sound(MICROPHONE, HEADSET, rate=RATE)
    speaker = Loudspeaker(sound, None, BLOCK, 0.02)
    speaker.start(RATE, BLOCK / RATE)
    stream = sound.streams[-1]
    seconds = (disturbances + 1) * EVERY
    samples = audio(seconds)
    times = []
    waits = []
    played = []
    sent = 0
    taken = 0
    for number in range(int(seconds * RATE) // BLOCK):
        now = number * BLOCK / RATE
        since = now % EVERY
        disturbed = now >= EVERY and since < STALLS and since % 1.0 < STALL
        while not disturbed and sent <= number * BLOCK:
            speaker.write(samples[sent : sent + BLOCK, None], BLOCK / RATE)
            sent += BLOCK
        while taken <= number * BLOCK * (1 + drift):
            played.append(stream.take()[:, 0])
            taken += BLOCK
        if number % 10 == 0:
            times.append(now)
            waits.append(speaker.buffered)
    return speaker, np.array(times), np.array(waits), np.concatenate(played)
