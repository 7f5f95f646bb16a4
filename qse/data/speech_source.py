"""Draw dry speech for a batch, with pauses and changed voices."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..torch_device import uploaded
from .augmentation import change_speed
from .mix_config import LOWEST_VOICE, MixConfig
from .sampling import BatchRng, CorpusSampler
from .variation import vary
from .voice import most_periodic, shift_formants, sustain, whisper

PLACES = 16  # where a vowel is searched for
PERIODIC = 0.9  # least correlation of its periods


class SpeechSource:
    """Draw speech of the speakers of a corpus, varied as in the recipe."""

    def __init__(self, config: MixConfig, sampler: CorpusSampler) -> None:
        self.config = config
        self.sampler = sampler

    def rows(self, rng: BatchRng, speakers: Tensor) -> Tensor:
        """Return speech of each speaker: (B, N)."""
        config = self.config
        size = len(speakers)
        late = rng.coin(config.pause_chance, size)
        lead = (rng.uniform(0, config.segment / 2, size) * config.sample_rate).long() * late

        def read(samples: int) -> Tensor:
            return self.sampler.spoken(rng, speakers, samples, lead, late, config.pause)

        speech = vary(config, rng, read, size)
        for chance, change in (
            (config.formant_chance, self._formants),
            (config.sustain_chance, self._sustained),
            (config.whisper_chance, self._whispered),
        ):
            if not chance:  # nothing is drawn, so that recipes without these keep their batches
                continue
            items = rng.items(chance, size)
            if len(items):
                rows = uploaded(items, rng.device)
                speech[rows] = change(rng, speech[rows])
        return speech

    def _formants(self, rng: BatchRng, speech: Tensor) -> Tensor:
        return shift_formants(
            speech, rng.draw(self.config.formant, len(speech)), self.config.sample_rate
        )

    def _sustained(self, rng: BatchRng, speech: Tensor) -> Tensor:
        """Raise the pitch, by one factor for all, which shortens speech, and sustain a vowel where
        there is one."""
        config = self.config
        longest = self.config.sample_rate // LOWEST_VOICE
        samples = round(config.samples / rng.uniform(*config.sustain_pitch).item())
        speech = pad(change_speed(speech, samples), (0, config.samples - samples))
        places = rng.below(torch.full((len(speech), PLACES), max(1, samples - 4 * longest)))
        places = uploaded(places, rng.device)
        start, period, correlation = most_periodic(speech, places, longest)
        loop = 3 * longest // period * period
        seconds = rng.draw(config.sustain, len(speech)) * (correlation > PERIODIC)
        return sustain(speech, start, period, loop, (seconds * config.sample_rate / loop).long())

    def _whispered(self, rng: BatchRng, speech: Tensor) -> Tensor:
        return whisper(speech, rng.white(*speech.shape), self.config.sample_rate)
