"""Choose the system that opens audio devices: the sound server on Linux, PortAudio elsewhere.

PortAudio reaches a sound server through ALSA's PulseAudio plugin, and does not always return from
closing a stream whose device vanished: its thread repeats an error for ever. The server's own
programs can be ended at any time.
"""

import sys
from contextlib import suppress
from typing import cast

from . import jack
from .devices import NoSound
from .protocols import SoundSystem
from .pulse_server import NoServer
from .pulse_system import PulseSystem

LIBRARY = (
    "install PortAudio with `apt install libportaudio2` (Debian, Ubuntu), `dnf install portaudio`"
    " (Fedora), `brew install portaudio` (macOS) or `pip install --force-reinstall sounddevice`"
    " (Windows); where PulseAudio or PipeWire runs, the package pulseaudio-utils is enough"
)


def sound_system(portaudio: bool = False) -> SoundSystem:
    """Return the sound server's devices if one answers on Linux, else those of PortAudio;
    `portaudio`: always those.

    Raises NoSound if neither is there, or if the server does not answer.
    """
    if sys.platform == "linux" and not portaudio:
        with suppress(NoServer):
            return PulseSystem()
    return _portaudio()


def _portaudio() -> SoundSystem:
    """Import and return sounddevice. Raises NoSound if it or PortAudio cannot be loaded, or if
    others could let it write into files."""
    if sys.platform == "linux":
        jack.keep_from_others()
    try:
        import sounddevice
    except ImportError as error:
        raise NoSound(
            "the Python package sounddevice is missing: `pip install sounddevice`"
        ) from error
    except OSError as error:
        raise NoSound(f"the PortAudio library was not found: {LIBRARY}") from error
    except Exception as error:  # PortAudioError, of the module that could not be imported
        raise NoSound(f"PortAudio cannot start: {error}; is a sound server running?") from error
    return cast(SoundSystem, sounddevice)
