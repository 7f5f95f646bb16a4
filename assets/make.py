"""Generate assets/clean.wav and assets/noisy.wav, a synthetic voice (flite) in synthetic noise, and
the sample of the page, the beginning of the latter.

    apt-get install flite
    python assets/make.py

The files contain no recordings: one female voice, a babble of four other voices, and coloured
noise, mains hum and clicks of qse.data.synthetic_noise; the SNR is 4 dB.
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
import soundfile
import soxr
import torch

from qse.data.levels import at_level, at_peak, at_snr, decibels
from qse.data.synthetic_noise import clicks, coloured, hum

RATE = 16000
HERE = Path(__file__).parent
SAMPLE = HERE.parent / "qse/web/sample.flac"
SAMPLE_SECONDS = 5
TEXT = (
    "Good morning. This recording was made in a noisy room, "
    "but every word of it should be easy to follow. "
    "The train to the harbour leaves at half past nine."
)
BEHIND = (
    "Two coffees and a glass of water, please. "
    "We could take the other road, along the river, before the rain begins."
)
# four voices at once, each starting at another position of the text:
BABBLE = ("rms", "awb", "kal16", "kal")


def synthesise(text: str, voice: str) -> np.ndarray:
    """Return `text` spoken by a flite voice, with half a second of silence before and after it.

    float32 (samples,) at 16 kHz.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "voice.wav"
        subprocess.run(["flite", "-voice", voice, "-t", text, "-o", str(path)], check=True)
        audio, rate = soundfile.read(path, dtype="float32")
    return np.pad(soxr.resample(audio, rate, RATE), RATE // 2).astype(np.float32)


def main() -> None:
    torch.manual_seed(0)
    speech = torch.from_numpy(synthesise(TEXT, "slt"))[None]
    samples = speech.shape[1]
    behind = []
    for number, voice in enumerate(BABBLE):
        spoken = np.resize(synthesise(BEHIND, voice), samples)
        behind.append(np.roll(spoken, 20000 * number))
    babble = torch.from_numpy(np.sum(behind, 0, dtype=np.float32))[None]

    air = coloured(torch.randn(1, samples), torch.tensor([-4.0]))
    harmonics = 1 / torch.arange(1.0, 13.0)[None]
    mains = hum(torch.tensor([50.0]), harmonics, torch.zeros(1, 12), samples, RATE)
    places = torch.randint(samples, (1, 12))
    clicking = clicks(places, torch.ones(1, 12), torch.randn(1, 12, 128), samples)

    sources = ((babble, -6.0), (air, 0.0), (mains, -12.0), (clicking, -12.0))  # dB
    noise = sum(at_level(source, decibels(torch.tensor([level]))) for source, level in sources)
    noise = at_snr(noise, speech, torch.tensor([4.0]))
    noisy, clean = at_peak(speech + noise, speech, torch.tensor([-3.0]))
    for name, audio in (("noisy", noisy), ("clean", clean)):
        soundfile.write(HERE / f"{name}.wav", audio[0].numpy(), RATE, subtype="PCM_16")
    sample, _ = soundfile.read(HERE / "noisy.wav", dtype="int16")
    soundfile.write(SAMPLE, sample[: SAMPLE_SECONDS * RATE], RATE, subtype="PCM_16")


if __name__ == "__main__":
    main()
