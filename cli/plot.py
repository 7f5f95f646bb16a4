"""qse plot: draw spectrograms of audio files, one above the other, in one colour scale."""

from pathlib import Path
from typing import Annotated

import typer

from .options import Overwrite
from .streams import say


def plot(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE", help="Audio files, from top to bottom, one panel per channel."
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="PNG", help="The picture.")
    ] = Path("spectrograms.png"),
    titles: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Comma-separated titles. [default: file names]"),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw the spectrograms of audio files one above the other, up to half their sample rate."""
    from qse.audio.file_mode import Sources
    from qse.audio.writer import check_target
    from qse.data.recordings import damage_noticed, read_channels
    from qse.errors import UsageError
    from qse.evaluate.plot import plot_spectrograms

    check_target(output, overwrite)
    names = titles.split(",") if titles else [file.name for file in files]
    if len(names) != len(files):
        raise UsageError(f"{len(names)} titles for {len(files)} files: give one for each")
    signals = []
    source = Sources(files)
    for name, file in zip(names, files, strict=True):
        with damage_noticed() as damage, source:
            audio, sample_rate = read_channels(file)
        for text in damage:
            say(f"qse: warning: {text}")
        several = len(audio) > 1
        for number, channel in enumerate(audio, 1):
            signals.append((name.strip() + several * f", channel {number}", channel, sample_rate))
    plot_spectrograms(signals, output, source, overwrite)
    say(f"written to {output}")
