"""Collect the parts of the papers' laboratory, which configurations name."""

from qse.laboratory import BAND_ATTENTION, NETWORKS, TIME_MIXERS

references = (*NETWORKS.values(), *TIME_MIXERS.values(), *BAND_ATTENTION.values())
hiddenimports = sorted({reference.partition(":")[0] for reference in references})
