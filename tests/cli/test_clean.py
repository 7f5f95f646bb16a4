"""qse clean: manifests, resuming, shards, and the same samples as qse denoise."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from glob import glob
from itertools import chain

import numpy as np
import pytest
import soundfile
from waiting import until

from qse.corpus_cleaning import clean as clean_module
from qse.corpus_cleaning import journal, manifest, marks
from qse.corpus_cleaning.journal import Journal
from qse.corpus_cleaning.manifest import recordings
from qse.corpus_cleaning.settings import Settings
from qse.errors import QseError
from qse.runtime.bands import BandModels

MODEL = "recurrent"  # its output depends on every earlier sample


@pytest.fixture
def corpus(models, tmp_path, monkeypatch):
    """A folder, the current one, with ten noises in `a/` and `b/` and a manifest of them."""
    monkeypatch.chdir(tmp_path)
    return make_corpus(tmp_path, 10, 0.5)


def make_corpus(folder, count, seconds):
    rng = np.random.default_rng(0)
    lines = []
    for n in range(count):
        path = folder / "ab"[n % 2] / f"{n}.wav"
        path.parent.mkdir(exist_ok=True)
        soundfile.write(path, 0.1 * rng.standard_normal(int(seconds * 16000)), 16000)
        lines.append(
            {"audio_filepath": f"{'ab'[n % 2]}/{n}.wav", "duration": seconds, "text": f"größer {n}"}
        )
    write_lines(folder / "in.jsonl", lines)
    return folder


def write_lines(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def clean(command):
    """Call qse clean in.jsonl -o out --manifest out.jsonl with more options:
    (exit status, stderr)."""

    def call(*options, manifest="in.jsonl", model=MODEL):
        paths = [manifest, "-o", "out", "--manifest", "out.jsonl", "--model", model]
        status, _, err = command("clean", *paths, *options)
        return status, err

    return call


def test_clean_writes_samples_of_denoise(corpus, clean, command):
    assert clean()[0] == 0
    assert command("denoise", "a", "b", "-o", "reference", "--model", MODEL)[0] == 0
    for n in range(10):
        (reference,) = corpus.glob(f"reference/**/{n}.wav")
        assert (corpus / "out" / "ab"[n % 2] / f"{n}.wav").read_bytes() == reference.read_bytes()


def test_clean_manifest_keeps_keys_and_records_model(corpus, clean):
    clean("--strength", "12")
    lines = read_lines(corpus / "out.jsonl")
    by_source = {line["qse"]["source"]: line for line in lines}
    for entry in read_lines(corpus / "in.jsonl"):
        line = by_source.pop(entry["audio_filepath"])
        assert line["audio_filepath"] == str(corpus / "out" / entry["audio_filepath"])
        assert (line["text"], line["duration"]) == (entry["text"], entry["duration"])
        assert line["qse"]["state"] == "done" and line["qse"]["error"] is None
        assert line["qse"]["strength"] == 12 and len(line["qse"]["model_sha256"]) == 64
    assert not by_source


def test_clean_skips_finished_recordings(corpus, clean):
    clean()
    before = (corpus / "out.jsonl").read_bytes()
    times = {path: path.stat().st_mtime_ns for path in corpus.glob("out/*/*.wav")}
    status, err = clean()
    assert status == 0 and "0 enhanced" in err and "10 finished before" in err
    assert (corpus / "out.jsonl").read_bytes() == before
    assert {path: path.stat().st_mtime_ns for path in corpus.glob("out/*/*.wav")} == times


def test_clean_enhances_again_what_is_gone(corpus, clean):
    clean()
    (corpus / "out/a/0.wav").unlink()
    assert "1 enhanced" in clean()[1]
    assert (corpus / "out/a/0.wav").is_file() and len(read_lines(corpus / "out.jsonl")) == 10


def test_clean_retries_failed_recordings(corpus, clean):
    sound = (corpus / "a/0.wav").read_bytes()
    (corpus / "a/0.wav").write_bytes(b"no sound")
    status, err = clean()
    assert status == 1 and "9 enhanced, 1 failed" in err
    (failed,) = [
        line for line in read_lines(corpus / "out.jsonl") if line["qse"]["state"] == "failed"
    ]
    assert failed["audio_filepath"] == str(corpus / "a/0.wav")  # also from another folder
    assert failed["qse"]["source"] == "a/0.wav" and "not an audio file" in failed["qse"]["error"]
    (corpus / "a/0.wav").write_bytes(sound)
    assert clean()[0] == 0
    lines = read_lines(corpus / "out.jsonl")
    assert len(lines) == 10 and all(line["qse"]["state"] == "done" for line in lines)


def test_clean_manifest_says_what_may_be_missing(corpus, clean):
    """A header that states ten samples more."""
    (corpus / "a/0.wav").write_bytes((corpus / "a/0.wav").read_bytes()[:-20])
    status, err = clean()
    assert status == 0 and "10 more samples" in err
    damage = {
        line["qse"]["source"]: line["qse"]["damage"] for line in read_lines(corpus / "out.jsonl")
    }
    assert "a/0.wav" in damage["a/0.wav"] and "10 more samples" in damage.pop("a/0.wav")
    assert set(damage.values()) == {None}


@pytest.mark.parametrize("end", ["failed", "given up"])
def test_clean_replaces_no_file_where_it_has_written_none(corpus, clean, monkeypatch, end):
    """A file that was put there after the recording failed, or after Ctrl-C."""
    sound = (corpus / "a/0.wav").read_bytes()
    with monkeypatch.context() as changed:
        if end == "failed":
            (corpus / "a/0.wav").write_bytes(b"no sound")
        else:
            begin = Journal.begin

            def stopped(self, recording):
                begin(self, recording)
                raise KeyboardInterrupt

            changed.setattr(Journal, "begin", stopped)
        assert clean()[0] != 0
    (corpus / "a/0.wav").write_bytes(sound)
    (corpus / "out/a").mkdir(parents=True, exist_ok=True)
    (corpus / "out/a/0.wav").write_bytes(b"mine")
    status, err = clean()
    assert status == 1 and "exists already" in err
    assert (corpus / "out/a/0.wav").read_bytes() == b"mine"
    (corpus / "out/a/0.wav").unlink()
    assert clean()[0] == 0 and (corpus / "out/a/0.wav").is_file()


@pytest.mark.parametrize(
    "origin", ["own", "copied", "of another user", "of another manifest", "of another folder"]
)
def test_clean_replaces_no_file_by_a_lock_of_others(corpus, clean, monkeypatch, origin):
    """As one from an archive, which may name any file, and have the expected inode."""
    (corpus / "out/a").mkdir(parents=True)
    found = recordings(corpus / "in.jsonl", corpus / "out")
    with monkeypatch.context() as changed:
        if origin == "of another user":
            changed.setattr("qse.corpus_cleaning.marks._secret", lambda: b"another")
        name = "other.jsonl" if origin == "of another manifest" else "out.jsonl"
        place = corpus / "former" if origin == "of another folder" else corpus
        with Journal(place / name, Settings.of(BandModels(MODEL))) as journal:
            journal.begin(found[0])
            found[0].target.write_bytes(b"mine")
    lock = corpus / ".out.jsonl.lock"
    (place / f".{name}.lock").rename(lock)
    (place / name).rename(corpus / "out.jsonl")
    if origin == "copied":
        shutil.copyfile(lock, corpus / "copy")
        os.replace(corpus / "copy", lock)
    status, err = clean()
    is_kept = origin != "own"
    assert (status, "exists already" in err) == (int(is_kept), is_kept)
    assert (found[0].target.read_bytes() == b"mine") == is_kept


def test_secret_is_made_once_and_is_private(tmp_path, monkeypatch):
    monkeypatch.setenv("QSE_CACHE", str(tmp_path / "cache"))
    first = marks._secret.__wrapped__()
    assert first == marks._secret.__wrapped__() == (tmp_path / "cache/secret").read_bytes()
    assert stat.S_IMODE((tmp_path / "cache/secret").stat().st_mode) == 0o600 or os.name == "nt"
    assert os.listdir(tmp_path / "cache") == ["secret"]
    (tmp_path / "cache/secret").write_bytes(b"short")
    assert marks._secret.__wrapped__() not in (first, marks._secret.__wrapped__())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("kind", ["link", "pipe", "readable", "longer"])
def test_file_that_others_may_know_is_no_secret(tmp_path, monkeypatch, kind):
    """Put a file of the user, or a link, there, as whoever can write the folder for caches can."""
    monkeypatch.setenv("QSE_CACHE", str(tmp_path))
    (known := tmp_path / "known").write_bytes(32 * b"k")
    known.chmod(0o600)
    if kind == "link":
        (tmp_path / "secret").symlink_to(known)
    elif kind == "pipe":
        os.mkfifo(tmp_path / "secret")
    else:
        known.rename(tmp_path / "secret")
        known = tmp_path / "secret"
        if kind == "readable":
            known.chmod(0o640)
        else:  # as a key, whose first bytes are those of all keys
            known.write_bytes(33 * b"k")
    assert marks._secret.__wrapped__() != 32 * b"k"


@pytest.mark.parametrize(
    "added, words",
    [
        ({"qse": {"speaker": 7}}, "which qse clean would replace"),
        ({"audio_filepath": "no.wav", "shard_id": 0}, "inside a tar file; extract"),
    ],
)
def test_clean_refuses_entries_that_it_would_spoil(corpus, clean, added, words):
    lines = read_lines(corpus / "in.jsonl")
    lines[3] |= added
    write_lines(corpus / "in.jsonl", lines)
    status, err = clean()
    assert status == 2 and words in err and not (corpus / "out").exists()


@pytest.mark.parametrize("change", [["--strength", "6"], ["--format", "flac"]])
def test_clean_refuses_other_settings(corpus, clean, change):
    clean()
    before = (corpus / "out.jsonl").read_bytes()
    status, err = clean(*change)
    assert status == 2 and "other settings" in err and err.count("\n") == 1
    assert (corpus / "out.jsonl").read_bytes() == before


def test_clean_refuses_other_model(corpus, clean):
    clean()
    status, err = clean(model="live-base")
    assert status == 2 and "recurrent" in err and "live-base" in err


def test_clean_repairs_half_written_line(corpus, clean):
    clean()
    manifest = corpus / "out.jsonl"
    manifest.write_bytes(manifest.read_bytes()[:-20])
    assert "1 enhanced, 0 failed, 9 finished before" in clean()[1]
    assert len(read_lines(manifest)) == 10


@pytest.mark.parametrize("content", ['{"audio_filepath": "x.wav"}\n', '{"a": 1}', "{\\rtf1 }"])
def test_clean_refuses_manifest_of_another_program(corpus, clean, content):
    (corpus / "out.jsonl").write_bytes(content.encode())
    status, err = clean()
    assert status == 2 and "not written by qse clean" in err
    assert (corpus / "out.jsonl").read_bytes() == content.encode()


@pytest.mark.skipif(os.name != "posix", reason="needs limits of files")
def test_clean_ends_where_a_line_is_written_in_part(corpus, clean):
    """As on a full disk: a write takes what there is room for."""
    import resource

    lines = read_lines(corpus / "in.jsonl")
    write_lines(corpus / "in.jsonl", [line | {"text": 3000 * "x"} for line in lines])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        status, err = clean()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert status == 1 and "File too large" in err
    assert "5 enhanced, 0 failed, 5 finished before" in clean()[1]
    assert len(read_lines(corpus / "out.jsonl")) == 10


def test_clean_refuses_existing_files_at_first_run(corpus, clean):
    (corpus / "out/a").mkdir(parents=True)
    (corpus / "out/a/0.wav").write_bytes(b"mine")
    status, err = clean()
    assert status == 2 and "exist" in err and not (corpus / "out.jsonl").exists()
    assert (corpus / "out/a/0.wav").read_bytes() == b"mine"
    assert clean("--overwrite")[0] == 0


def test_clean_replaces_no_file_that_it_has_not_made(corpus, clean, monkeypatch):
    """Neither where the manifest has grown, nor where another run makes one meanwhile."""
    lines = read_lines(corpus / "in.jsonl")
    write_lines(corpus / "in.jsonl", lines[:8])
    assert clean()[0] == 0
    (corpus / "out/a/8.wav").write_bytes(b"mine")
    write_lines(corpus / "in.jsonl", lines)
    begin = Journal.begin

    def slowly(self, recording):
        may_replace = begin(self, recording)
        if recording.target.name == "9.wav":
            recording.target.write_bytes(b"theirs")
        return may_replace

    monkeypatch.setattr(Journal, "begin", slowly)
    status, err = clean()
    assert status == 1 and err.count("exists already") == 2
    assert (corpus / "out/a/8.wav").read_bytes() == b"mine"
    monkeypatch.setattr(Journal, "begin", begin)
    assert clean()[0] == 1
    assert (corpus / "out/a/8.wav").read_bytes() == b"mine"
    assert (corpus / "out/b/9.wav").read_bytes() == b"theirs"
    assert clean("--overwrite")[0] == 0
    assert (corpus / "out/a/8.wav").read_bytes() != b"mine"


def test_clean_shards_divide_the_manifest(corpus, clean):
    for number in (1, 2, 3):
        assert clean("--shard", f"{number}/3")[0] == 0
    found = [read_lines(corpus / f"out.{number}-of-3.jsonl") for number in (1, 2, 3)]
    assert [len(lines) for lines in found] == [4, 3, 3]
    assert len({line["qse"]["source"] for line in chain.from_iterable(found)}) == 10


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_clean_follows_no_link_in_place_of_a_shard(corpus, clean):
    (corpus / "out.1-of-2.jsonl").symlink_to("elsewhere.jsonl")
    status, err = clean("--shard", "1/2")
    assert status == 2 and "is a link, in place of the manifest of a shard" in err
    assert not (corpus / "elsewhere.jsonl").exists()


@pytest.mark.parametrize("path", [".", "/", "a"])
def test_clean_refuses_a_folder_as_recording(corpus, clean, path):
    write_lines(corpus / "folder.jsonl", [{"audio_filepath": path}])
    status, err = clean(manifest="folder.jsonl")
    assert status == 2 and "is a folder; a manifest names recordings" in err


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b", "-1/2"])
def test_clean_refuses_malformed_shard(corpus, clean, shard):
    status, err = clean("--shard", shard)
    assert status == 2 and "I/N" in err


def test_clean_refuses_shard_in_use(corpus, clean):
    with Journal(corpus / "out.jsonl", Settings.of(BandModels(MODEL))):
        status, err = clean()
    assert status == 2 and "in use" in err
    assert clean()[0] == 0


def test_journal_refuses_a_file_system_without_locks(tmp_path, monkeypatch):
    def unsupported(file):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("qse.corpus_cleaning.journal.lock", unsupported)
    with pytest.raises(QseError, match="cannot be locked"):
        Journal(tmp_path / "out.jsonl", Settings("live-base", "", None, None))


def test_clean_enhances_a_recording_with_offsets_once(corpus, clean):
    parts = [
        {"audio_filepath": "a/0.wav", "offset": start, "duration": 0.1} for start in (0.0, 0.2, 0.3)
    ]
    write_lines(corpus / "parts.jsonl", parts)
    status, err = clean(manifest="parts.jsonl")
    assert status == 0 and "1 enhanced" in err
    lines = read_lines(corpus / "out.jsonl")
    assert [(line["offset"], line["duration"]) for line in lines] == [
        (0.0, 0.1),
        (0.2, 0.1),
        (0.3, 0.1),
    ]
    (corpus / "out.jsonl").write_bytes(
        b"".join((corpus / "out.jsonl").read_bytes().splitlines(keepends=True)[:2])
    )
    clean(manifest="parts.jsonl")
    assert len(read_lines(corpus / "out.jsonl")) == 3


@pytest.mark.parametrize(
    "line",
    [
        *('{"duration": 1}', "[1]", '{"audio_filepath": 3}', "{", '{"audio_filepath": ""}'),
        *(r'{"audio_filepath": "a\u0000.wav"}', r'{"audio_filepath": "\ud800.wav"}'),
    ],
)
def test_clean_names_malformed_line(corpus, clean, line):
    with (corpus / "in.jsonl").open("a") as file:
        file.write(line + "\n")
    status, err = clean()
    assert status == 2 and "line 11" in err and not (corpus / "out").exists()


def test_clean_refuses_to_replace_recordings(corpus, command):
    status, _, err = command(
        "clean", "in.jsonl", "-o", ".", "--manifest", "out.jsonl", "--model", MODEL
    )
    assert status == 2 and "would be replaced" in err


def test_clean_refuses_to_replace_recordings_through_a_link(corpus, command):
    (corpus / "link").symlink_to(corpus)
    status, _, err = command(
        *("clean", "in.jsonl", "-o", "link", "--manifest", "out.jsonl", "--model", MODEL),
        "--overwrite",
    )
    assert status == 2 and "would be replaced" in err


def test_clean_replaces_its_manifest_while_it_is_closed(corpus, clean, monkeypatch):
    """Windows replaces no open file."""
    clean()
    (corpus / "out/a/0.wav").unlink()
    replace = journal.atomic_path
    held = []

    def checked(path, **options):
        held.extend(fd for fd in glob("/proc/self/fd/*") if os.path.realpath(fd) == str(path))
        return replace(path, **options)

    monkeypatch.setattr(journal, "atomic_path", checked)
    assert clean()[0] == 0
    assert held == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_result_that_others_exchange_for_a_pipe(corpus, clean, monkeypatch):
    """The pipe would wait for its other end."""
    record = clean_module._record

    def exchanged(written, recording, outcome):
        recording.target.unlink()
        os.mkfifo(recording.target)
        record(written, recording, outcome)

    monkeypatch.setattr(clean_module, "_record", exchanged)
    status, err = clean()
    assert status == 1 and "was exchanged, or lost: it is no regular file" in err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_manifest_of_a_private_one_that_others_exchange(corpus, clean, monkeypatch):
    (corpus / "in.jsonl").chmod(0o600)
    parse = manifest.parse

    def exchanged(line):
        (corpus / "in.jsonl").unlink(missing_ok=True)
        (corpus / "in.jsonl").touch(0o644)
        return parse(line)

    monkeypatch.setattr(manifest, "parse", exchanged)
    assert clean()[0] == 0
    assert (corpus / "out.jsonl").stat().st_mode & 0o777 == 0o600


def test_clean_refuses_input_as_output(corpus, command):
    status, _, err = command(
        "clean", "in.jsonl", "-o", "out", "--manifest", "in.jsonl", "--model", MODEL
    )
    assert status == 2 and "input itself" in err


def test_clean_format_and_root(corpus, clean):
    assert clean("--format", "flac", "--root", corpus / "a")[0] == 0
    assert soundfile.info(corpus / "out/0.flac").frames == 8000
    outside = corpus / "out" / (corpus / "b/1.flac").relative_to("/")
    assert outside.is_file()


def test_clean_refuses_two_sources_of_one_target(corpus, clean):
    soundfile.write(corpus / "a/0.flac", np.zeros(100), 16000)
    with (corpus / "in.jsonl").open("a") as file:
        file.write('{"audio_filepath": "a/0.flac"}\n')
    status, err = clean("--format", "ogg")
    assert status == 2 and "both be written" in err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
        signal.SIGTERM,
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
    ],
    ids=lambda number: number.name,
)
def test_clean_resumes_after_signal_in_two_shards(models, tmp_path, number):
    count = 40
    make_corpus(tmp_path, count, 10.0)
    line = [
        sys.executable,
        "-c",
        "from qse_cli.main import main; main()",
        "clean",
        "in.jsonl",
        "-o",
        "out",
    ]
    line += ["--manifest", "out.jsonl", "--model", MODEL, "--threads", "1", "--shard"]
    manifests = [tmp_path / f"out.{shard}-of-2.jsonl" for shard in (1, 2)]

    def start():
        return [
            subprocess.Popen([*line, f"{n}/2"], cwd=tmp_path, stderr=subprocess.DEVNULL)
            for n in (1, 2)
        ]

    processes = start()
    until(
        lambda: all(
            path.is_file() and len(path.read_bytes().splitlines()) >= 2 for path in manifests
        )
    )
    for process in processes:
        process.send_signal(number)
    assert all(process.wait(60) != 0 for process in processes)
    done = sum(len(path.read_bytes().splitlines()) for path in manifests)
    assert 4 <= done < count
    if number != signal.SIGKILL:
        assert not list(tmp_path.glob("out/**/.*.part"))
    assert [process.wait(120) for process in start()] == [0, 0]
    lines = list(chain.from_iterable(map(read_lines, manifests)))
    assert len(lines) == len({line["qse"]["source"] for line in lines}) == count
    reference = [*line[:3], "denoise", "a", "-o", "reference", "--model", MODEL, "-q"]
    subprocess.run(reference, cwd=tmp_path, check=True)
    for path in (tmp_path / "reference").rglob("*.wav"):
        assert (tmp_path / "out/a" / path.name).read_bytes() == path.read_bytes()
