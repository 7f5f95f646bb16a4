"""The tool from folders to its table with a given network, and its errors."""

import sys

import distill_mos
import numpy as np
import pytest
import soundfile


@pytest.fixture
def folders(tmp_path):
    """Two folders of recordings of level 0.1, 0.2 and (at 48 kHz) 0.3, the second twice as loud."""
    for folder, factor in (("quiet", 1), ("loud", 2)):
        (tmp_path / folder).mkdir()
        for number, rate in enumerate((16000, 16000, 48000), 1):
            audio = np.full(rate, 0.1 * number * factor)
            soundfile.write(tmp_path / folder / f"{number}.wav", audio, rate, subtype="FLOAT")
    return [str(tmp_path / "quiet"), str(tmp_path / "loud")]


def table(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["distill_mos.py", *words])
    distill_mos.main()
    return capsys.readouterr().out.splitlines()[2:]


def test_table_has_mean_and_interval_of_each_folder(folders, monkeypatch, capsys):
    """The network returns ten times the level, and has all recordings at 16 kHz."""
    lengths = set()

    def rate(recording):
        lengths.add(len(recording))
        return 10 * np.median(recording)

    monkeypatch.setattr(distill_mos, "distill_mos", lambda: rate)
    quiet, loud = folders
    assert table(monkeypatch, capsys, quiet, loud) == [
        f"| {quiet} | 3 | 2.00 (1.00 to 3.00) |",
        f"| {loud} | 3 | 4.00 (2.00 to 6.00) |",
    ]
    assert lengths == {16000}
    [line] = table(monkeypatch, capsys, quiet, "--every", "3")
    assert line == f"| {quiet} | 1 | 1.00 (1.00 to 1.00) |"


def test_names_the_package_to_install(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, "distillmos", None)
    with pytest.raises(distill_mos.QseError, match="pip install --no-deps distillmos xls-r-sqa"):
        distill_mos.distill_mos()


def test_published_network_rates_from_1_to_5():
    pytest.importorskip("xls_r_sqa")
    time = np.arange(16000) / 16000
    tone = 0.3 * np.sin(2 * np.pi * 200 * time) * (time % 0.25 < 0.15)
    noise = np.random.default_rng(0).standard_normal(len(time))
    rate = distill_mos.distill_mos()
    assert 1 <= rate(tone + 0.1 * noise) <= 5


def test_empty_folder_is_named(tmp_path):
    with pytest.raises(distill_mos.QseError, match="holds no WAV or FLAC file"):
        distill_mos.recordings(tmp_path)
