"""Read texts of tags that are not UTF-8, as programs for Windows wrote them into ID3v1 and WAV.

ffmpeg copies their bytes, also into formats that hold nothing but UTF-8.
"""

LONGEST = 1 << 15  # characters that fit into a command line


def from_bytes(text: bytes, coding: str = "utf-8") -> str:
    """Return a text that is in this coding, or Windows-1252 otherwise."""
    try:
        return text.decode(coding)
    except UnicodeDecodeError:
        return text.decode("cp1252", "replace")


def readable(tags: dict[str, str]) -> dict[str, str]:
    """Return tags that were decoded with `surrogateescape`, with names and texts that are read."""
    return {_readable(name): _readable(text) for name, text in tags.items()}


def recoded(tags: dict[str, str]) -> dict[str, str]:
    """Return those of such tags whose texts were not UTF-8, as they are read."""
    return {_readable(name): _readable(text) for name, text in tags.items() if _is_raw(text)}


def recoded_options(tags: dict[str, str], option: str = "-metadata") -> list[str]:
    """Return the options with which ffmpeg writes these texts; those that are too long for a
    command line, together with others, are left out.

    option: of the place to which they go.
    """
    options = []
    left = LONGEST
    for name, text in tags.items():
        left -= len(text)
        options += [option, f"{name}={text if left >= 0 else ''}"]
    return options


def _is_raw(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _readable(text: str) -> str:
    return from_bytes(text.encode("utf-8", "surrogateescape")) if _is_raw(text) else text
