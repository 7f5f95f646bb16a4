"""Code mono audio as Ogg/Opus in memory, at a given bit rate (libsndfile)."""

import io

import numpy as np

LEAST_KBIT = 6.0
MOST_KBIT = 256.0


class NotDecoded(ValueError):
    """The data are not the Opus that was expected; the text says why."""


def encode(audio: np.ndarray, sample_rate: int, kbit: float) -> bytes:
    """Return `audio`, float32 (samples,), as Ogg/Opus of about `kbit` kbit/s.

    sample_rate: 8, 12, 16, 24 or 48 kHz. The bit rate is variable; `kbit` lies between LEAST_KBIT
    and MOST_KBIT.
    """
    import soundfile

    # libsndfile maps its compression level, 0 to 1, to bit rates from the most to the least
    level = (MOST_KBIT - kbit) / (MOST_KBIT - LEAST_KBIT)
    file = io.BytesIO()
    soundfile.write(file, audio, sample_rate, format="OGG", subtype="OPUS", compression_level=level)
    return file.getvalue()


def decode(data: bytes, sample_rate: int, samples: int) -> np.ndarray:
    """Return int16 (samples,), full scale 32768.

    Raises NotDecoded if the data are anything but mono Ogg/Opus of this rate and length.
    """
    import soundfile

    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            found = (file.format, file.subtype, file.channels, file.samplerate)
            if found != ("OGG", "OPUS", 1, sample_rate):
                raise NotDecoded(f"it is not Opus with one channel at {sample_rate} Hz")
            audio = file.read(samples + 1, dtype="float32")
    except soundfile.SoundFileError as error:
        raise NotDecoded("it cannot be decoded") from error
    if len(audio) != samples:
        raise NotDecoded(f"it has not {samples} samples")
    return to_int16(audio)


def to_int16(audio: np.ndarray) -> np.ndarray:
    """Return float audio of full scale 1.0 as int16, rounded and clipped."""
    return np.clip(np.rint(audio * 32768), -32768, 32767).astype(np.int16)
