"""Layers on quaternions, in the order in which the signal meets them, and what a layer of one's own
is made from.

TimeMixer      base of layers along time
Stateful       base of all layers with a state
declared.py    what a layer declares of its quaternion weights and its axis
real_matrix    expand a quaternion weight (4, out, in, *kernel) to its real matrix
"""

from ..extras import need

need("torch", "train")

from .attention import CausalSharedScoreAttention, SharedScoreAttention, attend, merge_heads
from .band_split import BandMerge, BandSplit
from .batch_norm import QuaternionBatchNorm2d
from .conv import CausalConv2d, FrequencyUpsample, QuaternionConv2d
from .declared import FEATURES, TOKENS, declared_weights
from .delay import Delay
from .features import QuaternionFeatures
from .init import quaternion_init_
from .layout import join, to_features, to_tokens
from .linear import QuaternionLinear
from .look_ahead import LookAhead
from .mask import MagnitudePhaseMask
from .norm import QuaternionLayerNorm, QuaternionRMSNorm
from .quaternion import (
    conjugate,
    gate_matrix,
    hamilton_matrix,
    hamilton_product,
    modulus,
    real_matrix,
)
from .real_head import RealHead
from .recurrent import QuaternionGRU
from .state import State, Stateful, delay, flatten_state, stateful_layers, unflatten_state
from .stft import Analysis, Synthesis
from .time_mixer import TimeMixer

__all__ = [
    "FEATURES",
    "TOKENS",
    "Analysis",
    "BandMerge",
    "BandSplit",
    "CausalConv2d",
    "CausalSharedScoreAttention",
    "Delay",
    "FrequencyUpsample",
    "LookAhead",
    "MagnitudePhaseMask",
    "QuaternionBatchNorm2d",
    "QuaternionConv2d",
    "QuaternionFeatures",
    "QuaternionGRU",
    "QuaternionLayerNorm",
    "QuaternionLinear",
    "QuaternionRMSNorm",
    "RealHead",
    "SharedScoreAttention",
    "State",
    "Stateful",
    "Synthesis",
    "TimeMixer",
    "attend",
    "conjugate",
    "declared_weights",
    "delay",
    "flatten_state",
    "gate_matrix",
    "hamilton_matrix",
    "hamilton_product",
    "join",
    "merge_heads",
    "modulus",
    "quaternion_init_",
    "real_matrix",
    "stateful_layers",
    "to_features",
    "to_tokens",
    "unflatten_state",
]
