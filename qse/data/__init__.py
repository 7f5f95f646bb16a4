"""Training data: corpora, sampling, noise mixing, augmentation, official data sets.

Batch               noisy and clean segments with their sample rate
BatchSource         what gives a batch for every step
folders             a source that mixes folders of speech and noise
MixConfig           how it mixes
Corpus, NoiseMixer  the same of recordings in memory
"""

from ..public_names import lazily

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
