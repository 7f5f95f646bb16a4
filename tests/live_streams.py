"""A live session between a microphone and a headset made of nothing; see sound.py."""

import numpy as np
from sound import HEADSET, MICROPHONE, Sound

from qse.live.loudspeaker import Loudspeaker
from qse.live.microphone import Microphone
from qse.live.session import LiveSession


def noise(samples: int, channels: int = 1, seed: int = 0) -> np.ndarray:
    return (0.1 * np.random.default_rng(seed).standard_normal((samples, channels))).astype(
        np.float32
    )


def start(engine, rate: int = 16000, blocksize: int | None = None, buffer: float = 0.01, **options):
    """A session between a microphone and a headset of `rate`: session, run, and the two streams to
    play with."""
    sound = Sound(MICROPHONE, HEADSET, rate=rate)
    source = Microphone(sound, None, blocksize, buffer)
    session = LiveSession(engine, source, [Loudspeaker(sound, None, blocksize, buffer)], **options)
    session.start()
    speaker, microphone = sound.streams
    return session, session.run(), microphone, speaker


def feed(run, microphone, blocks) -> np.ndarray:
    """Enhanced samples that the blocks (samples, channels) lead to."""
    enhanced = []
    for block in blocks:
        microphone.give(block)
        enhanced.append(next(run))
    return np.concatenate(enhanced)
