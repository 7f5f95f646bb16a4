"""Register real forms of the parts of an offline network that are neither basic layers nor
attention."""

from torch import nn

from ..networks.offline import OfflineDecoder
from ..nn.features import QuaternionFeatures
from .real_form import adapt, interleave, register, with_real_children


@register(QuaternionFeatures)
def _features(features: QuaternionFeatures) -> nn.Sequential:
    """Map one quaternion channel to four real ones: (B, 2, T, F) -> (B, 4, T, F)."""
    return nn.Sequential(features, nn.Flatten(1, 2))


@adapt(OfflineDecoder)
def _decoder(decoder: OfflineDecoder) -> OfflineDecoder:
    # on the components of quaternions
    first = next(layer for layer in decoder.out if isinstance(layer, nn.Conv2d))
    first.weight = nn.Parameter(interleave(first.weight, 1))
    return with_real_children(decoder)
