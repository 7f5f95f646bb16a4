"""qse denoise --dry-run: the messages of a run that writes nothing."""

import json

import pytest
from noisy_files import make, tree
from tagged_files import with_chunks


@pytest.fixture
def files(here):
    """A recording with a chunk that FLAC does not hold, and one more."""
    with_chunks(make(here / "in/a.wav"), [(b"plst", bytes(16))])
    make(here / "in/b.wav")
    return tree(here)


def test_messages_are_those_of_the_run(here, files, command):
    line = ("denoise", "in/a.wav", "-o", "out/a.flac", "--model", "recurrent", "--json")
    status, planned, said = command(*line, "--dry-run")
    assert status == 0 and tree(here) == files
    status, written, told = command(*line)
    assert status == 0 and said == told and "plst" in said
    planned = json.loads(planned)
    assert planned.pop("status") == "planned"
    assert planned == {key: value for key, value in json.loads(written).items() if key != "status"}


def test_summary_says_that_nothing_was_written(here, files, command):
    status, _, said = command("denoise", "in", "-o", "out", "--model", "recurrent", "--dry-run")
    assert status == 0 and tree(here) == files
    assert "in/b.wav -> out/b.wav" in said and "of audio would be written" in said


def test_what_would_fail_fails(here, files, command):
    line = ("denoise", "in/a.wav", "--model", "recurrent", "--dry-run")
    status, _, said = command(*line, "-o", "in/b.wav")
    assert status == 1 and "in/b.wav exists already" in said
    status, _, said = command(*line, "-o", "-")
    assert status == 2 and "--dry-run needs files" in said
    assert tree(here) == files
