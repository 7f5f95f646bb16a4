"""Write examples/sounds: a noisy recording and what each installed model makes of it, as sounds and
spectrograms, on a page that plays them.

    python tools/sound_page.py [--to examples/sounds]

The recording is assets/noisy-48k.flac, which holds a synthetic voice and generated noise.
"""

import argparse
from html import escape
from pathlib import Path

import numpy as np
import soundfile
from PIL import Image

import qse
from qse.audio.atomic_write import atomic_path, write_text
from qse.audio.folder_path import make_folder
from qse.audio.writer import write_samples
from qse.evaluate.plot import plot_spectrograms

NOISY = Path(__file__).parents[1] / "assets/noisy-48k.flac"
ORDER = ("live-tiny", "live-base", "live-large", "studio-base", "studio-large")
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>qse: sounds</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; }}
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
img, audio {{ display: block; width: 100%; }}
h2 {{ margin: 2rem 0 0.5rem; }}
</style>
<h1>Before and after</h1>
<p>A synthetic voice in generated noise, and what each model of qse {version} makes of it, at
48 kHz. The live models are for calls, the studio models, which look 200 ms ahead, for
recordings.</p>
{parts}
</html>
"""
PART = """<h2>{title}</h2>
<audio controls preload="metadata" src="{name}.ogg"></audio>
<img src="{name}.png" alt="Spectrogram of {title}" loading="lazy">
"""


def write_sound(folder: Path, name: str, title: str, audio: np.ndarray, rate: int) -> str:
    """Write NAME.ogg and NAME.png of (samples,) into `folder`; return their part of the page."""
    with atomic_path(folder / f"{name}.ogg", source=None) as part:
        write_samples(part, audio, rate, format="OGG", subtype="VORBIS")
    picture = folder / f"{name}.png"
    plot_spectrograms([(title, audio, rate)], picture, None)
    with Image.open(picture) as drawn:
        small = drawn.convert("RGB").quantize(64, method=Image.Quantize.MAXCOVERAGE)
    with atomic_path(picture, source=None) as part:
        small.save(part, "PNG", optimize=True)
    return PART.format(name=name, title=escape(title))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--to", type=Path, default=NOISY.parents[1] / "examples/sounds")
    parser.add_argument("--models", nargs="+", default=ORDER)
    options = parser.parse_args(arguments)
    make_folder(options.to)
    noisy, rate = soundfile.read(NOISY, dtype="float32")
    parts = [write_sound(options.to, "noisy", "before", noisy, rate)]
    for name in options.models:
        enhanced = qse.denoise(noisy, rate, name, threads=None)
        parts.append(write_sound(options.to, name, f"after {name}", enhanced, rate))
    page = PAGE.format(version=qse.__version__, parts="\n".join(parts))
    write_text(options.to / "index.html", page, source=None)


if __name__ == "__main__":
    main()
