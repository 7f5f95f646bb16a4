"""Training data: corpora, sampling, noise mixing, augmentation, official data sets."""
