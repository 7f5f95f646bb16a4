"""Evaluation: metrics of arrays, the official corpora as lists of pairs, tables with their intervals, pictures."""
