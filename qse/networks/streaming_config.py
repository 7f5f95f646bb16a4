"""Configure a streaming network: the `[model]` table of a recipe (streaming.py builds it)."""

from dataclasses import dataclass, replace
from itertools import product

from ..config import require_positive
from ..nn.band_split import ranges_below
from ..nn.look_ahead import tap_positions
from .algebra import Algebra
from .bottleneck import BRANCHES
from .time_mixers import (
    BandAttentionName,
    TimeMixerName,
    find_band_attention,
    find_time_mixer,
)


@dataclass(frozen=True)
class StreamingConfig:
    """Sizes of a `StreamingEnhancer`.

    Channels are counted in quaternions; a quaternion is four real channels.
    """

    sample_rate: int = 16000
    n_fft: int = 512
    hop_length: int = 160
    # of synthesis windows, in samples, added to the hop in the latency; 0: a whole hop
    overlap: int = 0
    # (bins, bins per band), from low to high
    ranges: tuple[tuple[int, int], ...] = ((96, 2), (160, 5))
    power: float = 0.3
    channels: tuple[int, int, int] = (8, 12, 16)
    growth: int = 4
    dilations: tuple[int, ...] = (1, 2, 4)
    blocks: int = 2
    heads: int = 4
    attention: BandAttentionName | str = "shared"  # across bands; or package.module:Class
    qk_norm: bool = False
    # of all blocks, or of each; or package.module:Class
    time_mixer: tuple[TimeMixerName | str, ...] = ("gru",)
    # branches to leave out: "block1.attention", "block2.time", "block2.feed"
    pruned: tuple[str, ...] = ()
    window: int = 100  # frames that attention over time, or the token, looks back over
    look_ahead: int = 0  # frames
    # in front of which layers look ahead, each an equal part of the frames
    look_ahead_blocks: tuple[int, ...] = (2,)
    talker: bool = False  # adapt to a talker, from an enrolment
    algebra: Algebra = "quaternion"
    phm_n: int = 4

    def __post_init__(self) -> None:
        require_positive(
            self,
            "sample_rate",
            "n_fft",
            "hop_length",
            "ranges",
            "channels",
            "growth",
            "dilations",
            "heads",
            "window",
        )
        if len(self.channels) != 3 or self.channels[0] < 2:
            raise ValueError(
                f"channels {self.channels}: three numbers, the first of them 2 or more"
            )
        if not 0 < self.power <= 1:
            raise ValueError(f"power {self.power}: above 0 and at most 1")
        if not 0 <= self.blocks <= 1000:
            raise ValueError(f"blocks {self.blocks}: 0 to 1000")
        if self.n_fft % 2:
            raise ValueError(f"n_fft {self.n_fft}: an even number")
        if sum(bins for bins, _ in self.ranges) != self.n_fft // 2:
            raise ValueError(
                f"ranges must cover the {self.n_fft // 2} bins of n_fft {self.n_fft}, "
                f"got {self.ranges}"
            )
        if any(bins % (4 * width) for bins, width in self.ranges):
            raise ValueError(
                "the bins of a range must be a multiple of 4 times its bins per band, "
                f"got {self.ranges}"
            )
        if len(self.time_mixer) not in (1, self.blocks):
            raise ValueError(f"time_mixer {list(self.time_mixer)}: a list of one, or one per block")
        for name in self.time_mixer:
            find_time_mixer(name)
        find_band_attention(self.attention)
        if self.look_ahead < 0:
            raise ValueError(f"look_ahead {self.look_ahead}: 0 frames or more")
        if self.look_ahead and not set(range(self.blocks)) >= set(self.look_ahead_blocks):
            raise ValueError(
                f"look_ahead_blocks {list(self.look_ahead_blocks)}: "
                f"there are blocks 0 to {self.blocks - 1}"
            )
        parts = self.look_ahead_of_blocks().values()
        if any(frames not in (0, max(tap_positions(frames))) for frames in parts):
            raise ValueError(
                f"look_ahead {self.look_ahead}: {len(parts)} layers would look "
                f"{', '.join(map(str, parts))} frames "
                "ahead; choose powers of two"
            )
        branches = [f"block{n}.{branch}" for n, branch in product(range(self.blocks), BRANCHES)]
        unknown = set(self.pruned) - set(branches)
        if unknown:
            raise ValueError(f"pruned {min(unknown)!r}: choose from {', '.join(branches)}")

    def look_ahead_of_blocks(self) -> dict[int, int]:
        """Return the look-ahead in frames of the layer before each of `look_ahead_blocks`; later
        ones have more."""
        frames = {}
        layers = len(self.look_ahead_blocks)
        for n, block in enumerate(self.look_ahead_blocks):
            frames[block] = (self.look_ahead + n) // layers
        return frames

    def at(self, sample_rate: int, look_ahead: int | None = None) -> "StreamingConfig":
        """Return the same windows in seconds at a lower sample rate, without the bands above half
        of it.

        look_ahead: frames, at most those of this configuration; None: as many.
        Raises ValueError for a higher rate or look-ahead, and where windows or bands are no whole
        numbers.
        """
        if look_ahead is None:
            look_ahead = self.look_ahead
        if not 0 <= look_ahead <= self.look_ahead:
            raise ValueError(
                f"look_ahead {look_ahead}: the network looks at most {self.look_ahead} frames ahead"
            )
        sizes = {}
        whole = sample_rate <= self.sample_rate
        for name in ("n_fft", "hop_length", "overlap"):
            sizes[name], rest = divmod(getattr(self, name) * sample_rate, self.sample_rate)
            whole &= rest == 0
        if not whole:
            raise ValueError(
                f"sample_rate {sample_rate}: not a rate of a network for {self.sample_rate} Hz"
            )
        ranges = ranges_below(self.ranges, sizes["n_fft"] // 2)
        return replace(self, sample_rate=sample_rate, look_ahead=look_ahead, ranges=ranges, **sizes)
