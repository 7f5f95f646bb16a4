"""Put other talkers around the talker of an item, in the same room and farther away.

As long as the talker has not begun, the others are speech and stay in the target; from then on
they are noise. So the target is the nearest voice that has been heard. Where the network is told
who the talker is (enrolment.py), others are noise all the time, also as near and as loud ones.

Glossary: B items of a batch, I items with other talkers, V voices of others, N samples.
"""

import torch
from torch import Tensor

from ..torch_device import uploaded
from .filters import equalise, low_pass, reverberate
from .levels import at_level, decibels, gain_to_snr
from .mix_config import MixConfig
from .sampling import BatchRng, CorpusSampler, step_seed
from .speech_source import SpeechSource
from .talker_rooms import talker_rooms
from .variation import KNOTS

BEGUN = 0.05  # of a voice's peak: it has begun
FADE = 0.02  # seconds in which a voice leaves
SPREAD = 6.0  # dB, how far one of several others may lie below another
LOUDSPEAKER = 12.0  # dB up or down at most, the response of a small loudspeaker
LOUDSPEAKER_CUTOFF = (3000.0, 8000.0)  # Hz


class OtherTalkers:
    """Draw other talkers as in the recipe; `speech` draws what they say."""

    def __init__(
        self,
        config: MixConfig,
        sampler: CorpusSampler,
        speech: SpeechSource,
        seed: int,
        device: torch.device,
    ) -> None:
        self.config = config
        self.sampler = sampler
        self.speech = speech
        rooms = talker_rooms(config, step_seed(seed, 0, 0, "talker rooms"))
        self.talker = rooms.talker.to(device)
        self.others = rooms.others.to(device)

    def around(
        self,
        rng: BatchRng,
        speakers: Tensor,
        speech: Tensor,
        reverberant: Tensor,
        clean: Tensor,
        allowed: Tensor,
        enrolled: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return (reverberant, clean, voices), each (B, N), for the dry `speech` (B, N) of
        `speakers` (B,): the talker, the target, and the talker with the others.

        Of the items `allowed` (B,) some get other talkers; the rest stay as they are. enrolled:
        (B,), those whose talker the network is told.
        """
        items = torch.nonzero(rng.coin(self.config.others_chance, len(speech)) & allowed).flatten()
        if not len(items):
            return reverberant, clean, reverberant
        rows = uploaded(items, rng.device)
        rooms = rng.below(torch.full_like(items, len(self.talker)))
        talker, target = self._talker(rng, speech[rows], rooms)
        told = enrolled[items]
        others, early = self._voices(rng, speakers[items], rooms, told)
        ratio = rng.draw(self.config.others_ratio, len(items))
        if told.any():
            as_told = rng.draw(self.config.enrolled_ratio, len(items))
            ratio = torch.where(uploaded(told, rng.device), as_told, ratio)
        gain = gain_to_snr(others, talker, ratio)[:, None]
        reverberant = reverberant.clone()
        clean = clean.clone()
        voices = reverberant.clone()
        reverberant[rows] = talker
        is_open = uploaded(~told, rng.device)[:, None]
        clean[rows] = target + gain * early * self._before(target) * is_open
        voices[rows] = talker + gain * others
        return reverberant, clean, voices

    def _talker(self, rng: BatchRng, speech: Tensor, rooms: Tensor) -> tuple[Tensor, Tensor]:
        """Return the talker (I, N) at the microphone, and the target; some begin late or end early,
        some wear the microphone."""
        count = len(speech)
        rate = self.config.sample_rate
        seconds = self.config.segment
        late = rng.coin(self.config.others_begin_chance, count)
        begin = torch.where(late, rng.uniform(0, 0.5 * seconds, count), -FADE)
        ends = rng.coin(self.config.others_remain_chance, count)
        end = torch.where(ends, rng.uniform(0.4 * seconds, seconds, count), seconds + FADE)
        begin, end = uploaded(torch.stack([begin, end]), rng.device)[..., None]
        time = torch.arange(speech.shape[1], device=rng.device) / rate
        speech = speech * ((time - begin) / FADE).clamp(0, 1) * ((end - time) / FADE).clamp(0, 1)
        response = self.talker[uploaded(rooms, rng.device)]
        worn = uploaded(~rng.coin(self.config.room_chance, count), rng.device)[:, None]
        response = torch.cat([response[:, :1], response[:, 1:] * ~worn], dim=1)
        return reverberate(speech, response, self.config.early_samples)

    def _voices(
        self, rng: BatchRng, speakers: Tensor, rooms: Tensor, told: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the sum of the other talkers (I, N) at the microphone, and that of their early
        parts. told: (I,), items in which they may be as near as the talker."""
        counts = rng.pick(self.config.others_count_weights, len(speakers)) + 1
        owner = torch.arange(len(speakers)).repeat_interleave(counts)
        speech = self.speech.rows(rng, self.sampler.other_groups(rng, speakers[owner]))
        speech = at_level(speech, decibels(rng.draw((-SPREAD, 0.0), len(owner))))
        items = rng.items(self.config.others_loudspeaker_chance, len(owner))
        if len(items):
            rows = uploaded(items, rng.device)
            speech[rows] = self._through_a_loudspeaker(rng, speech[rows])
        place = rng.below(torch.full_like(owner, self.others.shape[1]))
        response = self.others[uploaded(rooms[owner], rng.device), uploaded(place, rng.device)]
        if told.any():
            near = rng.coin(self.config.enrolled_near_chance, len(owner)) & told[owner]
            room = rng.below(torch.full_like(owner, len(self.talker)))
            as_near = self.talker[uploaded(room, rng.device)]
            response = torch.where(uploaded(near, rng.device)[:, None], as_near, response)
        parts = torch.stack(reverberate(speech, response, self.config.early_samples))
        total = torch.zeros(2, len(speakers), speech.shape[1], device=rng.device)
        voices, early = total.index_add_(1, uploaded(owner, rng.device), parts)
        return voices, early

    def _through_a_loudspeaker(self, rng: BatchRng, speech: Tensor) -> Tensor:
        speech = equalise(speech, rng.draw((-LOUDSPEAKER, LOUDSPEAKER), len(speech), KNOTS))
        nyquist = self.config.sample_rate / 2
        cutoff = rng.draw(LOUDSPEAKER_CUTOFF, len(speech)) / nyquist
        return low_pass(speech, cutoff.clamp_max(1.0))

    def _before(self, target: Tensor) -> Tensor:
        """Return 1 before the talker has begun, and 0 afterwards: (I, N)."""
        silent = target.abs() <= BEGUN * target.abs().amax(1, keepdim=True)
        onset = silent.long().cumprod(1).sum(1, keepdim=True)  # N where nothing is said
        time = torch.arange(target.shape[1], device=target.device)
        fade = round(FADE * self.config.sample_rate)
        return (1 - (time - onset) / fade).clamp(0, 1)
