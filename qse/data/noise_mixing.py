"""Mix batches of (noisy, clean) segments from a corpus of speech and one of noise, on the fly.

    speech (speed, eq, gain, formants, vowel, whisper) -> room -> early reflections, all reflections
    recordings (speed, eq, gain, splice, reversal, room),
    babble, coloured, speech-shaped, hum, clicks       -> sum of the noise -> at an SNR

    other talkers (farther in the same room)           -> at a ratio; early reflections until the
                                                          talker begins
    early reflections                                  -> response, low-pass -> level, mute -> clean
    all reflections + other talkers + noise            -> response, low-pass, clip, ... -> noisy

A batch is a function of (seed, rank, step) alone, so that a resumed run gets the numbers of an
uninterrupted one: bit by bit on a CPU; on a GPU sums may differ in rounding, and with them the
vowel that is sustained. Operations on samples run on the corpora's device, by the same code on CPU
and GPU. Pairs mixed before: paired_segments.py.

Glossary: B items of a batch, N samples of a segment, items = int64 indices of those that get an
augmentation.
"""

import torch
from torch import Tensor

from ..torch_device import uploaded
from .augmentation import soft_clip
from .corpus import Corpus
from .enrolments import Enrolments, Told
from .filters import equalise, low_pass, reverberate
from .levels import at_peak, at_snr
from .mix_config import MixConfig
from .noise_sources import NoiseSources
from .other_talkers import OtherTalkers
from .room_simulation import rooms_of
from .sampling import BatchRng, CorpusSampler
from .source import Batch
from .speech_source import SpeechSource
from .variation import KNOTS


class NoiseMixer:
    """Draw batches from a corpus of speech and one of noise.

    seed: int; batches of two seeds have nothing in common. device: where batches are made; the
    corpora move there. rooms: impulse responses (R, L), the direct sound 1 at sample 0; by default
    they are simulated, from `rooms_seed` or else `seed`. segments: of an epoch, as long as all of
    the speech. Raises ValueError for a corpus whose sample rate is not the config's.
    """

    def __init__(
        self,
        config: MixConfig,
        speech: Corpus,
        noise: Corpus,
        seed: int = 0,
        device: torch.device | str = "cpu",
        rooms: Tensor | None = None,
        rooms_seed: int | None = None,
    ) -> None:
        for name, corpus in (("speech", speech), ("noise", noise)):
            if corpus.sample_rate != config.sample_rate:
                raise ValueError(
                    f"{name} is at {corpus.sample_rate} Hz, the config at {config.sample_rate} Hz."
                )
        self.config = config
        self.seed = seed
        self.device = torch.device(device)
        rooms_seed = seed if rooms_seed is None else rooms_seed
        self.rooms = (rooms_of(config, rooms_seed) if rooms is None else rooms).to(device)
        self.segments = max(1, int(speech.seconds / config.segment))
        speakers = CorpusSampler(speech.to(device), config.speech_balance)
        noises = CorpusSampler(noise.to(device), config.noise_balance)
        self._speakers = speakers
        self._speech = SpeechSource(config, speakers)
        self._noise = NoiseSources(config, speakers, noises, self.rooms)
        if config.enrolment_chance:
            self._enrolments = Enrolments(config, speakers, self.rooms)
        if config.others_chance:
            self._others = OtherTalkers(config, speakers, self._speech, rooms_seed, self.device)

    @torch.no_grad()
    def batch(self, step: int, size: int, rank: int = 0) -> Batch:
        """Return batch `step` in process `rank`, on the device, finite."""
        config = self.config
        rng = BatchRng(self.seed, rank, step, self.device)
        speakers = self._speakers.groups(rng, size)
        speech = self._speech.rows(rng, speakers)
        noise = self._noise.rows(rng, speakers)
        kind = rng.uniform(0, 1, size)
        no_speech = kind < config.noise_only_chance
        no_noise = (kind >= 1 - config.clean_only_chance) & ~no_speech
        speech = speech * uploaded(~no_speech, self.device)[:, None]
        reverberant, clean = self._room(rng, speech, ~no_noise)
        voices = reverberant
        # nothing is drawn of what a recipe does not have, so that it keeps its batches
        told = self._told(rng, speakers, ~no_speech)
        if config.others_chance:
            allowed = ~(no_speech | no_noise)
            reverberant, clean, voices = self._others.around(
                rng, speakers, speech, reverberant, clean, allowed, told.told
            )
        enrolment = None
        if config.enrolment_chance:
            clean = clean * uploaded(~told.absent, self.device)[:, None]
            enrolment = self._enrolments.speech(rng, speakers, told, noise)
        noise = at_snr(noise, reverberant, self._snr(rng, size))
        noise = noise * uploaded(~no_noise, self.device)[:, None]
        noisy, clean = self._channel(rng, voices + noise, clean)
        noisy = self._clip(rng, noisy, ~no_noise)
        noisy, clean = at_peak(noisy, clean, rng.draw(config.level, size))
        switched_on = self._switched_on(rng, size)
        return Batch(noisy * switched_on, clean * switched_on, config.sample_rate, enrolment)

    def _told(self, rng: BatchRng, speakers: Tensor, allowed: Tensor) -> Told:
        if self.config.enrolment_chance:
            return self._enrolments.choose(rng, speakers, allowed)
        none = torch.zeros(len(allowed), dtype=torch.bool)
        return Told(none, none)

    def _snr(self, rng: BatchRng, size: int) -> Tensor:
        snr = rng.draw(self.config.snr, size)
        if self.config.snr_low_chance:
            low = uploaded(rng.coin(self.config.snr_low_chance, size), self.device)
            snr = torch.where(low, rng.draw(self.config.snr_low, size), snr)
        return snr

    def _room(self, rng: BatchRng, speech: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        """Return (reverberant, clean); for items without a room, both are the dry speech."""
        items = torch.nonzero(rng.coin(self.config.room_chance, len(speech)) & allowed).flatten()
        if not len(items):
            return speech, speech
        reverberant = speech.clone()
        clean = speech.clone()
        rows = uploaded(items, self.device)
        rooms = uploaded(rng.below(torch.full_like(items, len(self.rooms))), self.device)
        reverberant[rows], clean[rows] = reverberate(
            speech[rows], self.rooms[rooms], self.config.early_samples
        )
        return reverberant, clean

    def _channel(self, rng: BatchRng, noisy: Tensor, clean: Tensor) -> tuple[Tensor, Tensor]:
        """Filter noisy and clean alike: the response of a microphone, a limited bandwidth."""
        config = self.config
        if config.response_chance:
            items = rng.items(config.response_chance, len(noisy))
            if len(items):
                rows = uploaded(items, self.device)
                knots = rng.draw((-config.response, config.response), len(items), KNOTS)
                clean = clean.clone()
                noisy[rows] = equalise(noisy[rows], knots)
                clean[rows] = equalise(clean[rows], knots)

        items = rng.items(config.low_pass_chance, len(noisy))
        if len(items):
            cutoff = rng.draw(config.low_pass, len(items)) * (2 / config.sample_rate)
            rows = uploaded(items, self.device)
            clean = clean.clone()
            noisy[rows] = low_pass(noisy[rows], cutoff)
            clean[rows] = low_pass(clean[rows], cutoff)
        return noisy, clean

    def _clip(self, rng: BatchRng, noisy: Tensor, allowed: Tensor) -> Tensor:
        items = torch.nonzero(rng.coin(self.config.clip_chance, len(noisy)) & allowed).flatten()
        if len(items):
            rows = uploaded(items, self.device)
            noisy[rows] = soft_clip(noisy[rows], rng.draw(self.config.clip_drive, len(items)))
        return noisy

    def _switched_on(self, rng: BatchRng, size: int) -> Tensor:
        """Return 1, and 0 before the microphone of an item is switched on: (B, N)."""
        silent = rng.uniform(*self.config.mute, size) * rng.coin(self.config.mute_chance, size)
        start = uploaded((silent * self.config.sample_rate).long(), self.device)
        return (torch.arange(self.config.samples, device=self.device) >= start[:, None]).float()
