"""Say what is not the same in the tracks of a file that ffmpeg has made of another one."""

from .probe import Media

CLOSED = 1.0  # seconds; ffprobe's guess of the length is not exact
APART = 0.2  # seconds, of tracks that began together: more than the delay of an encoder


def changed(media: Media, result: Media, enhanced: set[int], closes_jumps: bool) -> list[str]:
    """Return what the tracks of the result lack that they had, or when they begin or end instead.

    enhanced: numbers of those that begin with silence, where they began later. closes_jumps: see
    `Inspection`.
    """
    lost = [*_lost(media, result), *displaced(media, result, enhanced)]
    return lost + (_left_out(media, result) if closes_jumps else [])


def displaced(media: Media, result: Media, enhanced: set[int]) -> list[str]:
    """Return which tracks of the result begin at other times than before. enhanced: numbers of
    those that begin with silence, where they began later."""
    found = []
    for number, (track, other) in enumerate(zip(media.tracks, result.tracks, strict=False)):
        begin = 0.0 if number in enhanced else track.begin
        if abs(other.begin - begin) > APART:
            found.append(f"the begin of track {number + 1}, {other.begin - begin:+.2f} s away")
    if result.pictures and abs(result.shown_from - media.shown_from) > APART:
        found.append(
            f"the begin of the picture, {result.shown_from - media.shown_from:+.2f} s away"
        )
    return found


def _left_out(media: Media, result: Media) -> list[str]:
    """Return that less of the pictures is there, where ffmpeg has closed a jump of their times."""
    missing = media.shown_until - result.shown_until if result.pictures else 0.0
    return [f"the time of its pictures, {missing:.2f} s of it"] if missing > CLOSED else []


def _lost(media: Media, result: Media) -> list[str]:
    """Return what some track of the result lacks that it had: sample rate, positions of its
    channels, name, language."""
    lost = {}
    pictures = (media.picture_names, result.picture_names)
    subtitles = (media.subtitle_names, result.subtitle_names)
    for before, after in (pictures, subtitles):
        if any(name and name != other for name, other in zip(before, after, strict=False)):
            lost["name of a track"] = True
    for track, other in zip(media.tracks, result.tracks, strict=False):
        if other.sample_rate < track.sample_rate:
            lost[f"sample rate of {track.sample_rate} Hz, now {other.sample_rate} Hz"] = True
        if track.channels > 2 and track.positions not in ("", other.positions):
            lost["channel positions"] = True
        if track.name and track.name != other.name:
            lost["name of a track"] = True
        if track.tags.get("language", "und") not in ("und", other.tags.get("language")):
            lost["language of a track"] = True
    return list(lost)
