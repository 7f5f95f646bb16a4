"""Groups of the validation pairs: kind of noise and sources."""

import sys

import validation_groups

PAIRS = """\
id	speaker	noise_class	snr_db
v000	so-1135	esc50-engine	-2.5
v001	msc-24	blanket-coffee-shop	7.5
"""
GROUPS = """\
id	speaker	snr_db	noise	speech_source	noise_source
v000	so-1135	-2.5	machines	speechocean762	ESC-50
v001	msc-24	7.5	streets, cafes, crowds	Malayalam Speech Corpus	Blanket
"""


def test_names_kind_and_sources(tmp_path, monkeypatch):
    pairs, groups = tmp_path / "pairs.tsv", tmp_path / "groups.tsv"
    pairs.write_text(PAIRS)
    monkeypatch.setattr(sys, "argv", ["validation_groups.py", str(pairs), str(groups)])
    validation_groups.main()
    assert groups.read_text() == GROUPS
