"""Layers that only the papers' networks and comparisons use: other attention, other time mixers,
STFT and mask of the offline networks."""
