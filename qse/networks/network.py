"""Define the interface of a speech enhancement network for training, validation, evaluation and
export."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.nn import functional as F

from ..nn.state import Stateful, stateful_layers


class Network(nn.Module, ABC):
    """A speech enhancement network, waveform to waveform: a StreamingNetwork or an Offline one.

    A network of one's own is named in a configuration as "package.module:Class". It is built as
    Class(config), where `config_type` is the class of its config, a frozen dataclass.
    config: the frozen dataclass that it was built from, with `sample_rate` (Hz) and `hop_length`
    (samples).
    streams: it is called as `network(audio, state=None) -> (enhanced, state)` with whole hops of
    audio (B, N). A network that does not stream is called as `network(audio) -> enhanced`, with the
    whole signal.
    latency: samples by which the output of a streaming network lags behind its input, besides the
    hop.
    has_spec: it returns the spec that its mask makes, by `with_spec`, and computes that of a signal
    by `analysis`.
    """

    config_type: ClassVar[type[Any] | None] = None
    config: Any
    streams = False
    has_spec = False

    @property
    def latency(self) -> int:
        return 0

    def at(self, sample_rate: int) -> "Network":
        """Return the network for this sample rate in Hz, with shared weights.

        Raises ValueError if there is none.
        """
        if sample_rate != self.config.sample_rate:
            raise ValueError(
                f"sample_rate {sample_rate}: the network works at {self.config.sample_rate} Hz"
            )
        return self

    @property
    def parameter_count(self) -> int:
        """Return the number of weights."""
        return sum(parameter.numel() for parameter in self.parameters())

    @property
    def size(self) -> int:
        """Return the number of weights and of the numbers in buffers."""
        return self.parameter_count + sum(buffer.numel() for buffer in self.buffers())

    @abstractmethod
    def enhance(self, noisy: Tensor) -> Tensor:
        """Enhance whole signals (B, N) -> (B, N), aligned with the input: no latency."""


class StreamingNetwork(Network, Stateful):
    """A network that enhances hop by hop: `network(audio, state=None) -> (enhanced, state)`, audio
    (B, T * hop_length).

    Its latency is the sum of what its layers declare; where they are not in series, it overrides
    `latency`.
    """

    streams = True

    @property  # type: ignore[misc]
    def latency(self) -> int:
        """Return the samples from an input sample to the same moment in the output,
        fed hop by hop."""
        samples = sum(layer.latency for layer in stateful_layers(self))
        return samples + self.look_ahead * self.config.hop_length

    def enhance(self, noisy: Tensor, state: dict[str, Any] | None = None) -> Tensor:
        """Enhance whole signals (B, N) -> (B, N): as a stream from a state, zero by default,
        without its latency."""
        samples = noisy.shape[1]
        latency = self.latency
        silence = latency + -(samples + latency) % self.config.hop_length
        enhanced, _ = self(F.pad(noisy, (0, silence)), state)
        return enhanced[:, latency : latency + samples]


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Hold a network in evaluation mode; after it, return each of its modules to its own mode."""
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
