"""The counting of words of a talker and of others, and the pairs of digits."""

import sys

import digit_errors
import numpy as np
import pytest
import soundfile
from digit_errors import Errors, errors
from measure_wer import distance


@pytest.mark.parametrize(
    "said, heard, wanted",
    [
        ("one two three", "one two three", Errors(0, 0, 0)),
        ("one two three", "one three", Errors(0, 1, 0)),
        ("one two", "one nine two four", Errors(0, 0, 2)),
        ("one two three", "one nine three", Errors(1, 0, 0)),
        ("one two", "", Errors(0, 2, 0)),
        ("", "one", Errors(0, 0, 1)),
        ("one two three four", "two three nine four five", Errors(0, 1, 2)),
    ],
)
def test_errors_are_told_apart(said, heard, wanted):
    assert errors(said.split(), heard.split()) == wanted


def test_their_sum_is_the_distance():
    rng = np.random.default_rng(0)
    for _ in range(100):
        said, heard = (list(rng.choice(["one", "two", "six"], rng.integers(0, 8))) for _ in "ab")
        found = errors(said, heard)
        assert sum(found) == distance(said, heard)
        assert len(said) - found.deleted + found.inserted == len(heard)


def test_digits_are_mixed_and_counted(tmp_path, monkeypatch, capsys):
    """The recogniser hears the words of the talker and one more."""
    rng = np.random.default_rng(0)
    digits = tmp_path / "digits"
    digits.mkdir()
    for speaker in ("ada", "bo"):
        for number in range(10):
            tone = np.sin(2 * np.pi * (200 + 100 * number) * np.arange(2000) / 8000)
            soundfile.write(digits / f"{number}_{speaker}_0.wav", 0.3 * tone, 8000)
    noise = tmp_path / "corpus/noise/fan-a"
    noise.mkdir(parents=True)
    soundfile.write(noise / "n.flac", 0.1 * rng.standard_normal(16000), 16000)
    table = "kind\tid\tgroup\tcutoff_hz\nnoise\tn\tfan-a\t8000\n"
    (tmp_path / "corpus/index.tsv").write_text(table)
    pairs = tmp_path / "pairs"

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["digit_errors.py", *map(str, words)])
        digit_errors.main()
        return capsys.readouterr().out

    monkeypatch.setattr(
        digit_errors.Studio, "responses", lambda self, places: [np.eye(1, 800)[0] + 1e-3] * 2
    )
    made = ("mix", "--digits", digits, "--corpus", tmp_path / "corpus", "--out", pairs)
    assert "4 pairs" in run(*made, "--count", "1")
    lines = [line.split("\t") for line in (pairs / "groups.tsv").read_text().splitlines()[1:]]
    assert [line[2] for line in lines] == ["0", "6", "12", "18"]
    spoken = iter([line[3].split() for line in lines])
    monkeypatch.setattr(digit_errors, "pocketsphinx", lambda: lambda audio: ["one", *next(spoken)])
    assert run("count", pairs, pairs / "noisy").count("0.0 + 0.0 + 12.5 = 12.5") == 4
    with pytest.raises(SystemExit, match="not empty"):
        run(*made)
