"""What a segment is mixed of, how often and how much of it: the `[mix]` table of a recipe (data.py mixes)."""

from dataclasses import dataclass, fields
from math import inf

from ..config import require_positive

Range = tuple[float, float]
LOWEST_VOICE = 60  # Hz: a steady vowel is looked for in four of its periods
POSITIVE = (
    "sample_rate",
    "segment",
    "babble_speakers",
    "speed",
    "rt60",
    "distance",
    "band",
    "clip_drive",
)


@dataclass(frozen=True)
class MixConfig:
    """How segments are mixed. A range is drawn from uniformly; a `_chance` is the share of items it applies to."""

    sample_rate: int = 16000
    segment: float = 2.0  # seconds
    snr: Range = (-5.0, 20.0)  # dB, all noise together, levels over active frames
    level: Range = (-40.0, 0.0)  # dBFS, peak of the noisy segment
    speech_balance: float = 0.5  # a speaker is drawn with probability ~ duration ** balance, 0 = all alike
    noise_balance: float = 0.5  # the same for classes of noise
    noises: tuple[float, ...] = (0.6, 0.3, 0.1)  # weights of 1, 2, 3, ... recordings at once
    source_spread: float = 20.0  # dB, how far one source of noise may lie below another

    babble_chance: float = 0.12  # several other speakers at once
    babble_speakers: tuple[int, int] = (3, 8)
    coloured_chance: float = 0.1
    coloured_slope: Range = (-9.0, 3.0)  # dB per octave
    shaped_chance: float = 0.08  # stationary noise with the spectrum of speech
    alone_chance: float = 0.5  # of these three: instead of recorded noise, not beside it
    hum_chance: float = 0.05  # mains, 50 or 60 Hz and harmonics
    clicks_chance: float = 0.05
    clicks_rate: float = 5.0  # per second

    speed_chance: float = 0.3  # speech and recorded noise, each for itself
    speed: Range = (0.9, 1.1)
    tone_chance: float = 0.4  # spectral curve, speech and recorded noise, each for itself
    tone: float = 6.0  # dB up or down at most
    gain_chance: float = 0.2  # level that moves, speech and recorded noise, each for itself
    gain: float = 6.0  # dB up or down at most
    hold_chance: float = 0.0  # speech with a vowel that lasts
    hold: Range = (0.3, 1.5)  # seconds longer
    hold_pitch: Range = (1.0, 1.6)  # times as high and as fast, as a child's voice or one that sings; 1 or more
    whisper_chance: float = 0.0  # speech without a voice
    pause_chance: float = 0.15  # speech that begins late and has long gaps
    pause: Range = (0.4, 1.2)  # seconds

    room_chance: float = 0.3
    rooms: int = 64  # impulse responses to choose from
    rt60: Range = (0.1, 0.8)  # seconds
    distance: Range = (0.3, 2.5)  # metres from talker to microphone
    early: float = 0.05  # seconds of reflections that stay in clean
    band_chance: float = 0.1  # low-pass on noisy and clean
    band: Range = (3400.0, 7500.0)  # Hz
    clip_chance: float = 0.08  # saturation of noisy alone
    clip_drive: Range = (1.0, 4.0)
    noise_only_chance: float = 0.03  # clean is zero
    clean_only_chance: float = 0.03  # noisy is clean
    mute_chance: float = 0.0  # digital silence first, then all at once: a microphone that is switched on
    mute: Range = (0.0, 0.1)  # seconds: the first sound then lies anywhere in a hop

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, list):
                object.__setattr__(self, field.name, value := tuple(value))
            if field.name.endswith("_chance") and not 0 <= value <= 1:
                raise ValueError(f"{field.name} = {value}: a chance lies between 0 and 1.")
            if isinstance(value, tuple) and field.name != "noises" and not (len(value) == 2 and value[0] <= value[1]):
                raise ValueError(f"{field.name} = {list(value)}: a range is two numbers, the smaller one first.")
        require_positive(self, *POSITIVE)
        for name in ("pause", "hold", "mute"):
            if min(seconds := getattr(self, name)) < 0:
                raise ValueError(f"{name} = {list(seconds)}: seconds, 0 or above.")
        if self.hold_chance and self.samples < 4 * (self.sample_rate // LOWEST_VOICE):
            raise ValueError(f"segment = {self.segment}: no vowel can last in it; 0.07 or more, or hold_chance 0.")
        if self.hold_pitch[0] < 1:
            raise ValueError(f"hold_pitch = {list(self.hold_pitch)}: a voice is made higher, 1 or more.")
        if not all(0 <= weight < inf for weight in self.noises) or not any(self.noises):
            raise ValueError(f"noises = {list(self.noises)}: weights, none below 0 and one above it.")
        if self.rooms < 1:
            raise ValueError(f"rooms = {self.rooms}: at least 1; without any reverberation room_chance is 0.")

    @property
    def samples(self) -> int:
        """Samples per segment."""
        return round(self.segment * self.sample_rate)
