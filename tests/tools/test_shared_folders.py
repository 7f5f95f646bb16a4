"""The tools in folders that others can write: no link of theirs is followed, no program of theirs
runs, and what is made of private recordings is private."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

pytest.importorskip("torch")

import assemble_corpus
import mix_pairs
import sound_files
from other_users import foreign, needs_root
from repository_files import open_repository

from qse.audio.file_mode import Sources

TOOLS = Path(__file__).parents[2] / "tools"
DIRECT = re.compile(
    r"soundfile\.write\(|\.write_(text|bytes)\(|\.mkdir\(|savefig\(|open\(.*\"[awx]"
)
# most write to a path of atomic_path; reference.py writes into its checkout, and enhance.py runs
# where qse may be missing
DOORS = {
    "reference.py": [".write_text("],
    "assemble_corpus.py": ['open("w'],
    "latency_curve.py": ["savefig("],
    "peers/enhance.py": [".mkdir(", 'open(out / f"{path.stem}.wav", "x', "soundfile.write("],
}


def test_tools_write_through_the_doors_of_qse():
    found = {}
    for path in sorted(TOOLS.rglob("*.py")):
        if hits := [match[0] for match in DIRECT.finditer(path.read_text())]:
            found[path.relative_to(TOOLS).as_posix()] = sorted(hits)
    assert found == DOORS


@pytest.fixture
def clone(shared):
    """Make the repository owner/name of one file; return the git command for it."""
    git = ["git", "-C", shared / "owner+name", "-c", "user.name=a", "-c", "user.email=a@b"]
    (shared / "owner+name/a").mkdir(parents=True)
    (shared / "owner+name/a/text").write_text("text")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "text"]):
        subprocess.run([*git, *words], check=True)
    return git


@needs_root
def test_a_clone_of_another_user_is_refused(clone, shared, tmp_path):
    """Its configuration names programs that git runs."""
    (program := tmp_path / "upload.sh").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    tree = subprocess.run([*clone, "rev-parse", "HEAD:a"], capture_output=True, text=True).stdout
    for words in (
        ["remote.origin.url", str(tmp_path)],
        ["remote.origin.promisor", "true"],
        ["remote.origin.uploadpack", str(program)],
        ["extensions.partialClone", "origin"],
        ["core.repositoryFormatVersion", "1"],
    ):
        subprocess.run([*clone, "config", *words], check=True)
    (shared / "owner+name/.git/objects" / tree[:2] / tree[2:].strip()).unlink()
    for path in [*shared.rglob("*"), shared / "owner+name"]:
        os.chown(path, 12345, 12345, follow_symlinks=False)
    with pytest.raises(subprocess.CalledProcessError):
        open_repository("owner/name", shared)
    assert not (tmp_path / "ran").exists()


def test_a_folder_that_is_no_clone_is_not_looked_for_above(clone, shared):
    (shared / "owner+name/other+name").mkdir()
    with pytest.raises(subprocess.CalledProcessError):
        open_repository("other/name", shared / "owner+name")
    assert list(open_repository("owner/name", shared)[1]) == ["a/text"]


def test_a_name_that_would_be_lines_of_a_table_is_left_out(clone, shared):
    name = "b\tx\nspeech\tsecret\tc"
    (shared / "owner+name" / name).write_text("text")
    for words in (["add", "-A"], ["commit", "-q", "-m", "text"]):
        subprocess.run([*clone, *words], check=True)
    assert list(open_repository("owner/name", shared)[1]) == ["a/text"]


@pytest.mark.parametrize(("group", "name"), [("a-1", "../0"), ("/a", "0"), ("a/b", "0")])
def test_a_corpus_names_no_recording_elsewhere(tmp_path, group, name):
    row = {"kind": "speech", "group": group, "id": name}
    read_from = mix_pairs.Recordings(tmp_path, [row], 16000, np.random.default_rng(0))
    with pytest.raises(SystemExit, match="is no name of a file"):
        read_from.read(row)


@needs_root
@pytest.mark.parametrize("name", ["index.tsv", "dropped.tsv", "prints.npz", "speech"])
def test_a_corpus_is_written_through_no_link_of_others(shared, precious, tmp_path, name):
    (tmp_path / "elsewhere").mkdir()
    foreign(shared / name, tmp_path / "elsewhere" if name == "speech" else precious)
    with pytest.raises((OSError, ValueError)):
        corpus = assemble_corpus.Corpus(shared, {}, 16000)
        row = {"kind": "speech", "group": "a", "licence": "free", "repository": "a/b"}
        corpus._write(row, "a.wav", np.ones(16000), 16000, "")
    assert not list((tmp_path / "elsewhere").iterdir())


@needs_root
def test_a_sound_is_not_written_to_what_a_link_names(shared, precious):
    foreign(shared / "a.flac", precious)
    sound_files.write(shared / "a.flac", np.zeros(8), 16000, source=None)
    assert not (shared / "a.flac").is_symlink() and len(soundfile.read(shared / "a.flac")[0]) == 8


def test_pairs_are_no_more_readable_than_their_sources(tmp_path, monkeypatch):
    lines = ["kind\tid\tgroup\tcutoff_hz"]
    for kind in ("speech", "noise"):
        path = tmp_path / "corpus" / kind / "a-1/0.flac"
        path.parent.mkdir(parents=True)
        soundfile.write(path, np.random.default_rng(0).normal(0, 0.1, 80000), 16000)
        path.chmod(0o640 if kind == "speech" else 0o600)
        lines.append(f"{kind}\t0\ta-1\t8000")
    (tmp_path / "corpus/index.tsv").write_text("\n".join(lines) + "\n")
    out = tmp_path / "pairs"
    words = ["mix_pairs.py", "--corpus", str(tmp_path / "corpus"), "--out", str(out)]
    monkeypatch.setattr(sys, "argv", words)
    mix_pairs.main()
    made = [path for path in out.rglob("*") if path.is_file()]
    assert len(made) == 11 and {path.stat().st_mode & 0o777 for path in made} == {0o600}
    with pytest.raises(SystemExit, match="is not empty"):
        mix_pairs.main()


def test_pairs_that_are_not_complete_leave_nothing(tmp_path):
    with (
        pytest.raises(KeyboardInterrupt),
        sound_files.new_pairs(tmp_path / "pairs", Sources([])) as pairs,
    ):
        pairs.add("a", {"noisy": np.zeros(8)}, 16000)
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_a_sound_that_is_cut_by_a_full_disk_is_an_error(tmp_path, monkeypatch):
    write = soundfile.write

    def short(path, *rest, **form):
        write(path, *rest, **form)
        os.truncate(path, os.path.getsize(path) - 100)

    monkeypatch.setattr(soundfile, "write", short)
    with pytest.raises(OSError, match="is the disk full"):
        sound_files.write(tmp_path / "a.flac", np.zeros(16000), 16000, source=None)
    assert not list(tmp_path.iterdir())
