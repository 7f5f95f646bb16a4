"""Draw enrolments: speech of the talkers of a batch from other moments, rooms and noise, which the
network is told beforehand.

Glossary: B items of a batch, I items with an enrolment, N samples, G groups.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..errors import QseError
from ..torch_device import uploaded
from .augmentation import change_speed
from .filters import reverberate
from .levels import at_level, at_snr, decibels
from .mix_config import MixConfig
from .multi_rate import WIDE_BAND
from .sampling import BatchRng, CorpusSampler

SEVERAL = "various"  # so begin the names of groups whose speakers are several, or unknown
LEAST = 4  # recordings of a talker, so that an enrolment is mostly of another one than the segment
SNR = (15.0, 40.0)  # dB
LEVEL = (-40.0, -12.0)  # dBFS, over active frames


class Told(NamedTuple):
    """Hold what a network is told, bool (B,) on the CPU. told: the items with an enrolment. absent:
    those of them whose enrolment is of somebody else, who is not in the item."""

    told: Tensor
    absent: Tensor


class Enrolments:
    """Draw enrolments as in the recipe. rooms: impulse responses (R, L)."""

    def __init__(self, config: MixConfig, sampler: CorpusSampler, rooms: Tensor) -> None:
        self.config = config
        self.sampler = sampler
        self.rooms = rooms
        names = sampler.corpus.names
        single = torch.tensor([not name.startswith(SEVERAL) for name in names])
        self.known = single & (sampler.sizes >= LEAST)  # groups that can be told, bool (G,)
        if not self.known.any():
            raise QseError(
                f"mix.enrolment_chance: no speaker has {LEAST} recordings; put those of each "
                f"speaker into a sub-folder, and not into one whose name begins with {SEVERAL!r}"
            )

    def choose(self, rng: BatchRng, speakers: Tensor, allowed: Tensor) -> Told:
        """Choose among the items `allowed`, bool (B,), those whose speaker, (B,), is known."""
        allowed = allowed & self.known[speakers]
        told = rng.coin(self.config.enrolment_chance, len(allowed)) & allowed
        absent = rng.coin(self.config.enrolment_absent_chance, len(allowed)) & told
        return Told(told, absent)

    def speech(self, rng: BatchRng, speakers: Tensor, told: Told, noise: Tensor) -> Tensor:
        """Return the enrolments (B, samples) at 16 kHz, zeros for items without one.

        speakers: of the items, (B,). noise: of the batch (B, N), of which another row is taken.
        """
        samples = self.config.enrolment_samples
        wide = round(self.config.enrolment * WIDE_BAND)
        enrolments = torch.zeros(len(speakers), wide, device=rng.device)
        items = torch.nonzero(told.told).flatten()
        if not len(items):
            return enrolments
        rows = uploaded(items, rng.device)
        others = self.sampler.other_groups(rng, speakers)
        speakers = torch.where(told.absent, others, speakers)[items]
        speech = self.sampler.spoken(rng, speakers, samples)
        rooms = rng.below(torch.full_like(items, len(self.rooms)))
        response = self.rooms[uploaded(rooms, rng.device)]
        speech, _ = reverberate(speech, response, self.config.early_samples)
        noise = noise.roll(1, 0)[rows, :samples]
        noise = pad(noise, (0, samples - noise.shape[1]))
        speech = speech + at_snr(noise, speech, rng.draw(SNR, len(items)))
        speech = at_level(speech, decibels(rng.draw(LEVEL, len(items))))
        enrolments[rows] = change_speed(speech, wide)  # the same sound at a lower rate
        return enrolments
