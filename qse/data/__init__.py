"""Training data: corpora, sampling, noise mixing, augmentation, official data sets.

Batch               noisy and clean segments with their sample rate
BatchSource         what gives a batch for every step
folders             a source that mixes folders of speech and noise
MixConfig           how it mixes
Corpus, NoiseMixer  the same of recordings in memory
"""

from typing import TYPE_CHECKING

from ..public_names import lazily

if TYPE_CHECKING:  # for editors and mypy
    from .corpus import Corpus
    from .datasets import Pair, pair_folders, with_lead_in
    from .mix_config import MixConfig
    from .noise_mixing import NoiseMixer
    from .open_sources import folders
    from .paired_segments import PairedSegments
    from .source import Batch, BatchSource

__all__ = [
    "Batch",
    "BatchSource",
    "Corpus",
    "MixConfig",
    "NoiseMixer",
    "Pair",
    "PairedSegments",
    "folders",
    "pair_folders",
    "with_lead_in",
]
MODULES = {
    ".source": ["Batch", "BatchSource"],
    ".corpus": ["Corpus"],
    ".mix_config": ["MixConfig"],
    ".noise_mixing": ["NoiseMixer"],
    ".paired_segments": ["PairedSegments"],
    ".open_sources": ["folders"],
    ".datasets": ["Pair", "pair_folders", "with_lead_in"],
}
__getattr__, __dir__ = lazily(__name__, MODULES, "train")
