"""Devices by id, by name and by default."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from sound import CABLE, HEADSET, MICROPHONE, Sound

from qse.live.devices import NoMicrophone, NoSound, devices, find, refuse_feedback
from qse.live.microphone import wait_for_microphone


def test_find_by_id_name_and_default():
    sound = Sound(MICROPHONE, HEADSET, CABLE)
    assert [device.id for device in devices(sound)] == [0, 1, 2]
    assert find(sound, "input").name == "Desk Microphone"
    assert find(sound, "output").name == "Headset"
    assert find(sound, "output", "2").name == find(sound, "output", "cable (j").name == "Virtual Cable"


@pytest.mark.parametrize("kind, wanted", [("input", "e"), ("input", "7"), ("output", "desk"), ("input", "nothing")])
def test_find_names_the_candidates(kind, wanted):
    with pytest.raises(NoSound, match=r"1 Headset \(ALSA\)") as caught:
        find(Sound(MICROPHONE, HEADSET, CABLE), kind, wanted)
    assert wanted in str(caught.value) and caught.value.status == 2


def test_find_prefers_equal_names_and_the_default_host():
    double = {**HEADSET, "name": "Headset Pro"}
    elsewhere = {**MICROPHONE, "hostapi": 1}
    sound = Sound(MICROPHONE, HEADSET, double, elsewhere)
    assert find(sound, "input", "headset").id == 1
    assert find(sound, "input", "desk").id == 0


def test_find_without_devices_says_what_to_install():
    with pytest.raises(NoSound, match=r"no microphone.*apt install.*dnf install.*brew install.*choco install"):
        find(Sound(defaults=(-1, -1)), "input")
    with pytest.raises(NoSound, match="no input device is marked as default; name one of: 0 Desk Microphone"):
        find(Sound(MICROPHONE, defaults=(-1, -1)), "input")


@pytest.mark.parametrize("output, loops", [("desk", True), ("headset", False)])
def test_an_input_that_hears_its_output_is_refused(output, loops):
    monitor = {**MICROPHONE, "name": "Monitor of Desk", "monitor": "desk"}
    sound = Sound(monitor, {**HEADSET, "pulse": output})
    input, speaker = devices(sound)
    with pytest.raises(NoSound, match=r"0 Monitor of Desk.*1 Headset.*--input") if loops else nullcontext():
        refuse_feedback(sound, [SimpleNamespace(device=input)], [SimpleNamespace(device=speaker)])


MONITOR = {**MICROPHONE, "name": "Monitor of Speakers", "monitor": "speakers"}


def test_a_monitor_is_no_default_input():
    """A sound server without a microphone offers what the speakers play."""
    sound = Sound(MONITOR, HEADSET)
    with pytest.raises(NoMicrophone, match=r"no microphone is connected.*0 Monitor of Speakers.*--input"):
        find(sound, "input")
    assert find(sound, "input", "monitor").id == 0
    assert find(sound, "input", "0").id == 0


def test_a_microphone_goes_before_the_monitor_of_its_headset():
    monitor = {**MONITOR, "name": "Monitor of Headset"}
    assert find(Sound(monitor, HEADSET, MICROPHONE), "input", "head").name == "Headset"


def test_a_microphone_is_waited_for(monkeypatch):
    class Server(Sound):
        def _initialize(self):
            self.looks += 1
            if self.looks == 2:
                self.entries[0] = MICROPHONE

    sound, said = Server(MONITOR, HEADSET), []
    sound.looks = 0
    monkeypatch.setattr("qse.live.microphone.sleep", lambda seconds: None)
    microphone = wait_for_microphone(sound, None, None, 0.02, said.append)
    assert microphone.device.name == "Desk Microphone"
    assert len(said) == 1
    assert "no microphone is connected" in said[0]
