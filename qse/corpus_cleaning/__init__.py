"""Enhance all recordings of a NeMo manifest, resumable and in shards (qse clean).

manifest.py   read the manifest: one JSON object a line
journal.py    write the output manifest, line by line, so that an interrupted run can be resumed
settings.py   what determines the samples of an enhanced file, as a fingerprint
clean.py      enhance the recordings that are not finished
"""
