"""The files of an unfinished evaluation, damaged."""

import json

import pytest

pytest.importorskip("torch")

from qse.errors import QseError
from qse.evaluate.store import Store, read_rows

COLUMNS = ["name", "stamp", "stoi", "error"]
SETTINGS = {"system": "x"}
SCORES = "name,stamp,stoi,error\na,1,0.9,\nb,1,0.8,\n"


def reopened(folder, scores: bytes, settings: bytes) -> Store:
    (folder / "scores.csv").write_bytes(scores)
    (folder / "settings.json").write_bytes(settings)
    return Store(folder, COLUMNS, SETTINGS, {"a": "1", "b": "2"})


def test_store_continues_with_rows_of_the_same_stamp(tmp_path):
    assert [
        row["name"]
        for row in reopened(tmp_path, SCORES.encode(), json.dumps(SETTINGS).encode()).rows
    ] == ["a"]


@pytest.mark.parametrize(
    "scores", [b"", b"\xff\xfe", b"name,stamp,stoi\na,1,x\n", b"stoi\n0.5\n", b"name,other\na,2\n"]
)
def test_store_names_a_damaged_table(tmp_path, scores):
    with pytest.raises(QseError, match=r"scores\.csv .*: name another folder, or delete this one"):
        reopened(tmp_path, scores, json.dumps(SETTINGS).encode())


@pytest.mark.parametrize("settings", [b"", b"{", b"\xff", b"[]", b"[" * 100_000])
def test_store_names_damaged_settings(tmp_path, settings):
    with pytest.raises(
        QseError,
        match=r"settings\.json is damaged .*: name another folder, or delete this one",
    ):
        reopened(tmp_path, SCORES.encode(), settings)


@pytest.mark.parametrize("name", ["=1+1", "@a", "-a", "+a", "'=a", "'a", "plain"])
def test_no_name_is_a_formula_in_a_spreadsheet(tmp_path, name):
    store = Store(tmp_path, COLUMNS, SETTINGS, {name: "1", "other": "2"})
    store.add({"name": name, "stamp": "1", "stoi": 0.5})
    for _ in range(2):  # appended, then written again
        line = (tmp_path / "scores.csv").read_text().splitlines()[1]
        assert not line.startswith(("=", "@", "-", "+"))
        again = Store(tmp_path, COLUMNS, SETTINGS, {name: "1", "other": "2"})
        assert [row["name"] for row in again.rows] == [name]
        again.write(again.rows)


PICTURES = ["spectrograms.png", "histogram-stoi.png", "worst-stoi.png"]


@pytest.mark.parametrize("name", ["settings.json", "summary.json", "summary.md", *PICTURES])
def test_files_of_others_are_not_replaced(tmp_path, name):
    (tmp_path / name).write_text('{"mine": 1}')
    with pytest.raises(QseError, match=r"is there without scores\.csv .*: name another folder"):
        Store(tmp_path, COLUMNS, SETTINGS, {"a": "1"})
    assert [path.read_text() for path in tmp_path.iterdir()] == ['{"mine": 1}']


def test_store_continues_where_only_its_settings_were_written(tmp_path):
    Store(tmp_path, COLUMNS, SETTINGS, {"a": "1"}).begin()
    (tmp_path / "scores.csv").unlink()
    assert Store(tmp_path, COLUMNS, SETTINGS, {"a": "1"}).rows == []


def test_store_keeps_what_is_there_until_the_first_row(tmp_path):
    """An evaluation of changed files may fail before it begins."""
    store = Store(tmp_path, COLUMNS, SETTINGS, {"a": "1"})
    store.add({"name": "a", "stamp": "1"})
    (tmp_path / "summary.json").write_text("{}")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    again = Store(tmp_path, COLUMNS, SETTINGS, {"a": "2"})
    assert again.rows == [] and {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    again.add({"name": "a", "stamp": "2"})
    assert read_rows(tmp_path / "scores.csv") == [{"name": "a", "stamp": "2"}]
    assert not (tmp_path / "summary.json").exists()
