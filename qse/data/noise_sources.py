"""Draw noise for a batch: recordings, babble, and synthetic noise, at random levels against each
other."""

import torch
from torch import Tensor

from ..torch_device import uploaded
from .augmentation import reverse, splice
from .filters import convolve
from .levels import active_level, at_level, decibels
from .mix_config import MixConfig
from .sampling import BatchRng, CorpusSampler
from .synthetic_noise import clicks, coloured, hum, speech_shaped
from .variation import vary

HARMONICS = 12  # of mains hum
CLICK_SAMPLES = 128


class NoiseSources:
    """Draw noise from a recipe's sources.

    speech: for babble and speech-shaped noise. rooms: (R, L) on the device.
    """

    def __init__(
        self, config: MixConfig, speech: CorpusSampler, noise: CorpusSampler, rooms: Tensor
    ) -> None:
        self.config = config
        self.speech = speech
        self.noise = noise
        self.rooms = rooms

    def rows(self, rng: BatchRng, speakers: Tensor) -> Tensor:
        """Return the sum of the sources of each item: (B, N).

        Babble leaves out the item's speaker.
        """
        config = self.config
        size = len(speakers)
        babble = rng.coin(config.babble_chance, size)
        tinted = rng.coin(config.coloured_chance, size)
        shaped = rng.coin(config.speech_shaped_chance, size)
        synthetic_only = (babble | tinted | shaped) & rng.coin(config.synthetic_only_chance, size)
        recordings = (rng.pick(config.noise_count_weights, size) + 1) * ~synthetic_only
        sources = (
            (torch.arange(size).repeat_interleave(recordings), self._recorded),
            (
                torch.nonzero(babble).flatten(),
                lambda rng, items: self._babble(rng, speakers[items]),
            ),
            (torch.nonzero(tinted).flatten(), self._coloured),
            (torch.nonzero(shaped).flatten(), self._speech_shaped),
            (rng.items(config.hum_chance, size), self._hum),
            (rng.items(config.clicks_chance, size), self._clicks),
        )
        total = torch.zeros(size, config.samples, device=rng.device)
        for items, make in sources:
            if len(items):
                level = decibels(rng.draw((-config.source_spread, 0.0), len(items)))
                rows = uploaded(items, rng.device)
                total.index_add_(0, rows, at_level(make(rng, items), level))
        return total

    def _recorded(self, rng: BatchRng, items: Tensor) -> Tensor:
        config = self.config
        noise = self._recording(rng, len(items))
        for chance, change in (
            (config.splice_chance, self._spliced),
            (config.reverse_chance, lambda _, rows: reverse(rows)),
            (config.noise_room_chance, self._in_room),
        ):
            if not chance:  # nothing is drawn, so that recipes without these keep their batches
                continue
            chosen = rng.items(chance, len(noise))
            if len(chosen):
                rows = uploaded(chosen, rng.device)
                noise[rows] = change(rng, noise[rows])
        return noise

    def _recording(self, rng: BatchRng, count: int) -> Tensor:
        groups = self.noise.groups(rng, count)

        def read(samples: int) -> Tensor:
            return self.noise.looped(rng, groups, samples)

        return vary(self.config, rng, read, count, self.config.noise_speed_chance)

    def _spliced(self, rng: BatchRng, noise: Tensor) -> Tensor:
        """Change to another recording of the same level at a random moment."""
        other = at_level(self._recording(rng, len(noise)), active_level(noise))
        position = uploaded(rng.below(torch.full((len(noise),), self.config.samples)), rng.device)
        return splice(noise, other, position, self.config.sample_rate // 50)

    def _in_room(self, rng: BatchRng, noise: Tensor) -> Tensor:
        rooms = uploaded(rng.below(torch.full((len(noise),), len(self.rooms))), rng.device)
        return convolve(noise, self.rooms[rooms])

    def _babble(self, rng: BatchRng, speakers: Tensor) -> Tensor:
        low, high = self.config.babble_speakers
        voices = low + rng.below(torch.full_like(speakers, high - low + 1))
        owner = torch.arange(len(speakers)).repeat_interleave(voices)
        others = self.speech.other_groups(rng, speakers[owner])
        level = decibels(rng.draw((-10.0, 0.0), len(owner)))
        talk = at_level(self.speech.spoken(rng, others, self.config.samples), level)
        total = torch.zeros(len(speakers), talk.shape[1], device=rng.device)
        return total.index_add_(0, uploaded(owner, rng.device), talk)

    def _coloured(self, rng: BatchRng, items: Tensor) -> Tensor:
        slope = rng.draw(self.config.coloured_slope, len(items))
        return coloured(rng.white(len(items), self.config.samples), slope)

    def _speech_shaped(self, rng: BatchRng, items: Tensor) -> Tensor:
        model = self.speech.spoken(rng, self.speech.groups(rng, len(items)), self.config.samples)
        return speech_shaped(rng.white(*model.shape), model)

    def _hum(self, rng: BatchRng, items: Tensor) -> Tensor:
        count = len(items)
        mains = torch.where(rng.coin(0.5, count), 50.0, 60.0) * rng.uniform(0.998, 1.002, count)
        decay = torch.arange(1, HARMONICS + 1)
        amplitude = rng.uniform(0, 1, count, HARMONICS) / decay ** rng.uniform(0, 2, count, 1)
        phase = rng.draw((0.0, 6.2832), count, HARMONICS)
        mains = uploaded(mains, rng.device)
        amplitude = uploaded(amplitude, rng.device)
        return hum(mains, amplitude, phase, self.config.samples, self.config.sample_rate)

    def _clicks(self, rng: BatchRng, items: Tensor) -> Tensor:
        config = self.config
        count = max(1, round(config.clicks_rate * config.segment))
        position = uploaded(rng.below(torch.full((len(items), count), config.samples)), rng.device)
        amplitude = decibels(rng.draw((-20.0, 0.0), len(items), count))
        return clicks(
            position, amplitude, rng.white(len(items), count, CLICK_SAMPLES), config.samples
        )
