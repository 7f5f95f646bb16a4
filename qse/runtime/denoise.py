"""Enhance whole signals: an array at once, or blocks from a file.

A whole signal is a stream with its latency cut off, so both are bit-equal at every block size.
"""

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from math import ceil
from numbers import Integral, Real
from pathlib import Path

import numpy as np

from ..audio.checks import BLOCK, HIGHEST_RATE, LOUDEST, LOWEST_RATE, bad_samples
from ..machine import cores
from .array_check import float_array
from .attenuation import mixed, noisy_share
from .linked_channels import Pair, linked
from .signal_path import SignalPath
from .zoo import RECORDING_MODEL, Model, resolve

CHANNELS = 64  # most channels of an array: more are samples, in the wrong axis
AHEAD = 3  # blocks that are read before the first of them is used, where threads enhance them


def denoise(
    audio: np.ndarray,
    sample_rate: float,
    model: str | Path | Model = RECORDING_MODEL,
    strength: float | None = None,
    fast: bool = False,
    threads: int | None = 1,
    link: bool = False,
) -> np.ndarray:
    """Enhance `audio` (samples,) or (samples, channels), floats in [-1, 1]: return the same shape
    and dtype.

    `sample_rate` in Hz, 1000 to 10^7. `model` is a name of `available()` or a path, which each
    call loads, or what `load` returns; the default looks 200 ms ahead, which costs a whole signal
    nothing. `strength` limits the attenuation in dB (None: no limit; 0: output = input). `fast`
    halves the time, as in `load`. `threads`: cores for the channels and grids of frames, None: all;
    the output is the same, bit by bit. Each channel is enhanced by itself; with `link` all then get
    one mask, so that the level differences between them stay.

    The graph that fits `sample_rate` is used: above 16 kHz the model's graph for 48 kHz. So a
    loaded model gives the same output as its name; its sister graph is loaded when it is first
    needed, and kept. A model that has one graph only, or was loaded from the path of an .onnx file,
    is used as it is, and the audio is converted to its sample rate and back. Frequencies above half
    the model's sample rate are removed, as noise is.

    Raises QseError for an unknown model, TypeError for an argument of another type, ValueError for
    another shape, no channels or more than 64, a sample rate or strength out of range, samples that
    are not finite or above 1000, `fast` with a model that was loaded without it.
    """
    if not isinstance(sample_rate, Real):
        kind = type(sample_rate).__name__
        raise TypeError(
            f"sample_rate must be a number in Hz, not {kind}; the call is denoise(audio, "
            "sample_rate)"
        )
    if not LOWEST_RATE <= sample_rate <= HIGHEST_RATE:
        limits = f"from {LOWEST_RATE} to {HIGHEST_RATE} Hz"
        raise ValueError(f"sample_rate must be {limits}, not {sample_rate}")
    audio = _checked(float_array("audio", audio))
    noisy = (audio if audio.ndim == 2 else audio[:, None]).astype(np.float32, copy=False)
    blocks = (noisy[start : start + BLOCK] for start in range(0, len(noisy), BLOCK))
    used = resolve(model, sample_rate, fast)
    with _threads(threads, used) as pool:
        enhanced = [noisy[:0], *enhance(blocks, sample_rate, used, strength, pool, link=link)]
    return np.concatenate(enhanced).astype(audio.dtype, copy=False).reshape(audio.shape)


def enhance(
    blocks: Iterable[np.ndarray],
    sample_rate: float,
    model: Model,
    strength: float | None = None,
    pool: Executor | None = None,
    split: float | None = None,
    link: bool = False,
) -> Iterator[np.ndarray]:
    """Enhance blocks (samples, channels) of one signal; together the output is as long as the input
    and aligned to it.

    With a `pool`, each grid of frames of each channel runs in a thread of its own, while the next
    blocks are read and the last ones are used; the output is the same, bit by bit. Memory does not
    grow with the signal. With a `strength`, the noisy share is taken at `sample_rate`, so it holds
    the frequencies above the band of the model too.

    `split`: cut each channel into pieces of so many seconds, which run at the same time; the output
    then differs a little (split_channel.py). Memory grows with the cores and the pieces.

    `link`: give all channels one mask (linked_channels.py).
    """
    share = noisy_share(strength)
    with closing(_pairs(blocks, sample_rate, model, pool, split)) as pairs:
        for enhanced, noisy in linked(pairs, sample_rate) if link else pairs:
            yield mixed(enhanced, noisy, share)


def _pairs(
    blocks: Iterable[np.ndarray],
    sample_rate: float,
    model: Model,
    pool: Executor | None,
    split: float | None,
) -> Generator[Pair, None, None]:
    """Yield enhanced blocks, each with the samples that it was made from."""
    path = None
    try:
        for block in blocks:
            if path is None:
                path = SignalPath(model, sample_rate, block.shape[1], pool, split)
                ahead = AHEAD if pool else 0
                if pool and split:  # a piece for each core
                    ahead += ceil(cores() * split * sample_rate / len(block))
                noisy = block[:0]  # the samples whose enhanced ones are not out yet
            path.send(block)
            noisy = np.concatenate([noisy, block])
            if path.sent > ahead:
                enhanced = path.receive()
                yield enhanced, noisy[: len(enhanced)]
                noisy = noisy[len(enhanced) :]
        if path:
            path.send_end()
            for enhanced in path.rest():
                enhanced = enhanced[: len(noisy)]
                yield enhanced, noisy[: len(enhanced)]
                noisy = noisy[len(enhanced) :]
    finally:
        if path:
            path.close()


@contextmanager
def _threads(count: int | None, model: Model) -> Iterator[Executor | None]:
    """Yield the threads for a model; none for one, and for an offline model, of which each takes
    gigabytes."""
    if not isinstance(count, Integral | None) or isinstance(count, bool):
        raise TypeError(f"threads must be a number or None, not {type(count).__name__}")
    count = cores() if count is None else count
    if count < 1:
        raise ValueError(f"threads must be at least 1, not {count}")
    if count == 1 or not model.streams:
        yield None
        return
    with ThreadPoolExecutor(count) as pool:
        yield pool


def _checked(audio: np.ndarray) -> np.ndarray:
    if audio.ndim not in (1, 2):
        raise ValueError(
            f"audio must have the shape (samples,) or (samples, channels), not {audio.shape}"
        )
    if audio.ndim == 2 and not 0 < audio.shape[1] <= CHANNELS:
        raise ValueError(
            f"audio of shape {audio.shape} has {audio.shape[1]} channels: is it (channels, "
            "samples)?"
        )
    count = bad_samples(audio)
    if count:
        raise ValueError(f"audio holds samples that are NaN or infinite, {count} in all")
    loudest = np.abs(audio).max(initial=0)
    if loudest > LOUDEST:
        raise ValueError(
            f"audio has samples of {loudest:.0f}, where full scale is 1: "
            "divide PCM by its full scale"
        )
    return audio
