"""Image classifiers.

The quaternion ResNet with a quaternion Transformer (Yamauchi et al. 2026, appendix E.1), and the
small Vision Transformer of "Q-Jamba", section 5.5. Images are quaternions 0 + R i + G j + B k
(Eq. 73): (N, 4, H, W).
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qse.networks.algebra import convert_
from qse.nn.batch_norm import QuaternionBatchNorm2d
from qse.nn.conv import QuaternionConv2d

from .axial_attention import ATTENTION, TransformerBlock
from .flat import flat_linear

STRIDES = (1, 2, 2, 2)
CHANNELS = (64, 64, 128, 256)  # reals at the input of each stage; the last stage keeps 256


class ResidualBlock(nn.Module):
    """Two convolutions and a short cut: (B, 4, C, H, W) -> (B, 4, C', H / stride, W / stride)."""

    def __init__(self, into: int, out: int, stride: int):
        super().__init__()
        self.first = _unit(into, out, 3, stride)
        self.second = _unit(out, out, 3, 1)
        self.short = nn.Identity() if into == out and stride == 1 else _unit(into, out, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.second(F.relu(self.first(x))) + self.short(x))


class ResNetTransformer(nn.Module):
    """Four stages of two residual blocks, then a Transformer: (N, 4, H, W) -> logits (N, classes).

    The Transformer attends over the H W / 64 places. The table names base channels 64, an embedding
    of 64 and about 1.7 million parameters; stages of 64, 128, 256 and 256 reals reach 1.7 million
    (see `CHANNELS`). arm: shared, hamilton, convolution (QTN) or real, which has real matrices in
    all layers; its attention is the dot product, as in `shared`. width scales the channels.
    """

    def __init__(self, arm: str, classes: int, width: float = 1.0, layers: int = 2, heads: int = 4):
        super().__init__()
        channels = [_quaternions(size, width, heads) for size in CHANNELS]
        channels.append(channels[-1])
        self.stem = _unit(1, channels[0], 3, 1)
        blocks: list[nn.Module] = []
        for (into, out), stride in zip(pairwise(channels), STRIDES, strict=True):
            blocks += [ResidualBlock(into, out, stride), ResidualBlock(out, out, 1)]
        self.blocks = nn.Sequential(*blocks)
        dim = channels[-1]
        attention = ATTENTION["shared" if arm == "real" else arm]
        self.transformer = nn.Sequential()
        for _ in range(layers):
            self.transformer.append(TransformerBlock(dim, attention(dim, heads, True), 0.1))
        self.place = nn.Parameter(0.02 * torch.randn(4, dim, 4, 4))
        convert_(self, "real" if arm == "real" else "quaternion")
        self.head = nn.Linear(4 * dim, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(F.relu(self.stem(x[:, :, None])))
        tokens = (x + self.place).flatten(3).permute(0, 3, 1, 2)  # N, 16, 4, C
        return self.head(self.transformer(tokens).mean(1).flatten(1))


class VisionTransformer(nn.Module):
    """Patches of 4 x 4, a class token, pre-norm encoder layers: (N, 4, 32, 32) -> (N, classes).

    The paper's counts, 1,409,610 and 371,274, determine what its text leaves open: a feed-forward
    width of 512, biases, layer norms of real vectors, a class token and 65 positions; patches of
    the quaternion network keep the empty real part of Eq. 73, those of the real one do not.
    """

    def __init__(
        self,
        algebra: str,
        classes: int,
        dim: int = 192,
        feed: int = 512,
        layers: int = 4,
        heads: int = 4,
    ):
        super().__init__()
        self.colours = slice(1, 4) if algebra == "real" else slice(0, 4)
        values = 48 if algebra == "real" else 64
        self.patch = flat_linear(algebra, values, dim)
        self.token = nn.Parameter(torch.zeros(1, 1, dim))
        self.place = nn.Parameter(0.02 * torch.randn(65, dim))
        self.layers = nn.ModuleList(VisionLayer(algebra, dim, feed, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x: Tensor) -> Tensor:
        patches = x[:, self.colours].unfold(2, 4, 4).unfold(3, 4, 4)  # N, colours, 8, 8, 4, 4
        x = self.patch(patches.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2))
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.place
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x[:, 0]))


class VisionLayer(nn.Module):
    """One score for all components of a head, then GELU between two layers: (N, L, dim) -> same."""

    def __init__(self, algebra: str, dim: int, feed: int, heads: int):
        super().__init__()
        self.heads = heads
        self.parts = 1 if algebra == "real" else 4
        self.norm_attention = nn.LayerNorm(dim)
        self.norm_feed = nn.LayerNorm(dim)
        self.project = flat_linear(algebra, dim, 3 * dim)
        self.out = flat_linear(algebra, dim, dim)
        self.feed = nn.Sequential(
            flat_linear(algebra, dim, feed), nn.GELU(), flat_linear(algebra, feed, dim)
        )

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.project(self.norm_attention(x)).unflatten(-1, (self.parts, 3, self.heads, -1))
        q, k, v = qkv.permute(3, 0, 4, 1, 2, 5).flatten(-2)  # each N, H, L, parts d
        y = F.scaled_dot_product_attention(q, k, v).unflatten(-1, (self.parts, -1))
        x = x + self.out(y.permute(0, 2, 3, 1, 4).flatten(2))
        return x + self.feed(self.norm_feed(x))


def _unit(into: int, out: int, kernel: int, stride: int) -> nn.Sequential:
    conv = QuaternionConv2d(
        into,
        out,
        (kernel, kernel),
        stride=(stride, stride),
        padding=(kernel // 2, kernel // 2),
        bias=False,
    )
    return nn.Sequential(conv, QuaternionBatchNorm2d(out))


def _quaternions(reals: int, width: float, heads: int) -> int:
    """Return the quaternion channels of `reals` times `width`, a multiple of `heads`."""
    return max(heads, round(reals * width / 4 / heads) * heads)


def image_classifier(arm: str, classes: int, width: float) -> nn.Module:
    """Build an arm: shared, hamilton, convolution, real, vit or vit-quaternion."""
    if arm.startswith("vit"):
        dim = max(32, round(192 * width / 32) * 32)
        feed = max(32, round(512 * width / 32) * 32)
        return VisionTransformer("real" if arm == "vit" else "quaternion", classes, dim, feed)
    return ResNetTransformer(arm, classes, width)
