"""Training on the parts of a bundle: begun with the first part, others arrive while it runs, one of
them cut; resumed."""

import shutil
from contextlib import suppress
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from made_bundles import bundle, cut, folders, send
from small_training import CONFIG, PLAN, lines, same
from waiting import until

from qse.data.part_intake import Intake
from qse.errors import QseError
from qse.networks.weights import load_tensors
from qse.train import bundle_run
from qse.train.job import Job
from qse.train.run import train

STEPS = replace(CONFIG, train=replace(PLAN, steps=8, checkpoint_every=2))


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Parts of a bundle."""
    folder = tmp_path_factory.mktemp("bundle")
    folders(folder)
    return bundle(folder, folder / "parts")


class InTurn:
    """Look at the folder between two steps, in place of the process that does it at its own
    times."""

    def __init__(self, folder, store):
        self.told = []
        self.intake = Intake(folder, store, self.told.append, arriving=True)

    def lines(self):
        self.intake.look()
        told = self.told[:]
        self.told.clear()
        return told

    def close(self):
        pass


class At:
    """Call functions after given steps of a run."""

    def __init__(self, actions):
        self.actions = actions
        self.done = []

    def __call__(self, row, plan):
        self.done.append(row["step"])
        self.actions.get(row["step"], lambda: None)()

    def stage(self, what, done, total):
        pass

    def close(self):
        pass


class Killed(Exception):
    pass


def kill():
    raise Killed


def weights(run):
    tensors, header = load_tensors(run / "checkpoint.safetensors")
    assert header["step"] == "8"
    return tensors


def schedule(run):
    return [(int(row["step"]), row["name"]) for row in lines(run / "parts.csv")]


def walk(tmp_path, parts, name, end=lambda: None):
    """Run on a folder that part 0 lies in; 1 arrives cut, then 2, then 1 again and a copy of 2.

    `end` is called after step 7. Returns the run, what was told and the job.
    """
    watched = tmp_path / f"{name}-parts"
    watched.mkdir()
    send(parts[0], watched)
    actions = {
        1: lambda: cut(parts[1], watched / parts[1].name),
        3: lambda: send(parts[2], watched),
        5: lambda: [send(parts[1], watched), send(parts[2], watched, "part-099.zip")],
        7: end,
    }
    told = []
    job = Job(out=tmp_path / name, watch=watched)
    report = At(actions)
    with suppress(Killed):
        train(STEPS, job, report, say=told.append)
    return job, told, report


@pytest.mark.parametrize("text", ["number,price\n1,2\n", "order: 5 resistors\n"])
def test_table_that_no_run_has_written_is_kept(parts, tmp_path, text):
    path = tmp_path / "run" / "parts.csv"
    path.parent.mkdir()
    path.write_text(text)
    job = Job(out=path.parent, bundles=parts[0].parent)
    with pytest.raises(QseError, match=r"parts\.csv: would be replaced; name another folder"):
        train(STEPS, job)
    assert path.read_text() == text


@pytest.fixture
def in_turn(monkeypatch):
    monkeypatch.setattr(bundle_run, "Watcher", InTurn)


def test_parts_arrive_while_a_run_trains(tmp_path, parts, in_turn):
    job, told, report = walk(tmp_path, parts, "whole")
    assert report.done == [1, 2, 3, 4, 5, 6, 7, 8]
    taken = [(0, "part-000.zip"), (3, "part-002.zip"), (5, "part-001.zip")]
    assert schedule(job.out) == taken
    assert told == [
        "part-001.zip is cut or damaged: copy it again",
        "part-002.zip taken in: 0.00 h of speech, 0.00 h of noise, from step 3 on",
        "part-001.zip taken in: 0.00 h of speech, 0.00 h of noise, from step 5 on",
        "part-099.zip repeats part-002.zip: remove it",
    ]


def test_parts_change_the_batches_and_samples_stay(tmp_path, parts, in_turn):
    """The samples of the first part are where they were; a run on it alone differs from the step on
    for which another part came."""
    job, _, _ = walk(tmp_path, parts, "whole")
    alone = Job(out=tmp_path / "alone", bundles=tmp_path / "first")
    alone.bundles.mkdir()
    send(parts[0], alone.bundles)
    train(STEPS, alone)
    first = (alone.out / "parts-16000/speech-16000.int16").read_bytes()
    extended = (job.out / "parts-16000/speech-16000.int16").read_bytes()
    assert len(extended) > len(first) and extended.startswith(first)
    losses = [[row["loss"] for row in lines(run.out / "train.csv")] for run in (job, alone)]
    assert losses[0][0] == losses[1][0] and losses[0][-1] != losses[1][-1]


@pytest.mark.parametrize("decoded", [True, False], ids=["resumed", "without its samples"])
def test_resumed_run_equals_an_uninterrupted_one(tmp_path, parts, in_turn, decoded):
    """Killed after step 7, its checkpoint is of step 6."""
    whole, _, _ = walk(tmp_path, parts, "whole")
    broken, _, report = walk(tmp_path, parts, "broken", end=kill)
    assert report.done[-1] == 7
    if not decoded:
        shutil.rmtree(broken.out / "parts-16000")
    told = []
    train(STEPS, replace(broken, resume=True), say=told.append)
    assert schedule(broken.out) == schedule(whole.out)
    same(weights(broken.out), weights(whole.out))


def test_resumed_run_says_which_parts_are_not_there(tmp_path, parts, in_turn):
    broken, _, _ = walk(tmp_path, parts, "broken", end=kill)
    shutil.rmtree(broken.out / "parts-16000")
    for name in ("part-000.zip", "part-001.zip", "part-099.zip"):
        (broken.watch / name).unlink()
    told = []
    train(STEPS, replace(broken, resume=True), say=told.append)
    assert told == [
        "part-000.zip, part-001.zip not there, which this run had: its batches differ from those of"
        " before"
    ]


def test_run_takes_parts_from_the_process_beside_it(tmp_path, parts):
    """The true one: the step waits until the part is there, so that it is taken in at the next."""
    watched = tmp_path / "parts"
    watched.mkdir()
    send(parts[0], watched)
    job = Job(out=tmp_path / "run", watch=watched)
    store = bundle_run._store(STEPS, job)

    def arrive():
        send(parts[1], watched)
        until(lambda: len(store.found()) == 2, seconds=120)

    told = []
    train(STEPS, job, At({3: arrive}), say=told.append)
    assert schedule(job.out) == [(0, "part-000.zip"), (3, "part-001.zip")]
    assert [line.split(":")[0] for line in told] == ["part-001.zip taken in"]


@pytest.mark.slow
def test_two_processes_use_a_part_from_the_same_step_on(tmp_path, parts):
    """A run resumed in two processes takes in what has arrived, a few steps ahead of both."""
    folder = tmp_path / "parts"
    folder.mkdir()
    send(parts[0], folder)
    job = Job(out=tmp_path / "run", bundles=folder, processes=2)
    train(replace(STEPS, train=replace(STEPS.train, steps=2)), job)
    send(parts[1], folder)
    train(STEPS, replace(job, resume=True))
    assert schedule(job.out) == [(0, "part-000.zip"), (2, "part-001.zip")]
    weights(job.out)
