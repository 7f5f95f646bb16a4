"""Commands that write several files into a folder, where another user has planted links."""

import os
from pathlib import Path

import pytest

from qse.errors import QseError
from qse.model_folder import CHECKSUMS
from qse.runtime.zoo import seal
from qse.web.site import write_site


@pytest.fixture
def planted(tmp_path):
    """A folder that all can write, and a function that plants a link of another user in it."""
    if not hasattr(os, "geteuid") or os.geteuid():
        pytest.skip("needs root for chown")
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    precious = tmp_path / "precious"
    precious.write_text("precious")

    def plant(name: str) -> Path:
        link = folder / name
        link.symlink_to(precious)
        os.chown(link, 12345, 12345, follow_symlinks=False)
        return link

    yield folder, plant
    assert precious.read_text() == "precious"


def test_site_does_not_follow_the_link_of_another_user(planted):
    folder, plant = planted
    site = {"manifest.json": b'{"version": 1, "offline": 1, "models": 1}', "index.html": b"page"}
    write_site(site, folder)
    (folder / "index.html").unlink()
    plant("index.html")
    with pytest.raises((QseError, OSError), match="another user"):
        write_site(site, folder)


def test_checksums_do_not_follow_the_link_of_another_user(planted):
    folder, plant = planted
    plant(CHECKSUMS)
    with pytest.raises((QseError, OSError), match="another user"):
        seal(folder)


def test_picture_does_not_follow_the_link_of_another_user(planted):
    pytest.importorskip("matplotlib")
    from qse.evaluate.plot import _figure, _save

    _, plant = planted
    link = plant("picture.png")
    with pytest.raises((QseError, OSError), match="another user"):
        _save(_figure(1, 1), link)
