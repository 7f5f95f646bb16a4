"""The options of qse live, in groups."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from .options import Band, Overwrite, Strength, Who, named_model, number

Input = Annotated[
    str | None, typer.Option(metavar="DEVICE", help="Microphone: id or part of its name.")
]
Channel = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Hear only channel N of the microphone. [default: mix 1 and 2]"
    ),
]
Output = Annotated[
    str | None, typer.Option(metavar="DEVICE", help="Output: id or part of its name.")
]
List = Annotated[bool, typer.Option("--list", help="List the devices and exit.")]
Virtual = Annotated[
    bool,
    typer.Option(
        "--virtual", help="Create a virtual microphone for other programs while this runs (Linux)."
    ),
]
VirtualSpeaker = Annotated[
    bool,
    typer.Option(
        "--virtual-speaker",
        help="Create a virtual output, and clean what other programs play there (Linux).",
    ),
]
Name = Annotated[
    str, typer.Option(metavar="NAME", help="Name of the virtual device, for a second one.")
]
RemoveVirtual = Annotated[
    bool,
    typer.Option(
        "--remove-virtual", help="Remove the virtual devices that a crashed run left, and exit."
    ),
]
PortAudio = Annotated[
    bool,
    typer.Option(
        "--portaudio", help="Use PortAudio (ALSA, JACK) although a sound server runs (Linux)."
    ),
]
Monitor = Annotated[
    bool | None, typer.Option(help="Also play on the default output; --no-monitor never does.")
]
Reconnect = Annotated[
    bool, typer.Option(help="Wait for a device that vanishes, and open it again.")
]
From = Annotated[
    Path | None, typer.Option("--from", metavar="FILE", help="Read a file, not a microphone.")
]
To = Annotated[
    Path | None, typer.Option("--to", metavar="FILE", help="Write a file instead of playing.")
]
Fast = Annotated[
    bool, typer.Option("--as-fast-as-possible", help="File to file, not in real time.")
]
Record = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Record noisy (left), enhanced (right).")
]
Model = Annotated[str | None, named_model("live-base")]
Latency = Annotated[
    float | None,
    typer.Option(
        min=0,
        metavar="MS",
        callback=number,
        help="Use the best model that delays by at most MS milliseconds.",
    ),
]
Bypass = Annotated[bool, typer.Option("--bypass", help="Begin with the noisy signal.")]
Threads = Annotated[int, typer.Option(min=1, metavar="N", help="Threads of the model.")]
Blocksize = Annotated[
    int | None,
    typer.Option(
        min=16, max=1 << 14, metavar="N", help="Samples per block. [default: a hop or 10 ms]"
    ),
]
Buffer = Annotated[
    float,
    typer.Option(
        min=1,
        max=500,
        metavar="MS",
        callback=number,
        help="Output buffer: larger = fewer dropouts, more latency.",
    ),
]
Plain = Annotated[
    bool, typer.Option("--plain", help="Print one line a second instead of a screen.")
]
Every = Annotated[
    int,
    typer.Option(
        min=1, metavar="S", help="With --plain, print a line every S seconds and at changes."
    ),
]


@dataclass(frozen=True)
class Devices:
    """The devices to record from and to play on."""

    input: Input = None
    channel: Channel = None
    output: Output = None
    list_: List = False
    virtual: Virtual = False
    virtual_speaker: VirtualSpeaker = False
    name: Name = ""
    remove_virtual: RemoveVirtual = False
    portaudio: PortAudio = False
    monitor: Monitor = None
    reconnect: Reconnect = True


@dataclass(frozen=True)
class Files:
    """Files in the place of devices, and the recording."""

    from_: From = None
    to: To = None
    fast: Fast = False
    record: Record = None
    overwrite: Overwrite = False


@dataclass(frozen=True)
class Processing:
    """The model, and what it does."""

    model: Model = None
    talker: Who = None
    latency: Latency = None
    band: Band = None
    strength: Strength = None
    bypass: Bypass = False
    threads: Threads = 1


@dataclass(frozen=True)
class Timing:
    """Blocks and buffers."""

    blocksize: Blocksize = None
    buffer: Buffer = 20.0


@dataclass(frozen=True)
class Display:
    """The display on the terminal."""

    plain: Plain = False
    every: Every = 1
