"""Configure noise mixing: the `[mix]` table of a recipe (noise_mixing.py mixes)."""

from dataclasses import dataclass, fields
from math import inf

from ..config import numbers_in, require_positive

Range = tuple[float, float]
LOWEST_VOICE = 60  # Hz: a steady vowel is searched for in windows of four periods of it
POSITIVE = (
    "sample_rate",
    "segment",
    "babble_speakers",
    "speed",
    "noise_speed",
    "formant",
    "rt60",
    "distance",
    "low_pass",
    "clip_drive",
    "enrolment",
)


@dataclass(frozen=True)
class MixConfig:
    """Settings of the mixing.

    Values are drawn uniformly from a range; `_chance` is the probability for each item.
    """

    sample_rate: int = 16000
    segment: float = 2.0  # seconds
    snr: Range = (-5.0, 20.0)  # dB, all noise together, levels over active frames
    snr_low_chance: float = 0.0  # of an SNR from `snr_low`
    snr_low: Range = (-15.0, -5.0)  # dB
    level: Range = (-70.0, 12.0)  # dBFS, peak of the noisy segment
    # P(speaker) proportional to duration ** balance; 0: all speakers equally likely
    speech_balance: float = 0.5
    noise_balance: float = 0.5  # the same for classes of noise
    # of 1, 2, 3, ... noise recordings at once
    noise_count_weights: tuple[float, ...] = (0.6, 0.3, 0.1)
    source_spread: float = 20.0  # dB, how far one source of noise may lie below another

    babble_chance: float = 0.12  # several other speakers at once
    babble_speakers: tuple[int, int] = (3, 8)
    coloured_chance: float = 0.1  # noise with a sloping spectrum
    coloured_slope: Range = (-9.0, 3.0)  # dB per octave
    speech_shaped_chance: float = 0.08  # stationary noise with the spectrum of speech
    # that these three replace the recorded noise instead of being added to it
    synthetic_only_chance: float = 0.5
    # recorded noise at another speed, over a wider range than `speed`
    noise_speed_chance: float = 0.0
    noise_speed: Range = (0.5, 2.0)
    reverse_chance: float = 0.0  # recorded noise backwards
    splice_chance: float = 0.0  # recorded noise that changes to another recording
    noise_room_chance: float = 0.0  # recorded noise in a room
    hum_chance: float = 0.05  # mains, 50 or 60 Hz and harmonics
    clicks_chance: float = 0.05  # random clicks
    clicks_rate: float = 5.0  # per second

    speed_chance: float = 0.3  # speech and recorded noise, drawn separately
    speed: Range = (0.9, 1.1)
    eq_chance: float = 0.4  # random equaliser curve, speech and recorded noise, drawn separately
    eq: float = 6.0  # dB up or down at most
    # gain that changes over time, speech and recorded noise, drawn separately
    gain_drift_chance: float = 0.2
    gain_drift: float = 6.0  # dB up or down at most
    formant_chance: float = 0.0  # speech with shifted formants, at the same pitch
    formant: Range = (0.85, 1.2)  # factor of their frequencies
    sustain_chance: float = 0.0  # speech with a sustained vowel
    sustain: Range = (0.3, 1.5)  # seconds by which the vowel is longer
    # factor of pitch and tempo, as of a child or a singer; 1 or more
    sustain_pitch: Range = (1.0, 1.6)
    whisper_chance: float = 0.0  # whispered speech
    pause_chance: float = 0.15  # speech that starts late and has long gaps
    pause: Range = (0.4, 1.2)  # seconds

    # other talkers, farther away, who are noise once the talker has begun, and speech before
    others_chance: float = 0.0
    others_count_weights: tuple[float, ...] = (0.7, 0.2, 0.1)  # of 1, 2, 3, ... others at once
    others_ratio: Range = (3.0, 20.0)  # dB, the talker above all others, over active frames
    others_farther: Range = (0.5, 4.0)  # metres
    others_begin_chance: float = 0.0  # that the others begin
    others_remain_chance: float = 0.0  # that the talker ends before the others
    others_loudspeaker_chance: float = 0.0  # of each other: from a small loudspeaker

    # speech of the talker that the network is told beforehand, so that it keeps this talker alone
    enrolment_chance: float = 0.0
    enrolment: float = 4.0  # seconds
    enrolment_absent_chance: float = 0.1  # that it is of somebody who says nothing: all is noise
    enrolled_ratio: Range = (-5.0, 15.0)  # dB, in place of `others_ratio`
    enrolled_near_chance: float = 0.5  # of each other: as near as a talker

    room_chance: float = 0.3
    rooms: int = 64  # number of impulse responses
    rt60: Range = (0.1, 0.8)  # seconds
    distance: Range = (0.3, 2.5)  # metres from talker to microphone
    early_reflections: float = 0.05  # seconds of the impulse response that stay in clean
    response_chance: float = 0.0  # frequency response of a microphone, on noisy and clean
    response: float = 6.0  # dB up or down at most
    low_pass_chance: float = 0.1  # low-pass filter on noisy and clean
    low_pass: Range = (3400.0, 7500.0)  # cutoff, Hz
    clip_chance: float = 0.08  # saturation of noisy only
    clip_drive: Range = (1.0, 4.0)  # peak divided by the limit of the saturation
    noise_only_chance: float = 0.03  # clean is zero
    clean_only_chance: float = 0.03  # noisy is clean
    # digital silence at the beginning, as when a microphone is switched on
    mute_chance: float = 0.0
    mute: Range = (0.0, 0.1)  # seconds; random, so that sound begins at any sample of a hop

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, list):
                value = tuple(value)
                object.__setattr__(self, field.name, value)
            if not all(abs(number) < inf for number in numbers_in(value)):
                raise ValueError(f"{field.name} = {value}: finite numbers are needed.")
            if field.name.endswith("_chance") and not 0 <= value <= 1:
                raise ValueError(f"{field.name} = {value}: a chance lies between 0 and 1.")
            is_range = isinstance(value, tuple) and not field.name.endswith("_weights")
            if is_range and not (len(value) == 2 and value[0] <= value[1]):
                raise ValueError(
                    f"{field.name} = {list(value)}: a range is two numbers, the smaller one first."
                )
        require_positive(self, *POSITIVE)
        for name in ("pause", "sustain", "mute"):
            seconds = getattr(self, name)
            if min(seconds) < 0:
                raise ValueError(f"{name} = {list(seconds)}: seconds, 0 or above.")
        if self.sustain_chance and self.samples < 4 * (self.sample_rate // LOWEST_VOICE):
            raise ValueError(
                f"segment = {self.segment}: too short to sustain a vowel; 0.07, "
                "or sustain_chance 0."
            )
        if self.sustain_pitch[0] < 1:
            raise ValueError(
                f"sustain_pitch = {list(self.sustain_pitch)}: pitch is only raised, 1 or more."
            )
        for name in ("noise_count_weights", "others_count_weights"):
            weights = getattr(self, name)
            if min(weights, default=0) < 0 or not any(weights):
                raise ValueError(
                    f"{name} = {list(weights)}: none below 0 and at least one above it."
                )
        if self.enrolment_chance and not self.others_chance:
            raise ValueError("enrolment_chance: only where others_chance is above 0.")
        if self.others_farther[0] <= 0:
            raise ValueError(
                f"others_farther = {list(self.others_farther)}: metres farther away, above 0."
            )
        if self.rooms < 1:
            raise ValueError(
                f"rooms = {self.rooms}: at least 1; for no reverberation set room_chance to 0."
            )

    @property
    def samples(self) -> int:
        """Return the number of samples per segment."""
        return round(self.segment * self.sample_rate)

    @property
    def enrolment_samples(self) -> int:
        """Return the samples of an enrolment at the sample rate."""
        return round(self.enrolment * self.sample_rate)

    @property
    def early_samples(self) -> int:
        """Return the number of samples of an impulse response that stay in clean."""
        return round(self.early_reflections * self.sample_rate)
