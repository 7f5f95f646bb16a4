"""Benchmarks of attention, quaternion layers, offline networks and reduced precision: topics of
`qse bench` (qse/laboratory.py)."""
