"""Carry the subtitles of a video into another container, as they are or as texts that it holds."""

from .suffixes import MediaForm

TEXTS = ("subrip", "text", "ass", "ssa", "mov_text", "webvtt")  # which ffmpeg turns into each other
STYLED = ("ass", "ssa", "webvtt")  # with fonts, colours and places, which others lack


def name_options(kind: str, number: int, name: str) -> list[str]:
    """Return the options for the name of a track, none without one: MP4 holds it as handler_name,
    Matroska as title. kind: a, v or s."""
    if not name:
        return []
    place = f"-metadata:s:{kind}:{number}"
    return [place, f"handler_name={name}", place, f"title={name}"]


def subtitle_options(
    codings: tuple[str, ...], form: MediaForm, names: tuple[str, ...]
) -> list[str]:
    """Return the options for the subtitles of ffmpeg's first input, with their names and languages;
    pictures that a form does not hold are left out.

    codings, names: of the input, in its order.
    """
    options: list[str] = []
    count = 0
    for number, coding in enumerate(codings):
        is_held = coding in form.subtitles
        if is_held or (form.subtitles and coding in TEXTS):
            options += ["-map", f"0:s:{number}", f"-map_metadata:s:s:{count}", f"0:s:s:{number}"]
            options += [f"-c:s:{count}", "copy" if is_held else form.subtitles[0]]
            options += name_options("s", count, names[number])
            count += 1
    return options


def lost_subtitles(codings: tuple[str, ...], held: tuple[str, ...]) -> list[str]:
    """Return names for what the subtitles of a file lack, `held`, that those it is made from
    have."""
    if len(codings) > len(held):
        return ["subtitles"]
    pairs = zip(codings, held, strict=False)
    is_plain = any(coding in STYLED and coding != other for coding, other in pairs)
    return ["styles of subtitles"] if is_plain else []
