"""Define the interface of a speech enhancement network for training, validation, evaluation and export."""

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor, nn


class Network(nn.Module, ABC):
    """A speech enhancement network, waveform to waveform; StreamingEnhancer and Offline are the two kinds.

    config: the frozen dataclass that it was built from, with `sample_rate` (Hz) and `hop_length` (samples).
    streams: it is called as `network(audio, state=None) -> (enhanced, state)` with whole hops of audio (B, N). A
        network that does not stream is called as `network(audio) -> enhanced`, with the whole signal.
    latency: samples by which the output of a streaming network lags behind its input, besides the hop.
    """

    config: Any
    streams = False

    @property
    def latency(self) -> int:
        return 0

    def at(self, sample_rate: int) -> "Network":
        """Return the network for this sample rate in Hz, with shared weights. Raises ValueError if there is none."""
        if sample_rate != self.config.sample_rate:
            raise ValueError(f"sample_rate {sample_rate}: the network works at {self.config.sample_rate} Hz")
        return self

    @abstractmethod
    def enhance(self, noisy: Tensor) -> Tensor:
        """Enhance whole signals (B, N) -> (B, N), aligned with the input: no latency."""
