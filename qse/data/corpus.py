"""Corpus: every audio file below a folder, in one int16 tensor.

A training process reads its audio once and keeps it in memory (on a GPU: in GPU memory), so that mixing is
indexing. 10 hours at 16 kHz are 1.2 GB.

Glossary: G groups (top-level sub-folders: a speaker, a noise class), U files, R rows, N samples.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import soundfile
import soxr
import torch
from torch import Tensor

from ..audio.formats import audio_within
from ..audio.reader import LOUDEST, LOWEST_RATE
from ..errors import QseError


@dataclass(frozen=True)
class Corpus:
    """Recordings laid end to end.

    audio: int16 (total samples,), full scale 32768.
    starts, lengths: int64 (U,), where each recording lies in `audio`; always on the CPU.
    groups: int64 (U,), index into `names`; recordings of one group lie next to each other.
    names: the G group names (top-level sub-folder; "" for files lying in the folder itself).
    sample_rate: Hz.
    """

    audio: Tensor
    starts: Tensor
    lengths: Tensor
    groups: Tensor
    names: tuple[str, ...]
    sample_rate: int

    @classmethod
    def read(cls, folder: str | Path, sample_rate: int = 16000, threads: int = 4) -> "Corpus":
        """Read all audio files below `folder`, channels averaged, resampled to `sample_rate` where needed.

        Its sub-folders may be links; those below them are not followed.
        Raises QseError when the folder is missing or holds no audio, and for files that cannot be used (five named).
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise QseError(f"{folder}: no such folder; name a folder with audio files in it.")
        paths = audio_within(folder)
        if not paths:
            raise QseError(f"{folder}: no audio files in this folder; name one that holds WAV, FLAC or Opus files.")
        recordings = read_recordings(paths, sample_rate, threads)
        return cls.of(recordings, [group_of(path, folder) for path in paths], sample_rate)

    @classmethod
    def of(cls, recordings: list[np.ndarray], groups: list[str], sample_rate: int = 16000) -> "Corpus":
        """A corpus of int16 arrays (samples,), each with the name of its group."""
        order = sorted(range(len(groups)), key=lambda index: groups[index])
        audio = torch.from_numpy(np.concatenate([recordings[index] for index in order]))
        lengths = [len(recordings[index]) for index in order]
        return cls.laid(audio, lengths, [groups[index] for index in order], sample_rate)

    @classmethod
    def laid(cls, audio: Tensor, lengths: list[int], groups: list[str], sample_rate: int) -> "Corpus":
        """A corpus of recordings that lie end to end in `audio` already, those of a group next to each other."""
        names, ends = sorted(set(groups)), torch.tensor(lengths).cumsum(0)
        numbers = {name: number for number, name in enumerate(names)}
        return cls(
            audio=audio,
            starts=ends - torch.tensor(lengths),
            lengths=torch.tensor(lengths),
            groups=torch.tensor([numbers[group] for group in groups]),
            names=tuple(names),
            sample_rate=sample_rate,
        )

    def to(self, device: torch.device | str) -> "Corpus":
        """The same corpus with its samples on `device`; the index stays on the CPU."""
        return replace(self, audio=self.audio.to(device))

    @property
    def seconds(self) -> float:
        """Duration of all recordings together."""
        return len(self.audio) / self.sample_rate

    def excerpts(self, start: Tensor, length: Tensor, position: Tensor, samples: int, fade: int) -> Tensor:
        """Pieces of the corpus, each at its place in a row of silence: float32 (R, samples).

        start, length, position: int64 (R,) on the corpus's device: first sample in `audio`, number of samples
        taken, and where in the row the piece begins. `fade` samples of linear fade at both ends.
        """
        phase = torch.arange(samples, device=self.audio.device) - position[:, None]  # (R, N)
        return self._faded(start, length, phase, fade)

    def loops(self, start: Tensor, length: Tensor, period: Tensor, offset: Tensor, samples: int, fade: int) -> Tensor:
        """Recordings repeated without end, seen through a window of `samples`: float32 (R, samples).

        Arguments as int64 (R,): a recording (start, length) begins anew every `period` samples; `offset` is where
        in the period the window begins. period = length - fade overlaps the ends in a linear cross-fade,
        a longer one leaves silence between the repeats.
        """
        phase = (torch.arange(samples, device=self.audio.device) + offset[:, None]) % period[:, None]  # (R, N)
        return self._faded(start, length, phase, fade) + self._faded(start, length, phase + period[:, None], fade)

    def _faded(self, start: Tensor, length: Tensor, phase: Tensor, fade: int) -> Tensor:
        ramp = torch.minimum(phase, length[:, None] - phase).clamp_(0, fade).float() * (1 / (32768 * fade))
        index = (start[:, None] + phase).clamp_(0, len(self.audio) - 1)
        return self.audio[index] * ramp


def group_of(path: Path, folder: Path) -> str:
    """The sub-folder of `folder` that a file lies in, "" for one that lies in the folder itself."""
    parts = path.relative_to(folder).parts
    return parts[0] if len(parts) > 1 else ""


def read_recordings(
    paths: list[Path], sample_rate: int, threads: int = 4, channel: int | None = None
) -> list[np.ndarray]:
    """int16 (samples,) of each file, resampled where needed: of one channel, or of all of them averaged.

    Raises QseError for files that cannot be used (five named).
    """
    recordings = read_or_faults(paths, sample_rate, threads, channel)
    refuse(recording for recording in recordings if isinstance(recording, str))
    return [recording for recording in recordings if not isinstance(recording, str)]


def read_or_faults(
    paths: list[Path], sample_rate: int, threads: int = 4, channel: int | None = None
) -> list[np.ndarray | str]:
    """The same; in the place of a file that cannot be used, its path and why."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda path: _read_or_fault(path, sample_rate, channel), paths))


def refuse(faults: Iterable[str]) -> None:
    """Raises QseError if there are any."""
    faults = list(faults)
    if faults:
        more = f" (and {len(faults) - 5} more)" if len(faults) > 5 else ""
        raise QseError(f"Cannot train on {'; '.join(faults[:5])}{more}: repair or remove them.")


def _read_or_fault(path: Path, sample_rate: int, channel: int | None) -> np.ndarray | str:
    """The samples as int16, or what is wrong with the file."""
    try:
        audio, rate = soundfile.read(path, dtype="float32", always_2d=True)
    except (soundfile.SoundFileError, OSError):
        return f"{path} (not readable as audio)"
    if not len(audio):
        return f"{path} (no samples)"
    if rate < LOWEST_RATE:
        return f"{path} ({rate} samples per second)"
    audio = audio.mean(axis=1) if channel is None else audio[:, channel]
    if not np.isfinite(audio).all():
        return f"{path} (NaN or infinite samples)"
    if (loudest := np.abs(audio).max()) > LOUDEST:
        return f"{path} (samples of {loudest:.0f}, where full scale is 1)"
    if rate != sample_rate:
        audio = soxr.resample(audio, rate, sample_rate)
    return np.clip(np.rint(audio * 32768), -32768, 32767).astype(np.int16)
