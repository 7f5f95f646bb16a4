"""Names that are not UTF-8, and tables with long fields."""

import os
import sys
from pathlib import Path

import pytest
from evaluation_files import write
from speech import voice

from qse.errors import QseError
from qse.evaluate.report import _table, read_groups
from qse.evaluate.store import Store, read_rows


@pytest.mark.skipif(sys.platform != "linux", reason="names are text")
def test_length_of_a_file_whose_name_is_not_utf_8(tmp_path):
    from qse.data.recordings import length_and_rate

    path = write(tmp_path / "a.wav", voice(1.0))
    path = path.rename(tmp_path / os.fsdecode(b"\xff.wav"))
    assert length_and_rate(path)[1] == 16000


def test_scores_of_such_a_name_come_back(tmp_path):
    name = os.fsdecode(b"a\xff") if sys.platform != "win32" else "a"
    store = Store(tmp_path, ["name", "stamp", "stoi"], {}, {name: "1"})
    store.add({"name": name, "stamp": "1", "stoi": 0.5})
    assert read_rows(tmp_path / "scores.csv") == store.rows
    assert Store(tmp_path, ["name", "stamp", "stoi"], {}, {name: "1"}).rows == store.rows


def test_table_with_a_long_field(tmp_path):
    (tmp_path / "groups.csv").write_text("utterance\tnoise\n" + "a" * 200_000 + "\tx\n")
    with pytest.raises(QseError, match="cannot be read as a table"):
        _table(tmp_path / "groups.csv")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs such a device")
def test_groups_are_not_read_from_a_device():
    with pytest.raises(QseError, match="/dev/zero cannot be read: it is no regular file"):
        read_groups(Path("/dev/zero"), "noise")
