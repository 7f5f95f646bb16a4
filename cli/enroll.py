"""qse enroll: describe a talker's voice for a model that keeps one talker."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qse.errors import QseError

from .options import Overwrite, chosen_model, named_model
from .streams import say, tell

if TYPE_CHECKING:
    from qse.runtime.enrolment import Enrolment

SECONDS = 15.0  # of a recording from the microphone
TEXT = """\
Read this aloud, as you usually speak, without haste:

    Most mornings the ferry leaves the old harbour at half past seven. I buy a coffee, look for a
    dry seat, and watch how the grey water becomes blue. Six minutes later somebody asks me, as
    every day, whether this boat goes to the island. Yes, I say, and it goes back as well.
"""


def enroll(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The voice, as me.voice.")
    ],
    recording: Annotated[
        Path | None,
        typer.Argument(metavar="RECORDING", help="Speech of the talker. [default: microphone]"),
    ] = None,
    model: Annotated[str | None, named_model("live-talker")] = None,
    input: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="Microphone: id or part of its name.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Describe a voice, so that --talker FILE keeps it and removes other voices.

    5 to 20 s of one talker in a quiet room are enough. The file is for this model alone. It is
    biometric: it can be read by you alone, no program sends it anywhere, and deleting it is all
    that is needed.
    """
    from qse.audio.writer import check_target
    from qse.runtime.enrolment import NEAR
    from qse.runtime.enrolment import enroll as from_file
    from qse.runtime.voice import SUFFIX
    from qse.runtime.zoo import find

    if output.suffix != SUFFIX:
        raise QseError(f"{output}: the name of a voice ends in {SUFFIX}, as me{SUFFIX}")
    check_target(output, overwrite)
    folder = find(chosen_model(model, NEAR, "")).parent
    found = from_file(recording, folder) if recording else _from_microphone(input, folder)
    found.voice.save(output, overwrite)
    for doubt in found.doubts():
        say(f"qse: warning: {doubt}")
    voice = found.voice
    level = f"{found.snr:.0f} dB above the noise"
    tell(f"{output}: {found.seconds:.1f} s of speech, {level}; {voice.model} {voice.version}")


def _from_microphone(input: str | None, folder: Path) -> "Enrolment":
    """Record the talker, who reads TEXT, and enroll the recording, which is not kept."""
    import numpy as np

    from qse.live.microphone import Microphone
    from qse.live.sound_system import sound_system
    from qse.runtime.enrolment import enroll_sound
    from qse.runtime.zoo import WIDE_BAND

    microphone = Microphone(sound_system(False), input, None, 0.1)
    say(TEXT)
    say(f"Recording {microphone.name} for {SECONDS:g} s ...")
    parts = []
    seconds = 0.0
    microphone.start(WIDE_BAND)
    try:
        for block in microphone.blocks():
            parts.append(microphone.convert(block)[:, 0].copy())
            seconds += len(parts[-1]) / WIDE_BAND
            if seconds >= SECONDS:
                break
    finally:
        microphone.close()
    return enroll_sound(np.concatenate(parts), WIDE_BAND, folder, microphone.name)
