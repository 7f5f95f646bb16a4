"""Layers that only experiments use: other time mixers, other algebras."""
