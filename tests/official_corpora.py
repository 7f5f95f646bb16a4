"""Tiny copies of the official corpora, in their layouts."""

import numpy as np
import soundfile
import soxr

from qse.export.streaming import speech_like

LIGHT = ["train.batch=2", "mix.segment=0.5", "loss.mrstft=0", "loss.pesq=0", "loss.complex_l1=0"]


def write(path, samples, sample_rate=16000):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, sample_rate)


def voicebank(folder, sample_rate):
    """Five training and two test pairs in the layout of VoiceBank+DEMAND."""
    rng = np.random.default_rng(0)
    for part, names in (
        ("trainset_28spk", ["p226_001", "p226_002", "p227_001", "p227_002", "p228_001"]),
        ("testset", ["p232_001", "p257_002"]),
    ):
        for seed, name in enumerate(names):
            clean = speech_like(16000 + 800 * seed, 16000, seed)
            noisy = 0.5 * clean + 0.02 * rng.standard_normal(len(clean))
            for side, audio in (("clean", 0.5 * clean), ("noisy", noisy)):
                write(
                    folder / f"{side}_{part}_wav/{name}.wav",
                    soxr.resample(audio, 16000, sample_rate),
                    sample_rate,
                )
    return folder


def dns3_of_ten(folder):
    """The same with ten talkers, of whom the last one has most of the speech, and five noises."""
    root = dns3(folder, 16000) / "datasets"
    for path in [*(root / "clean").rglob("*.wav"), *(root / "noise").glob("*.wav")]:
        path.unlink()
    for number in range(12):
        name = f"book_1_reader_{min(number, 9):05}_seg_{number}"
        write(root / f"clean/read_speech/{name}.wav", 0.5 * speech_like(24000, 16000, number))
    for number in range(5):
        noise = 0.1 * np.random.default_rng(number).standard_normal(16000)
        write(root / f"noise/{number}.wav", noise)
    return folder


def dns3(folder, sample_rate):
    """DNS-Challenge 3, a little of each of its folders."""
    rng = np.random.default_rng(0)
    root = folder / "datasets"
    for seed, name in enumerate(("french_speech/a", "read_speech/b", "read_speech/c")):
        audio = soxr.resample(0.5 * speech_like(24000, 16000, seed), 16000, sample_rate)
        write(root / f"clean/{name}.wav", audio, sample_rate)
    write(root / "dev_testset/track_1/a_fileid_0.wav", audio, sample_rate)
    for name in ("fan", "street"):
        write(root / f"noise/{name}.wav", 0.1 * rng.standard_normal(sample_rate), sample_rate)
    for name in ("SLR26/simulated_rirs/smallroom/r1", "SLR28/RIRS_NOISES/real/r2"):
        response = (
            0.1
            * rng.standard_normal((sample_rate // 4, 2))
            * np.linspace(1, 0, sample_rate // 4)[:, None]
        )
        response[50] = 0.8
        write(root / f"impulse_responses/{name}.wav", response, sample_rate)
    return folder


CORPORA = {"voicebank": voicebank, "dns3": dns3}
