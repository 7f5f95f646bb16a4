"""Parts that come from elsewhere: what is no whole part of a bundle is refused by name."""

import json
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

pytest.importorskip("torch")

from made_bundles import bundle, cut, folders

from qse.data import bundle_index
from qse.data.bundle_part import BundlePart, Refused


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    folders(folder, count=6)
    return bundle(folder, folder / "parts")[0]


def contents(path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def rewritten(part, target, change=None, compression=zipfile.ZIP_STORED, **files):
    """Write a part anew, with a changed index and with other files."""
    entries = contents(part)
    index = json.loads(entries["bundle.json"])
    if change:
        change(index)
    entries["bundle.json"] = json.dumps(index).encode()
    for name, data in files.items():
        entries[name.replace("_", ".")] = data
    with zipfile.ZipFile(target, "w", compression) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return target


def read_all(path):
    with BundlePart(path) as part:
        return [part.audio(number) for number in range(len(part.index.shards))]


def test_rewritten_part_is_read(part, tmp_path):
    """So that the refusals below are due to what is changed."""
    again = rewritten(part, tmp_path / "part-000.zip")
    for one, other in zip(read_all(part), read_all(again), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kept", [0, 1, 100, 10_000, -1])
def test_cut_part_is_refused(part, tmp_path, kept):
    path = tmp_path / "part-004.zip"
    path.write_bytes(part.read_bytes()[:kept])
    with pytest.raises(Refused, match=r"^part-004.zip is .*(cut|no part of a bundle)"):
        BundlePart(path)


def test_cut_part_is_told_from_a_foreign_file(part, tmp_path):
    cut(part, tmp_path / "part-001.zip")
    with pytest.raises(Refused, match=r"part-001.zip is cut or damaged: copy it again"):
        BundlePart(tmp_path / "part-001.zip")


def test_part_is_read_at_any_damage_or_refused(part, tmp_path):
    """No byte may be changed and lead to other samples, or to another exception."""
    data = part.read_bytes()
    expected = read_all(part)
    rng = np.random.default_rng(0)
    path = tmp_path / "part-000.zip"
    refused = 0
    for place in [
        *range(0, 60),
        *rng.integers(0, len(data), 60),
        *range(len(data) - 400, len(data), 5),
    ]:
        changed = bytearray(data)
        changed[place] ^= 1 << rng.integers(8)
        path.write_bytes(changed)
        try:
            found = read_all(path)
        except Refused as error:
            assert str(error).startswith("part-000.zip ")
            refused += 1
            continue
        assert all(map(np.array_equal, found, expected))
    assert refused > 100


@pytest.mark.parametrize("kind", ["text", "zip", "empty zip", "folder", "fifo"])
def test_foreign_file_is_refused(tmp_path, kind):
    path = tmp_path / "part-000.zip"
    if kind == "text":
        path.write_text("hello")
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        with zipfile.ZipFile(path, "w") as file:
            if kind == "zip":
                file.writestr("../evil.txt", "x")
    with pytest.raises(Refused, match=r"part-000.zip is no (part|regular)"):
        BundlePart(path)


def set_in(*places):
    """Return a function that changes the index at a place, the last of which is the value."""
    *path, last, value = places

    def change(index):
        for place in path:
            index = index[place]
        index[last] = value

    return change


RECORDING = ("shards", 0, "recordings", 0)


def repeat(index):
    """Name a recording once more: parts of some kB would take any space on the disk."""
    index["shards"][0]["recordings"].append(index["shards"][0]["recordings"][-1])


@pytest.mark.parametrize(
    "change",
    [
        set_in("format", "qse-bundle-2"),
        set_in("bundle", "../x"),
        set_in("part", -1),
        set_in("part", True),
        set_in("part", 1.0),
        set_in("shards", {}),
        set_in("shards", []),
        set_in("shards", 0, "kind", "music"),
        set_in("shards", 0, "sample_rate", 44100),
        set_in("shards", 0, "sample_rate", [16000]),
        set_in("shards", 0, "samples", 10**12),
        set_in("shards", 0, "samples", 16000 * 3600),  # of some kB
        set_in("shards", 0, "sha256", "0" * 63),
        set_in("shards", 0, "recordings", [[]]),
        repeat,
        set_in(*RECORDING, "start", -1),
        set_in(*RECORDING, "samples", 0),
        set_in(*RECORDING, "samples", 10**9),
        set_in(*RECORDING, "bandwidth", float("nan")),
        set_in(*RECORDING, "bandwidth", "8000"),
        set_in(*RECORDING, "name", 7),
        set_in(*RECORDING, "group", "g" * 2000),
    ],
)
def test_index_with_a_wrong_value_is_refused(part, tmp_path, change):
    path = rewritten(part, tmp_path / "part-000.zip", change)
    with pytest.raises(Refused, match=r"^part-000.zip is (cut or damaged|no part)"):
        BundlePart(path)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[]", "null", "{}", '{"format":"qse-bundle-1"}', ""]
)
def test_index_of_another_form_is_refused(text):
    with pytest.raises(ValueError):
        bundle_index.read(text)


def test_an_index_of_many_values_is_refused_before_it_is_parsed(monkeypatch):
    monkeypatch.setattr("json.loads", None)
    monkeypatch.setattr(bundle_index, "MOST_VALUES", 1000)
    with pytest.raises(ValueError, match="too many recordings"):
        bundle_index.read('{"format":"qse-bundle-1","shards":[' + "{}," * 1001 + "0]}")


def test_other_files_are_refused(part, tmp_path):
    """Whatever they are called: nothing of a part is unpacked."""
    for name in ("evil_txt", "../evil", "/etc/evil"):
        path = rewritten(part, tmp_path / "part-000.zip", **{name: b"x"})
        with pytest.raises(Refused, match="cut or damaged"):
            BundlePart(path)


def test_compressed_files_are_refused(part, tmp_path):
    """They could be of any size when they are read."""
    path = rewritten(part, tmp_path / "part-000.zip", compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(Refused, match="cut or damaged"):
        BundlePart(path)


def test_shard_of_another_content_is_refused(part, tmp_path):
    entries = contents(part)
    path = rewritten(part, tmp_path / "part-000.zip", **{"0000_opus": entries["0001.opus"]})
    with (
        BundlePart(path) as found,
        pytest.raises(Refused, match=r"part-000.zip is damaged \(shard 0"),
    ):
        found.audio(0)


def test_a_directory_or_a_file_of_any_size_is_not_read(part, tmp_path):
    """128 MiB, a hole on the disk, by the fields of the end and of the entry (APPNOTE 4.3)."""
    hole = 1 << 27
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, hole, 0, 0)
    (whole := tmp_path / "directory.zip").write_bytes(b"")
    os.truncate(whole, hole)
    with whole.open("ab") as file:
        file.write(end)

    name = b"bundle.json"
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, 0, 0, 33, 0, hole, 2, len(name), 0)
    fields = (b"PK\x01\x02", 20, 20, 0, 0, 0, 33, 0, hole, 2, len(name), 0, 0, 0, 0, 0, 0)
    entry = struct.pack("<4s6H3I5H2I", *fields) + name
    (index := tmp_path / "index.zip").write_bytes(local + name)
    os.truncate(index, start := 30 + len(name) + hole)
    with index.open("ab") as file:
        file.write(entry + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 1, 1, len(entry), start, 0))

    for path in (whole, index):
        tracemalloc.start()
        with pytest.raises(
            Refused, match=r"directory\.zip is no part|index\.zip is cut or damaged"
        ):
            BundlePart(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1 << 24


def test_names_are_never_paths(part, tmp_path):
    path = rewritten(part, tmp_path / "part-000.zip", set_in(*RECORDING, "name", "../../evil"))
    before = sorted(tmp_path.rglob("*"))
    read_all(path)
    assert sorted(tmp_path.rglob("*")) == before
