"""Folders for results whose names nobody has given."""

import pytest
from qse_cli.found_folder import RUNS, found_folder

from qse.errors import QseError


@pytest.mark.parametrize("link", ["runs/evaluate", "runs/evaluate/name"])
def test_a_link_from_an_archive_is_not_followed(here, link):
    (here / "elsewhere").mkdir()
    (here / link).parent.mkdir(parents=True)
    (here / link).symlink_to(here / "elsewhere")
    with pytest.raises(QseError, match=f"{link} is a link: name a folder by --out"):
        found_folder(RUNS / "evaluate" / "name")


def test_a_folder_of_runs_on_another_disk(here):
    (here / "disk").mkdir()
    (here / "runs").symlink_to(here / "disk")
    assert found_folder(RUNS / "name") == RUNS / "name"


def test_train_without_a_folder(here, command):
    (here / "elsewhere").mkdir()
    (here / "runs").mkdir()
    (here / "runs/live-tiny").symlink_to(here / "elsewhere")
    status, _, said = command("train", "--recipe", "live-tiny", "--speech", ".", "--noise", ".")
    assert (
        status and "runs/live-tiny is a link" in said and not list((here / "elsewhere").iterdir())
    )
