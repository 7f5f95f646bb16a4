"""Data: from two corpora to batches of (noisy, clean) segments, mixed on the fly. (Mixed already: pairs.py.)

    speech -> speed, tone, gain, hold, whisper -> room -+- early part -> band limit --------> level -> mute -> clean
                                                        +- all of it > + -> band limit -> clip -> level -> mute -> noisy
    recordings -> speed, tone, gain -+                                 |
    babble, coloured, speech-shaped -+-> sum ----------------> at an SNR
    hum, clicks ---------------------+

A batch is a function of (seed, rank, step) alone, so a resumed run sees the numbers of an uninterrupted one (bit by
bit on a CPU; on a GPU sums may differ in rounding, and with them the vowel that is held). Everything sample-wise
happens on the corpora's device, by the same lines on CPU and GPU.

Glossary: B items of a batch, N samples of a segment, M samples read before a change of speed,
items = int64 indices of those items that get an augmentation.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad

from . import augmentation as augment
from .corpus import Corpus
from .sampling import BatchRng, CorpusSampler
from .mix_config import LOWEST_VOICE, MixConfig, Range
from .room_simulation import rooms_of

PLACES, STEADY = 16, 0.9  # at how many places a vowel is looked for, and how alike its periods must be


class NoiseMixer:
    """Draws batches from a corpus of speech and one of noise.

    seed: int; batches of two seeds have nothing in common. device: where batches are made; the corpora move there.
    rooms: impulse responses (R, L), the direct sound 1 at sample 0; without any they are simulated.
    Raises ValueError for a corpus whose sample rate is not the config's.
    """

    def __init__(
        self,
        config: MixConfig,
        speech: Corpus,
        noise: Corpus,
        seed: int = 0,
        device: torch.device | str = "cpu",
        rooms: Tensor | None = None,
    ) -> None:
        for name, corpus in (("speech", speech), ("noise", noise)):
            if corpus.sample_rate != config.sample_rate:
                raise ValueError(f"{name} is at {corpus.sample_rate} Hz, the config at {config.sample_rate} Hz.")
        self.config, self.seed, self.device = config, seed, torch.device(device)
        self.speech = CorpusSampler(speech.to(device), config.speech_balance)
        self.noise = CorpusSampler(noise.to(device), config.noise_balance)
        if rooms is None:
            rooms = rooms_of(config, seed)
        self.rooms = rooms.to(device)
        self.segments = max(1, int(speech.seconds / config.segment))  # of an epoch: as long as all of the speech

    @torch.no_grad()
    def batch(self, step: int, size: int, rank: int = 0) -> tuple[Tensor, Tensor]:
        """(noisy, clean) of batch number `step` in process `rank`: float32 (size, samples), on the device, finite."""
        config, dice = self.config, BatchRng(self.seed, rank, step, self.device)
        speakers = self.speech.groups(dice, size)
        speech = self._speech(dice, speakers)
        noise = self._noise(dice, speakers)
        kind = dice.uniform(0, 1, size)
        no_speech = kind < config.noise_only_chance
        no_noise = (kind >= 1 - config.clean_only_chance) & ~no_speech
        speech = speech * ~no_speech.to(self.device)[:, None]
        heard, clean = self._room(dice, speech, ~no_noise)
        noise = augment.at_snr(noise, heard, self._draw(dice, config.snr, size)) * ~no_noise.to(self.device)[:, None]
        noisy, clean = self._band(dice, heard + noise, clean)
        noisy = self._clip(dice, noisy, ~no_noise)
        noisy, clean = augment.at_peak(noisy, clean, self._draw(dice, config.level, size))
        heard = self._heard(dice, size)
        return noisy * heard, clean * heard

    def _draw(self, dice: BatchRng, range_: Range, *shape: int) -> Tensor:
        return dice.uniform(*range_, *shape).to(self.device)

    def _speech(self, dice: BatchRng, speakers: Tensor) -> Tensor:
        """Speech of each speaker, dry: (B, N)."""
        config, size = self.config, len(speakers)
        late = dice.coin(config.pause_chance, size)
        lead = (dice.uniform(0, config.segment / 2, size) * config.sample_rate).long() * late

        def read(samples: int) -> Tensor:
            return self.speech.spoken(dice, speakers, samples, lead, late, config.pause)

        speech = self._vary(dice, read, size)
        for chance, change in ((config.sustain_chance, self._held), (config.whisper_chance, self._whispered)):
            # no die is cast for a chance of 0, so that recipes without these keep their batches
            if chance and len(items := _items(dice.coin(chance, size))):
                rows = items.to(self.device)
                speech[rows] = change(dice, speech[rows])
        return speech

    def _held(self, dice: BatchRng, speech: Tensor) -> Tensor:
        """In a higher voice, one pitch for the batch, hence shorter, and with a vowel that lasts where one is found."""
        config, longest = self.config, self.config.sample_rate // LOWEST_VOICE
        samples = round(config.samples / dice.uniform(*config.sustain_pitch).item())
        speech = pad(augment.change_speed(speech, samples), (0, config.samples - samples))
        places = dice.below(torch.full((len(speech), PLACES), max(1, samples - 4 * longest))).to(self.device)
        start, period, alike = augment.steadiest(speech, places, longest)
        loop = 3 * longest // period * period
        seconds = self._draw(dice, config.sustain, len(speech)) * (alike > STEADY)
        return augment.sustain(speech, start, period, loop, (seconds * config.sample_rate / loop).long())

    def _whispered(self, dice: BatchRng, speech: Tensor) -> Tensor:
        return augment.whispered(speech, dice.white(*speech.shape), self.config.sample_rate)

    def _noise(self, dice: BatchRng, speakers: Tensor) -> Tensor:
        """All sources of noise of each item, at random levels against each other: (B, N)."""
        config, size = self.config, len(speakers)
        babble, tinted, shaped = (
            dice.coin(chance, size) for chance in (config.babble_chance, config.coloured_chance, config.speech_shaped_chance)
        )
        alone = (babble | tinted | shaped) & dice.coin(config.synthetic_only_chance, size)
        recordings = (dice.pick(config.noise_count_weights, size) + 1) * ~alone
        makers = (
            (torch.arange(size).repeat_interleave(recordings), self._recorded),
            (_items(babble), lambda dice, items: self._babble(dice, speakers[items])),
            (_items(tinted), self._coloured),
            (_items(shaped), self._shaped),
            (_items(dice.coin(config.hum_chance, size)), self._hum),
            (_items(dice.coin(config.clicks_chance, size)), self._clicks),
        )
        total = torch.zeros(size, config.samples, device=self.device)
        for items, make in makers:
            if len(items):
                level = augment.decibels(self._draw(dice, (-config.source_spread, 0.0), len(items)))
                total.index_add_(0, items.to(self.device), augment.at_level(make(dice, items), level))
        return total

    def _recorded(self, dice: BatchRng, items: Tensor) -> Tensor:
        groups = self.noise.groups(dice, len(items))
        return self._vary(dice, lambda samples: self.noise.looped(dice, groups, samples), len(items))

    def _babble(self, dice: BatchRng, speakers: Tensor) -> Tensor:
        low, high = self.config.babble_speakers
        voices = low + dice.below(torch.full_like(speakers, high - low + 1))
        owner = torch.arange(len(speakers)).repeat_interleave(voices)
        others = self.speech.other_groups(dice, speakers[owner])
        level = augment.decibels(self._draw(dice, (-10.0, 0.0), len(owner)))
        talk = augment.at_level(self.speech.spoken(dice, others, self.config.samples), level)
        return torch.zeros(len(speakers), talk.shape[1], device=self.device).index_add_(0, owner.to(self.device), talk)

    def _coloured(self, dice: BatchRng, items: Tensor) -> Tensor:
        slope = self._draw(dice, self.config.coloured_slope, len(items))
        return augment.coloured(dice.white(len(items), self.config.samples), slope)

    def _shaped(self, dice: BatchRng, items: Tensor) -> Tensor:
        model = self.speech.spoken(dice, self.speech.groups(dice, len(items)), self.config.samples)
        return augment.speech_shaped(dice.white(*model.shape), model)

    def _hum(self, dice: BatchRng, items: Tensor) -> Tensor:
        mains = torch.where(dice.coin(0.5, len(items)), 50.0, 60.0) * dice.uniform(0.998, 1.002, len(items))
        amplitude = dice.uniform(0, 1, len(items), 12) / torch.arange(1, 13) ** dice.uniform(0, 2, len(items), 1)
        phase = self._draw(dice, (0.0, 6.2832), len(items), 12)
        device = self.device
        return augment.hum(mains.to(device), amplitude.to(device), phase, self.config.samples, self.config.sample_rate)

    def _clicks(self, dice: BatchRng, items: Tensor) -> Tensor:
        config = self.config
        count = max(1, round(config.clicks_rate * config.segment))
        position = dice.below(torch.full((len(items), count), config.samples)).to(self.device)
        amplitude = augment.decibels(self._draw(dice, (-20.0, 0.0), len(items), count))
        return augment.clicks(position, amplitude, dice.white(len(items), count, 128), config.samples)

    def _vary(self, dice: BatchRng, read: Callable[[int], Tensor], size: int) -> Tensor:
        """Rows from read(samples), each perhaps played at another speed, through a tone control and a fader: (B, N)."""
        config = self.config
        percent = torch.where(dice.coin(config.speed_chance, size), dice.uniform(*config.speed, size) * 100, 100.0)
        needed = (percent.round() / 100 * config.samples).round().long()  # (B,) = M, one of a few sizes
        audio = read(max(config.samples, *needed.tolist()))
        out = audio[:, : config.samples].clone()
        for samples in set(needed.tolist()) - {config.samples}:
            rows = _items(needed == samples).to(self.device)
            out[rows] = augment.change_speed(audio[rows, :samples], config.samples)
        for chance, reach, change in (
            (config.eq_chance, config.eq, augment.equalise),
            (config.gain_drift_chance, config.gain_drift, augment.change_gain),
        ):
            if len(items := _items(dice.coin(chance, size))):
                rows, knots = items.to(self.device), self._draw(dice, (-reach, reach), len(items), 6)
                out[rows] = change(out[rows], knots)
        return out

    def _room(self, dice: BatchRng, speech: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        """(heard, clean): both the speech itself outside rooms."""
        items = _items(dice.coin(self.config.room_chance, len(speech)) & allowed)
        if not len(items):
            return speech, speech
        heard, clean, rows = speech.clone(), speech.clone(), items.to(self.device)
        rooms = dice.below(torch.full_like(items, len(self.rooms))).to(self.device)
        early = round(self.config.early_reflections * self.config.sample_rate)
        heard[rows], clean[rows] = augment.reverberate(speech[rows], self.rooms[rooms], early)
        return heard, clean

    def _band(self, dice: BatchRng, noisy: Tensor, clean: Tensor) -> tuple[Tensor, Tensor]:
        if len(items := _items(dice.coin(self.config.low_pass_chance, len(noisy)))):
            cutoff = self._draw(dice, self.config.low_pass, len(items)) * (2 / self.config.sample_rate)
            rows, clean = items.to(self.device), clean.clone()
            noisy[rows], clean[rows] = augment.low_pass(noisy[rows], cutoff), augment.low_pass(clean[rows], cutoff)
        return noisy, clean

    def _clip(self, dice: BatchRng, noisy: Tensor, allowed: Tensor) -> Tensor:
        if len(items := _items(dice.coin(self.config.clip_chance, len(noisy)) & allowed)):
            rows = items.to(self.device)
            noisy[rows] = augment.soft_clip(noisy[rows], self._draw(dice, self.config.clip_drive, len(items)))
        return noisy

    def _heard(self, dice: BatchRng, size: int) -> Tensor:
        """1, and 0 before an item's microphone is switched on: (B, N)."""
        silent = dice.uniform(*self.config.mute, size) * dice.coin(self.config.mute_chance, size)
        start = (silent * self.config.sample_rate).long().to(self.device)
        return (torch.arange(self.config.samples, device=self.device) >= start[:, None]).float()


def _items(chosen: Tensor) -> Tensor:
    return torch.nonzero(chosen).flatten()
