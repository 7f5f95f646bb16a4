"""Wait for a microphone before a session begins, as a service does that starts before a USB
microphone is there."""

from collections.abc import Callable
from contextlib import suppress
from time import sleep

from .devices import NoMicrophone
from .microphone import Microphone
from .protocols import SoundSystem

RETRY = 1.0  # seconds before each look at the devices


def awaited_microphone(
    sound: SoundSystem, make: Callable[[], Microphone], say: Callable[[str], object]
) -> Microphone:
    """Return the microphone that `make` finds; while there is none, look again, and `say` once what
    is missing.

    Raises NoSound if the sound system goes, or if a name was given that fits no input: it may be
    mistyped.
    """
    said = ""
    while True:
        try:
            return make()
        except NoMicrophone as error:
            if said != str(error):
                said = str(error)
                say(f"waiting for a microphone: {said}")
        sleep(RETRY)
        with suppress(sound.PortAudioError):  # nothing to end after a failed attempt
            sound._terminate()
        sound._initialize()  # the only way to a new list of devices
