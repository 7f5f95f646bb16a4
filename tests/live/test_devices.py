"""Devices by id, by name and by default."""

from contextlib import nullcontext
from types import SimpleNamespace
from unicodedata import normalize

import pytest
from sound import CABLE, HEADSET, MICROPHONE, Sound

from qse.live import microphone_wait
from qse.live.devices import NoMicrophone, NoSound, devices, find, refuse_feedback
from qse.live.microphone import Microphone
from qse.live.microphone_wait import awaited_microphone

CABLE_OUT = {**CABLE, "max_input_channels": 0}


def test_find_by_id_name_and_default():
    sound = Sound(MICROPHONE, HEADSET, CABLE)
    assert [device.id for device in devices(sound)] == [0, 1, 2]
    assert find(sound, "input").name == "Desk Microphone"
    assert find(sound, "output").name == "Headset"
    assert (
        find(sound, "output", "2").name == find(sound, "output", "cable (j").name == "Virtual Cable"
    )


@pytest.mark.parametrize(
    "kind, wanted", [("input", "e"), ("input", "7"), ("output", "desk"), ("input", "nothing")]
)
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


MONITOR = {**MICROPHONE, "name": "Monitor of Desk (desk.monitor)", "monitor": "desk"}
BY_NAME = {**MICROPHONE, "name": "Monitor of Desk"}  # as PortAudio lists one


@pytest.mark.parametrize("monitor", [MONITOR, BY_NAME])
def test_find_takes_a_monitor_only_by_name(monitor):
    sound = Sound(monitor, HEADSET)
    with pytest.raises(NoMicrophone, match=r"Monitor of Desk .*is no microphone: .*another input"):
        find(sound, "input")
    for wanted in ("0", "monitor of desk", monitor["name"]):
        assert find(sound, "input", wanted).monitored.lower().startswith("desk")
    with pytest.raises(NoSound, match="'desk' matches no input device"):
        find(sound, "input", "desk")
    with pytest.raises(NoMicrophone, match="there is no microphone"):
        find(Sound(monitor, CABLE_OUT, defaults=(-1, 1)), "input")


def test_find_prefers_the_microphone_to_the_monitor_of_the_same_device():
    sound = Sound(MONITOR, {**MICROPHONE, "name": "Desk (desk_mic)"}, HEADSET)
    assert find(sound, "input", "desk").id == 1


def test_microphone_is_awaited(monkeypatch):
    monkeypatch.setattr(microphone_wait, "RETRY", 0.001)
    sound = Sound(MONITOR, HEADSET)
    said = []

    def initialize():
        if sound.scans == 3:
            sound.entries[0] = MICROPHONE

    sound._initialize = initialize
    found = awaited_microphone(sound, lambda: Microphone(sound, None, None, 0.01), said.append)
    assert found.name == "0 Desk Microphone (ALSA)" and sound.scans == 3
    assert len(said) == 1 and said[0].startswith(
        "waiting for a microphone: the default input 0 Monitor of Desk"
    )


def test_find_without_devices_says_what_to_install():
    with pytest.raises(
        NoSound, match=r"no microphone.*apt install.*dnf install.*brew install.*choco install"
    ):
        find(Sound(defaults=(-1, -1)), "input")
    with pytest.raises(
        NoSound, match="no input device is marked as default; name one of: 0 Desk Microphone"
    ):
        find(Sound(MICROPHONE, defaults=(-1, -1)), "input")


@pytest.mark.parametrize("output, loops", [("desk", True), ("headset", False)])
def test_an_input_that_hears_its_output_is_refused(output, loops):
    monitor = {**MICROPHONE, "name": "Monitor of Desk", "monitor": "desk"}
    sound = Sound(monitor, {**HEADSET, "pulse": output})
    input, speaker = devices(sound)
    with (
        pytest.raises(NoSound, match=r"0 Monitor of Desk.*1 Headset.*a microphone as input")
        if loops
        else nullcontext()
    ):
        refuse_feedback(sound, [SimpleNamespace(device=input)], [SimpleNamespace(device=speaker)])


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_are_compared_as_composed_letters(form):
    name = normalize(form, "Mikrofon für Besprechungen")
    sound = Sound({**MICROPHONE, "name": name}, HEADSET)
    for typed in ("NFC", "NFD"):
        assert find(sound, "input", normalize(typed, "FÜR")).name == name
