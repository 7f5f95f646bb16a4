"""JACK, of which PortAudio asks for devices, uses nothing of another user."""

import os
import stat
import sys

import pytest

from qse.live import jack, sound_system
from qse.live.devices import NoSound

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names of Linux")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a folder that is open to all in the place of /dev/shm."""
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(jack, "PLACE", tmp_path)
    monkeypatch.delenv(jack.SERVER, raising=False)
    monkeypatch.setitem(sys.modules, "sounddevice", None)  # is not to be imported
    yield tmp_path
    os.environ.pop(jack.SERVER, None)


def test_data_base_is_private(place):
    jack.keep_from_others()
    data = place / f"jack_db-{os.getuid()}"
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    jack.keep_from_others()


@pytest.mark.parametrize("kind", ["open to all", "link", "of another user"])
def test_data_base_of_others_is_refused(place, kind):
    data = place / f"jack_db-{os.getuid()}"
    if kind == "link":
        data.symlink_to(place)
    else:
        data.mkdir()
        data.chmod(0o777 if kind == "open to all" else 0o700)
    if kind == "of another user":
        if os.geteuid():
            pytest.skip("needs root for chown")
        os.chown(data, 12345, 12345)
    with pytest.raises(NoSound, match="another user could let JACK"):
        sound_system.sound_system(portaudio=True)


def test_server_that_another_user_could_name_is_not_asked(place):
    jack.keep_from_others()
    name = os.environ[jack.SERVER]
    assert len(name) > 16
    os.environ.pop(jack.SERVER)
    jack.keep_from_others()
    assert os.environ[jack.SERVER] != name


def test_server_of_the_user_is_asked(place):
    (place / f"jack_default_{os.getuid()}_0").touch()
    jack.keep_from_others()
    assert jack.SERVER not in os.environ
