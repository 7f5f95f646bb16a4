"""The papers' networks: for speech, those of qse by name (qse/laboratory.py); for text and images,
those that only experiments use."""
