"""Read a corpus: every audio file below a folder, in one int16 tensor.

A training process reads its audio once and keeps it in memory (on a GPU: in GPU memory), so that
mixing is indexing. 10 hours at 16 kHz are 1.2 GB.

Glossary: G groups (top-level sub-folders: a speaker, a noise class), U files, R rows, N samples.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate, compress
from pathlib import Path

import numpy as np
import soxr
import torch
from torch import Tensor

from ..audio.opus import to_int16
from ..audio.reader import read_array
from ..errors import QseError
from .bandwidth import bandwidth
from .datasets import audio_files, top_folder


@dataclass(frozen=True)
class Corpus:
    """Recordings in one tensor.

    audio: int16 (total samples,), full scale 32768; parts of it may belong to no recording.
    starts, lengths: int64 (U,), where each recording lies in `audio`; always on the CPU.
    groups: int64 (U,), index into `names`, sorted.
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
    def read(
        cls,
        folder: str | Path,
        sample_rate: int = 16000,
        threads: int = 4,
        least_cutoff: float = 0.0,
    ) -> "Corpus":
        """Read all audio files below `folder`, channels averaged, resampled to `sample_rate` where
        needed.

        Its sub-folders may be links; those below them are not followed.
        least_cutoff: leave out recordings whose content ends below this frequency in Hz (see
        bandwidth.py). Raises QseError when the folder is missing or holds no audio, and for files
        that cannot be used (five named).
        """
        folder = Path(folder)
        paths = audio_files(folder)
        recordings = read_recordings(paths, sample_rate, threads)
        groups = [group_of(path, folder) for path in paths]
        if least_cutoff:
            reaches = []
            for recording in recordings:
                reaches.append(bandwidth(recording, sample_rate) >= least_cutoff)
            if not any(reaches):
                raise none_reaches(folder, least_cutoff)
            recordings = list(compress(recordings, reaches))
            groups = list(compress(groups, reaches))
        return cls.of(recordings, groups, sample_rate)

    @classmethod
    def of(
        cls, recordings: list[np.ndarray], groups: list[str], sample_rate: int = 16000
    ) -> "Corpus":
        """Make a corpus of int16 arrays (samples,), each with the name of its group."""
        order = sorted(range(len(groups)), key=groups.__getitem__)
        ordered = [recordings[index] for index in order]
        audio = torch.from_numpy(np.concatenate(ordered))
        lengths = list(map(len, ordered))
        return cls.from_samples(audio, lengths, [groups[index] for index in order], sample_rate)

    @classmethod
    def from_samples(
        cls,
        audio: Tensor,
        lengths: list[int],
        groups: list[str],
        sample_rate: int,
        starts: list[int] | None = None,
    ) -> "Corpus":
        """Make a corpus of recordings that are in `audio` already, sorted by group; `starts`: where
        they begin, if they do not lie end to end in this order."""
        names = sorted(set(groups))
        if starts is None:
            starts = [0, *accumulate(lengths)][:-1]
        number = dict(zip(names, range(len(names)), strict=True))
        return cls(
            audio=audio,
            starts=torch.tensor(starts),
            lengths=torch.tensor(lengths),
            groups=torch.tensor([number[group] for group in groups]),
            names=tuple(names),
            sample_rate=sample_rate,
        )

    def to(self, device: torch.device | str) -> "Corpus":
        """Return the same corpus with its samples on `device`; the index stays on the CPU."""
        return replace(self, audio=self.audio.to(device))

    @property
    def seconds(self) -> float:
        """Return the duration of all recordings together."""
        return int(self.lengths.sum()) / self.sample_rate

    def excerpts(
        self, start: Tensor, length: Tensor, position: Tensor, samples: int, fade: int
    ) -> Tensor:
        """Cut pieces of the corpus, each at its position in a row of silence: float32 (R, samples).

        start, length, position: int64 (R,) on the corpus's device: first sample in `audio`, number
        of samples taken, and where in the row the piece begins. `fade` samples of linear fade at
        both ends.
        """
        phase = torch.arange(samples, device=self.audio.device) - position[:, None]  # (R, N)
        return self._faded(start, length, phase, fade)

    def loops(
        self, start: Tensor, length: Tensor, period: Tensor, offset: Tensor, samples: int, fade: int
    ) -> Tensor:
        """Repeat recordings endlessly and cut `samples` out of each: float32 (R, samples).

        Arguments as int64 (R,): a recording (start, length) begins anew every `period` samples;
        `offset` is where in the period the window begins. period = length - fade overlaps the ends
        in a linear cross-fade, a longer one leaves silence between the repeats.
        """
        time = torch.arange(samples, device=self.audio.device) + offset[:, None]
        phase = time % period[:, None]  # (R, N)
        current = self._faded(start, length, phase, fade)
        return current + self._faded(start, length, phase + period[:, None], fade)

    def _faded(self, start: Tensor, length: Tensor, phase: Tensor, fade: int) -> Tensor:
        edge = torch.minimum(phase, length[:, None] - phase).clamp_(0, fade)
        ramp = edge.float() * (1 / (32768 * fade))
        index = (start[:, None] + phase).clamp_(0, len(self.audio) - 1)
        return self.audio[index] * ramp


def none_reaches(folder: Path, least_cutoff: float) -> QseError:
    """Return the error for a folder whose recordings all end below `least_cutoff` in Hz."""
    cure = "add full-band recordings, or train by a recipe for 16 kHz, such as live-base"
    return QseError(f"{folder}: no recording has content up to {least_cutoff / 1000:g} kHz; {cure}")


def group_of(path: Path, folder: Path) -> str:
    """Return the sub-folder of `folder` that a file lies in, "" for one that lies in the folder
    itself."""
    return top_folder(path.relative_to(folder).as_posix())


def read_recordings(
    paths: list[Path], sample_rate: int, threads: int = 4, channel: int | None = None
) -> list[np.ndarray]:
    """Read each file as int16 (samples,), resampled where needed: one channel, or the mean of all.

    Raises QseError for files that cannot be used (five named).
    """
    recordings = []
    faults = []
    for found in read_or_faults(paths, sample_rate, threads, channel):
        if isinstance(found, str):
            faults.append(found)
        else:
            recordings.append(found)
    refuse(faults)
    return recordings


def read_or_faults(
    paths: list[Path], sample_rate: int, threads: int = 4, channel: int | None = None
) -> list[np.ndarray | str]:
    """Read files as `read_recordings` does; for a file that cannot be used, the list holds the
    reason."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda path: _read_or_fault(path, sample_rate, channel), paths))


def refuse(faults: list[str], place: str = "") -> None:
    """Raise QseError if there are any faults; `place` says where all of them are listed."""
    if faults:
        more = f" (and {len(faults) - 5} more)" if len(faults) > 5 else ""
        raise QseError(
            f"cannot train on all of this audio: {'; '.join(faults[:5])}{more}. "
            f"Repair or remove these files{place}"
        )


def _read_or_fault(path: Path, sample_rate: int, channel: int | None) -> np.ndarray | str:
    try:
        audio, rate = read_array(path)
    except QseError as error:
        return str(error)
    mono = audio.mean(axis=1) if channel is None else audio[:, channel]
    if rate != sample_rate:
        mono = soxr.resample(mono, rate, sample_rate)
    return to_int16(mono)
