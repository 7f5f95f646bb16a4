"""Recognise metadata that describe the loudness of the samples, which no longer hold after
enhancement."""

import re
from typing import Literal

NAMES = re.compile(
    r"(replaygain_|r128_(track|album)_gain|mp3gain_|itunnorm|loudness|(album )?dynamic range)",
    re.IGNORECASE,
)
XML = re.compile(  # in iXML, in axml
    rb"\s*<(LOUDNESS|loudnessMetadata)\b[^>]*(?:/>|>.*?</\1>)", re.DOTALL
)
BEXT_VERSION = slice(346, 348)  # EBU Tech 3285, version 2
BEXT_LOUDNESS = slice(412, 422)  # five numbers of 16 bits
UNSET = 0x7FFF  # the number is not used


def is_loudness(name: str) -> bool:
    """Return whether a tag of this name, in any case, states a loudness, a gain or a peak."""
    return NAMES.match(name) is not None


def without_loudness_xml(body: bytes) -> bytes:
    """Return an iXML or axml document without its loudness elements; the rest byte by byte."""
    return XML.sub(b"", body)


def without_bext_loudness(body: bytes, order: Literal["little", "big"] = "little") -> bytes:
    """Return a bext chunk whose loudness numbers are marked as not used.

    order: of the bytes of a number, that of the container: RIFX has "big".
    """
    version = int.from_bytes(body[BEXT_VERSION], order)
    numbers = body[BEXT_LOUDNESS]
    if version < 2 or len(numbers) < 10 or not any(numbers):
        return body
    unset = 5 * UNSET.to_bytes(2, order)
    return body[: BEXT_LOUDNESS.start] + unset + body[BEXT_LOUDNESS.stop :]
