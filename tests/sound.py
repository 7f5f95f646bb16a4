"""A sound system made of nothing: what sounddevice offers, with streams whose callbacks a test
calls by hand."""

from types import SimpleNamespace

import numpy as np

CLOCK = SimpleNamespace(currentTime=10.0, inputBufferAdcTime=9.97, outputBufferDacTime=10.02)
FLAGS = SimpleNamespace(input_overflow=False, output_underflow=False)
MICROPHONE = {
    "name": "Desk Microphone",
    "hostapi": 0,
    "max_input_channels": 1,
    "max_output_channels": 0,
}
HEADSET = {"name": "Headset", "hostapi": 0, "max_input_channels": 2, "max_output_channels": 2}
CABLE = {"name": "Virtual Cable", "hostapi": 1, "max_input_channels": 8, "max_output_channels": 8}


class Stream:
    """A stream that runs when the test says so."""

    def __init__(self, sound: "Sound", **wanted):
        self.sound = sound
        self.wanted = wanted
        self.latency = 0.02
        self.open = True
        sound.streams.append(self)

    def start(self) -> None:
        self.sound.started.append(self.wanted["device"])

    def abort(self, ignore_errors: bool) -> None:
        pass

    def close(self, ignore_errors: bool) -> None:
        self.open = False

    def give(self, block: np.ndarray, flags=FLAGS) -> None:
        """Give the callback a block (samples, channels), as the stream of a microphone does."""
        self.wanted["callback"](np.asarray(block, np.float32), len(block), CLOCK, flags)

    def take(self, flags=FLAGS) -> np.ndarray:
        """Fetch a block (samples, channels), as the stream of a loudspeaker does."""
        block = np.full((self.wanted["blocksize"], self.wanted["channels"]), np.nan, np.float32)
        self.wanted["callback"](block, len(block), CLOCK, flags)
        return block


class Sound:
    """Stands in for the module sounddevice."""

    class PortAudioError(Exception):
        pass

    def __init__(self, *entries: dict, rate: int = 16000, defaults: tuple[int, int] = (0, 1)):
        self.entries = list(entries)
        self.rate = rate
        self.default = SimpleNamespace(device=list(defaults))
        self.streams: list[Stream] = []
        self.started: list[int] = []
        self.scans = 0

    def query_devices(self) -> list[dict]:
        return [{"default_samplerate": float(self.rate), **entry} for entry in self.entries]

    def query_hostapis(self) -> list[dict]:
        return [{"name": "ALSA"}, {"name": "JACK"}]

    def InputStream(self, **wanted) -> Stream:
        return Stream(self, **{**wanted, "device": self._known(wanted["device"], 0)})

    def OutputStream(self, **wanted) -> Stream:
        return Stream(self, **{**wanted, "device": self._known(wanted["device"], 1)})

    def _known(self, device: int | None, direction: int) -> int:
        return self.default.device[direction] if device is None else device

    def _terminate(self) -> None:
        self.scans += 1

    def _initialize(self) -> None:
        pass
