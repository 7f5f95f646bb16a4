"""Mutated files through the commands and readers; see __main__.py."""
