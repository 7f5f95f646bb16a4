"""The tool that assembles a corpus from Git repositories, with small repositories made here."""

import csv
import subprocess
import sys
from pathlib import Path

import assemble_corpus
import numpy as np
import pytest
import soundfile

RATE = 16000
# those that the tool reads
HEAD = ["kind", "repository", "paths", "exclude", "group", "licence", "use"]


@pytest.fixture
def assemble(monkeypatch, tmp_path):
    """Return a function that runs the tool on rows of a table, and returns its output folder."""

    def run(*rows, **options):
        table = [dict.fromkeys(HEAD, "") | row for row in rows]
        with (tmp_path / "sources.tsv").open("w", newline="") as file:
            writer = csv.DictWriter(file, HEAD, delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)

        words = ["--sources", str(tmp_path / "sources.tsv"), "--repositories", str(tmp_path)]
        words += ["--out", str(tmp_path / "out")]
        for name, value in options.items():
            words += [f"--{name.replace('_', '-')}"] + ([] if value is True else [str(value)])
        monkeypatch.setattr(sys, "argv", ["assemble_corpus.py", *words])
        assemble_corpus.main()
        return tmp_path / "out"

    return run


def commit(folder, files):
    """Make a Git repository of audio, {path: samples}, or of raw content, {path: bytes}."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            soundfile.write(path, content, RATE, subtype="PCM_16")
    git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "audio"]):
        subprocess.run([*git, *words], check=True)


def noise(seed, seconds=2.0, pause=False):
    """Return sound whose spectrum changes every 0.1 s, so that no two recordings are alike.

    pause: whether it has pauses.
    """
    rng = np.random.default_rng(seed)
    time = np.arange(round(seconds * RATE)) / RATE
    chosen = rng.uniform(200, 7000, (round(seconds * 10), 6))
    hertz = np.repeat(chosen, RATE // 10, axis=0)[: len(time)]
    tones = np.sin(2 * np.pi * np.cumsum(hertz, 0) / RATE).sum(1)
    audio = 0.02 * tones + 1e-3 * rng.standard_normal(len(time))
    return audio * np.where(pause & (time % 0.5 < 0.15), 1e-3, 1.0)


def listed(folder, name):
    with (folder / name).open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_sources_for_experiments_come_only_when_asked_for(assemble, tmp_path, capsys):
    rows = []
    for name, use in (("free", "training"), ("unknown", "experiments"), ("old", "")):
        commit(tmp_path / f"a+{name}", {"x.wav": noise(len(rows))})
        row = {"kind": "noise", "repository": f"a/{name}", "paths": "*", "group": name, "use": use}
        rows.append(row)
    out = assemble(*rows)
    assert sorted(path.name for path in (out / "noise").iterdir()) == ["free", "old"]
    assert "a/unknown: left out, for experiments only" in capsys.readouterr().out
    assemble(*rows, experiments=True)
    found = sorted(path.name for path in (out / "noise").iterdir())
    assert found == ["free", "old", "unknown"]


def test_every_source_of_the_table_says_what_it_may_be_used_for():
    table = Path(assemble_corpus.__file__).parent / "corpus_sources.tsv"
    for row in assemble_corpus.read_table(table):
        assert row["use"] in ("training", "experiments"), row["repository"]
        if row["licence"].startswith("none stated") or "-NC" in row["licence"]:
            assert row["use"] == "experiments", row["repository"]


def test_recordings_are_chosen_by_path_and_kept_with_their_origin(assemble, tmp_path):
    files = {
        "rain/one.wav": noise(1),
        "rain/two drops.wav": noise(2),
        "rain/speech_3.wav": noise(3),
        "x/y.wav": noise(4),
    }
    commit(tmp_path / "owner+sounds", files)
    row = {
        "kind": "noise",
        "repository": "owner/sounds",
        "paths": "rain/*.wav",
        "group": "s-folder:1",
        "licence": "CC0",
    }
    out = assemble(row)
    index = listed(out, "index.tsv")
    # speech is left out by its name
    assert {line["path"] for line in index} == {"rain/one.wav", "rain/two drops.wav"}
    for line in index:
        origin = (line["group"], line["licence"], line["repository"])
        assert origin == ("s-rain", "CC0", "owner/sounds")
        kept, rate = soundfile.read(out / "noise" / "s-rain" / f"{line['id']}.flac")
        original = files[line["path"]]
        assert rate == RATE and abs(len(kept) - len(original)) <= RATE // 50
        np.testing.assert_allclose(kept, original[: len(kept)] - original.mean(), atol=1e-3)


def test_speakers_of_common_voice_are_the_clients_of_its_tables(assemble, tmp_path):
    files = {f"en/clips/{n}.wav": noise(n, pause=True) for n in range(4)}
    said = ['abcdef\t0.wav\tIt said "no', "abcdeg\t1.wav\t", "abcdef\t2.wav\t"]
    files["en/validated.tsv"] = "\n".join(["client_id\tpath\tsentence", *said]).encode()
    files["en/reported.tsv"] = b"sentence\treason\nx\ty\n"
    commit(tmp_path / "owner+voices", files)
    row = {"kind": "speech", "repository": "owner/voices", "paths": "*", "group": "cv-client:6"}
    index = listed(assemble(row), "index.tsv")
    found = {line["path"][-5]: line["group"] for line in index}
    assert found == {"0": "cv-abcdef", "1": "cv-abcdeg", "2": "cv-abcdef", "3": "various-cv"}


def test_useless_files_are_dropped_with_their_reason(assemble, tmp_path):
    same = noise(6, pause=True)
    files = {
        "a.wav": same,
        "again.wav": np.concatenate([0.5 * same, np.zeros(10)]),  # in another file
        "steady.wav": noise(7),
        "loud.wav": np.clip(20 * noise(5, pause=True), -1, 1),
        "short.wav": noise(8, 0.3),
        "silent.wav": np.zeros(RATE),
        "pointer.wav": b"version https://git-lfs.github.com/spec/v1\n",
        "text.wav": b"no audio",
    }
    commit(tmp_path / "owner+voice", files)
    row = {"kind": "speech", "repository": "owner/voice", "paths": "*.wav", "group": "voice"}
    out = assemble(row)
    assert [line["path"] for line in listed(out, "index.tsv")] == ["a.wav"]
    assert {line["path"]: line["reason"] for line in listed(out, "dropped.tsv")} == {
        "again.wav": "copy",
        "steady.wav": "noisy speech",
        "loud.wav": "clipped speech",
        "short.wav": "short",
        "silent.wav": "short",
        "pointer.wav": "LFS pointer",
        "text.wav": "undecodable",
    }


def test_forbidden_recordings_are_left_out(assemble, tmp_path):
    commit(tmp_path / "owner+sounds", {"a.wav": noise(9, 4.0), "b.wav": noise(10, 4.0)})
    (tmp_path / "valid").mkdir()
    soundfile.write(tmp_path / "valid" / "part.wav", 0.3 * noise(9, 4.0)[RATE : 3 * RATE], RATE)
    row = {"kind": "noise", "repository": "owner/sounds", "paths": "*.wav", "group": "s"}
    out = assemble(row, exclude_like=tmp_path / "valid")
    assert [line["path"] for line in listed(out, "index.tsv")] == ["b.wav"]
    assert listed(out, "dropped.tsv")[0]["reason"].startswith("forbidden")


def test_second_run_adds_only_what_is_new(assemble, tmp_path):
    commit(tmp_path / "owner+sounds", {"a.wav": noise(11)})
    row = {"kind": "noise", "repository": "owner/sounds", "paths": "*.wav", "group": "s"}
    assemble(row)
    commit(tmp_path / "owner+sounds", {"b.wav": noise(12)})
    out = assemble(row)
    assert [line["path"] for line in listed(out, "index.tsv")] == ["a.wav", "b.wav"]
    assert listed(out, "dropped.tsv") == []  # the first recording was not looked at again
