"""Taking parts of a bundle into a store, and using them from a step on."""

import os
import shutil
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dataclasses import replace

from made_bundles import SMALL, bundle, cut, folders, send

from qse.data import open_sources
from qse.data.bundle_part import BundlePart
from qse.data.bundle_source import BundleSource, take_in
from qse.data.decoded_parts import DecodedParts
from qse.data.mix_config import MixConfig
from qse.data.part_intake import Intake, first_parts
from qse.data.part_schedule import PartSchedule
from qse.errors import QseError

CPU = torch.device("cpu")
MIX = MixConfig(segment=0.25, rooms=2)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    folders(folder)
    return bundle(folder, folder / "parts")


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "watched"
    path.mkdir()
    return path


@pytest.fixture
def store(tmp_path):
    return DecodedParts(tmp_path / "store", {16000: 0.0})


def names(store):
    return sorted(part.name for part in store.found().values())


def test_parts_are_taken_in_once(parts, folder, store):
    told = []
    intake = Intake(folder, store, told.append)
    assert intake.look() == 0
    send(parts[0], folder)
    send(parts[1], folder)
    assert intake.look() == 2 and intake.look() == 0
    send(parts[0], folder, "part-050.zip")
    assert intake.look() == 0 and intake.look() == 0
    assert told == ["part-050.zip repeats part-000.zip: remove it"]
    assert names(store) == ["part-000.zip", "part-001.zip"]


def test_part_may_still_be_on_its_way(parts, folder, store):
    """It is refused when it has not changed between two looks, and taken in when it is whole."""
    told = []
    intake = Intake(folder, store, told.append, arriving=True)
    data = parts[0].read_bytes()
    for size in (0, 5000, 10_000):
        (folder / parts[0].name).write_bytes(data[:size])
        assert intake.look() == 0 and told == []
    assert intake.look() == 0 and told == ["part-000.zip is cut or damaged: copy it again"]
    assert intake.look() == 0 and len(told) == 1
    send(parts[0], folder)
    assert intake.look() == 1 and len(told) == 1


def test_part_of_another_bundle_is_refused(parts, folder, store, tmp_path):
    folders(tmp_path)
    other = bundle(tmp_path, tmp_path / "other", replace(SMALL, seed=1))
    send(parts[0], folder)
    send(other[1], folder)
    told = []
    Intake(folder, store, told.append).look()
    cause = "part-001.zip is of another bundle than part-000.zip: move it to a folder of its own"
    assert told == [cause] and names(store) == ["part-000.zip"]


def test_damaged_part_leaves_the_store_as_it_was(parts, folder, store):
    """Its first shards are in order; nothing of them is kept by the next part."""
    send(parts[0], folder)
    told = []
    intake = Intake(folder, store, told.append)
    intake.look()
    before = store.samples(("noise", 16000)).read_bytes()
    path = send(parts[1], folder)
    data = bytearray(path.read_bytes())
    last = data.rindex(b"OggS", 0, data.rindex(b"PK\x01\x02"))
    data[last + 40] ^= 255
    path.write_bytes(data)
    intake.look()
    assert len(told) == 1 and told[0].startswith("part-001.zip is damaged (shard ")
    send(parts[2], folder)
    assert intake.look() == 1
    alone = DecodedParts(store.folder.parent / "alone", store.rates)
    for part in (parts[0], parts[2]):
        with BundlePart(part) as whole:
            alone.add(whole)
    for stream in store.streams:
        found = store.samples(stream).read_bytes()
        assert found == alone.samples(stream).read_bytes()
    assert found.startswith(before)


def test_full_disk_is_said_and_no_part_is_lost(parts, folder, store, monkeypatch):
    send(parts[0], folder)
    told = []

    def full(*_):
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(DecodedParts, "_write", full)
        Intake(folder, store, told.append).look()
    assert told == ["part-000.zip cannot be taken in (No space left on device): make room"]
    assert Intake(folder, store, told.append).look() == 1


def test_store_is_found_again(parts, store):
    for path in parts[:2]:
        with BundlePart(path) as part:
            assert store.add(part)
            assert not store.add(part)
    again = DecodedParts(store.folder, store.rates)
    assert again.found() == store.found()
    assert [again.lacks(), DecodedParts(store.folder / "other", store.rates).lacks()] == [
        "",
        "speech",
    ]
    store.samples(("speech", 16000)).write_bytes(b"")  # damaged: nothing is used
    assert DecodedParts(store.folder, store.rates).found() == {}


def test_part_that_is_damaged_does_not_take_the_samples_of_the_next(parts, store):
    """They arrived in another order, and the samples of both are gone."""
    for path in (parts[1], parts[0]):
        with BundlePart(path) as part:
            store.add(part)
    for stream in store.streams:
        store.samples(stream).write_bytes(b"")
    again = DecodedParts(store.folder, store.rates)
    with BundlePart(parts[0]) as part:
        again.add(part)
    assert names(DecodedParts(store.folder, store.rates)) == ["part-000.zip"]


def test_first_parts(parts, folder, store, tmp_path):
    with pytest.raises(QseError, match="no such folder"):
        first_parts(tmp_path / "missing", store, print)
    with pytest.raises(QseError, match="there is no part with speech; add parts"):
        first_parts(folder, store, print)
    for part in parts[:3]:
        send(part, folder)
    first_parts(folder, store, print, wait=True)
    assert names(store) == ["part-000.zip"]
    first_parts(folder, store, print)
    assert names(store) == ["part-000.zip", "part-001.zip", "part-002.zip"]


def test_first_part_is_waited_for(parts, folder, store, monkeypatch):
    """A part comes, cut, and is sent again; what is waited for is said once."""
    told = []
    looks = []

    def sleep(_):
        looks.append(1)
        assert len(looks) < 10
        if len(looks) == 2:
            cut(parts[0], folder / "part-000.zip")
        if len(looks) == 5:
            send(parts[0], folder)

    monkeypatch.setattr("qse.data.part_intake.time.sleep", sleep)
    first_parts(folder, store, told.append, wait=True)
    assert told == [
        f"waiting for a part with speech in {folder}",
        "part-000.zip is cut or damaged: copy it again",
    ]


def opened(store, schedule, told, **named):
    make = open_sources.mixing(MIX, 0, CPU, 0.0)
    return BundleSource(store, schedule, make, CPU, told.append, **named)


def add(store, path):
    with BundlePart(path) as part:
        store.add(part)


def test_batches_depend_on_the_step_and_the_parts_alone(parts, store, tmp_path):
    """Not on the order in which the parts came, nor on what was drawn before."""
    told = []
    schedule = PartSchedule(tmp_path / "parts.csv")
    add(store, parts[0])
    take_in(store, schedule, 0)
    source = opened(store, schedule, told, arrivals=list)
    batches = [source.batch(0, 4), source.batch(1, 4)]
    add(store, parts[2])
    add(store, parts[1])
    batches += [source.batch(1, 4, 1), source.batch(2, 4), source.batch(3, 4)]
    assert [row.step for row in schedule.rows()] == [0, 2, 2]
    assert [line.partition(":")[0] for line in told] == [
        "part-001.zip taken in",
        "part-002.zip taken in",
    ]

    other = DecodedParts(tmp_path / "other", store.rates)
    for path in (parts[1], parts[0], parts[2]):
        add(other, path)
    again = opened(other, schedule, told)
    for (step, rank), batch in zip([(0, 0), (1, 0), (1, 1), (2, 0), (3, 0)], batches, strict=True):
        expected = again.batch(step, 4, rank)
        assert torch.equal(batch.noisy, expected.noisy) and torch.equal(batch.clean, expected.clean)
    only = DecodedParts(tmp_path / "only", store.rates)
    add(only, parts[0])
    assert not torch.equal(opened(only, schedule, told).batch(3, 4).noisy, batches[-1].noisy)


def test_other_processes_follow_the_one_that_leads(parts, store, tmp_path):
    schedule = PartSchedule(tmp_path / "parts.csv")
    add(store, parts[0])
    take_in(store, schedule, 0)
    leads = opened(store, schedule, [], arrivals=list, margin=3)
    follows = opened(DecodedParts(store.folder, store.rates), PartSchedule(schedule.path), [])
    add(store, parts[1])
    leads.batch(4, 2)
    assert [row.step for row in schedule.rows()] == [0, 7]
    for step in (5, 6, 7):
        assert torch.equal(leads.batch(step, 2).noisy, follows.batch(step, 2).noisy)
        assert len(follows._identities) == (2 if step == 7 else 1)


def test_bundle_mixes_what_its_folders_hold(parts, store, tmp_path):
    """The corpora of all parts have the groups and the lengths of the folders."""
    folders(tmp_path)
    for path in parts:
        add(store, path)
    schedule = PartSchedule(tmp_path / "parts.csv")
    take_in(store, schedule, 0)
    made = {}

    def make(corpora):
        made.update(corpora)
        return open_sources.mixing(MIX, 0, CPU, 0.0)(corpora)

    BundleSource(store, schedule, make, CPU, print)
    speech = made["speech", 16000]
    assert speech.names == ("speech/p0", "speech/p1", "speech/p2")
    assert speech.lengths.tolist() == [4800] * 36
    assert torch.bincount(speech.groups).tolist() == [12, 12, 12]
    starts = np.sort(speech.starts.numpy())
    assert np.array_equal(starts, np.arange(36) * 4800)


def test_samples_are_extended_on_another_device(parts, store, tmp_path):
    """The copy on a device grows by the samples of new parts alone. Here it is the CPU under
    another name."""
    from qse.data.bundle_source import _Samples

    class Other:
        type = "other"

    samples = _Samples(store, CPU)
    add(store, parts[0])
    mapped = samples.corpus(("speech", 16000), list(store.found().values()))
    samples.device = Other()
    samples._copied["speech", 16000] = mapped.audio.clone()
    samples.device.type = "other"
    add(store, parts[1])
    copied = []
    original = torch.Tensor.to

    def to(tensor, device):
        copied.append(len(tensor))
        return original(tensor, CPU)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "to", to)
        patch.setattr(torch, "empty", lambda *_, **__: None)
        extended = samples.corpus(("speech", 16000), list(store.found().values()))
    assert len(copied) == 1 and copied[0] == len(extended.audio) - len(mapped.audio)
    expected = np.fromfile(store.samples(("speech", 16000)), np.int16)
    assert np.array_equal(extended.audio.numpy(), expected)


def test_damaged_schedule_is_named(tmp_path):
    path = tmp_path / "parts.csv"
    path.write_text("step,identity\nx,y\n")
    with pytest.raises(QseError, match=r"parts.csv is damaged"):
        PartSchedule(path).rows()


def test_deleted_store_is_decoded_again(parts, folder, store):
    send(parts[0], folder)
    first_parts(folder, store, print)
    shutil.rmtree(store.folder)
    again = DecodedParts(store.folder, store.rates)
    first_parts(folder, again, print)
    assert names(again) == ["part-000.zip"]


def test_a_copy_of_the_store_by_second_names_stays_as_it_is(parts, folder, store):
    send(parts[0], folder)
    Intake(folder, store, print).look()
    samples = store.samples(("speech", 16000))
    copy = folder.parent / "copy.int16"
    os.link(samples, copy)
    before = copy.read_bytes()
    send(parts[1], folder)
    Intake(folder, store, print).look()
    assert copy.read_bytes() == before and samples.read_bytes().startswith(before)
    assert samples.stat().st_size > len(before)


@pytest.mark.skipif(sys.platform != "linux", reason="names are any bytes on Linux alone")
def test_part_whose_name_is_not_utf8(parts, store, tmp_path):
    schedule = PartSchedule(tmp_path / "parts.csv")
    add(store, shutil.copyfile(parts[0], tmp_path / os.fsdecode(b"part-\xff.zip")))
    take_in(store, schedule, 0)
    assert [row.name for row in schedule.rows()] == ["part-\\udcff.zip"]
