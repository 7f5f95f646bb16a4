"""The tool that cuts excerpts of recordings in Git repositories, with a repository made here."""

import subprocess
import sys

import cut_excerpts
import numpy as np
import pytest
import soundfile

RATE = 16000
HEAD = ["name", "repository", "path", "start_s", "end_s"]


@pytest.fixture
def cut(monkeypatch, tmp_path):
    """Return a function that runs the tool on rows of a table, and returns its exit status."""
    folder = tmp_path / "owner+name"
    (folder / "a").mkdir(parents=True)
    ramp = np.arange(4 * RATE) / (8 * RATE)
    soundfile.write(folder / "a" / "ramp.wav", np.stack([ramp, ramp], 1), RATE, subtype="PCM_16")
    git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "audio"]):
        subprocess.run([*git, *words], check=True)

    def run(*rows):
        table = tmp_path / "sources.tsv"
        table.write_text("\n".join("\t".join(row) for row in (HEAD, *rows)) + "\n")
        out = ["--out", str(tmp_path / "out")]
        words = ["--sources", str(table), "--repositories", str(tmp_path), *out]
        monkeypatch.setattr(sys, "argv", ["cut_excerpts.py", *words])
        return cut_excerpts.main()

    return run


def test_an_excerpt_is_mono_at_the_rate_of_its_recording(cut, tmp_path):
    assert cut(("one", "owner/name", "a/ramp.wav", "1.5", "2.0")) == 0
    audio, rate = soundfile.read(tmp_path / "out" / "one.flac")
    assert rate == RATE
    np.testing.assert_allclose(audio, np.arange(1.5 * RATE, 2 * RATE) / (8 * RATE), atol=2**-15)


def test_what_cannot_be_cut_is_named(cut, tmp_path, capsys):
    rows = [
        ("one", "owner/name", "a/ramp.wav", "0", "1"),
        ("long", "owner/name", "a/ramp.wav", "3", "9"),
        ("lost", "owner/name", "a/other.wav", "0", "1"),
    ]
    assert cut(*rows) == 1
    said = capsys.readouterr().out
    assert "long: the recording is shorter than the table says" in said
    assert "lost: no such file in the newest commit" in said
    assert "1 of 3 excerpts" in said
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["one.flac"]
