"""Place the samples that ffmpeg decodes in time, and say what it puts in or leaves out for that."""

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .probe import Track

if TYPE_CHECKING:
    from .inspection import Inspection

# the parts of ffmpeg that speak; tags and names of files may hold the same words, further on
BEGIN = rb"(?m:^)(?:\[[^]\n]* @ [0-9a-fx]+\] )*"
LEVEL = re.compile(BEGIN + rb"\[(?:error|fatal|panic)\] ")
# of libswresample, which fills gaps between time stamps, and cuts what overlaps
FILLED = re.compile(BEGIN + rb"\[verbose\] (adding|discarding) (\d+) audio samples")
PIECE = 16384  # samples of silence that it puts in at a time
MOST_FILLED = 4 * 3600  # seconds of silence in gaps between time stamps
FAR = f"its time stamps jump over more than {MOST_FILLED // 3600} hours of silence"
CHANGED = "its channels or its sample rate change within it"
CORRUPT = re.compile(BEGIN + rb"\[warning\] .*: corrupt input packet in stream (\d+)\s*(?m:$)")
# of the frames that come from here on
FORM = re.compile(BEGIN + rb"\[verbose\] tb:\S+ samplefmt:\S+ samplerate:\d+ chlayout:")
LATER = re.compile(BEGIN + rb"\[warning\] New audio stream")
# s; where they jump further, streams are joined, and ffmpeg goes on without a gap
CLOSING = ("-dts_delta_threshold", "60")
# such a jump of a stream in microseconds; versions before 6 say it on the level debug alone
CLOSED = re.compile(
    rb"(?m:^)(?:\[aist#0:(\d+)/[^]\n]*\] )?\[(?:debug|warning)\] timestamp discontinuity "
    rb"(?:for stream #0:(\d+) )?[^\n]*: (\d+), new offset"
)
# of all messages, those that tell of damage
TELLING = re.compile(
    b"|".join(one.pattern for one in (LEVEL, FILLED, CORRUPT, FORM, LATER, CLOSED))
)
OF_SPEEX = "libspeex"  # decoder
SHORT = 0.1  # seconds that are filled or cut at the beginning only, where a decoder begins


def reading(inspection: "Inspection", track: Track | None) -> list[str]:
    """Return the options with which ffmpeg reads a track of the file."""
    options = [*CLOSING]
    if inspection.family == "CAF" and track and track.codec == "alac":
        # version 9 leaves out what the packet table states of a packet that is shorter already
        options += ["-flags2", "+skip_manual"]
    if track and track.codec == "speex":
        # its own decoder gives other sound for stereo, that of version 7 for all but 8 kHz
        options += [f"-c:{track.index}", OF_SPEEX]
    return options


def timing(inspection: "Inspection", track: Track | None) -> list[str]:
    """Return the options that place the samples of a track in time, at one sample rate.

    By its time stamps: a track that begins later than the picture is padded at the front. A file
    that has none is read in turn, with the channels that ffprobe has found.
    """
    # ffprobe may have found the rate of later frames
    highest = max(inspection.first_rate, track.sample_rate if track else 0)
    rate = ["-ar", str(highest)] if highest else []
    if inspection.has_times or not track:
        return ["-af", "aresample=async=1:first_pts=0", *rate]
    return [*rate, "-ac", str(track.channels)] if 0 < track.channels < 3 else rate


def reporting(inspection: "Inspection") -> list[str]:
    """Return the options by which ffmpeg says what it leaves out or puts in."""
    level = "debug" if inspection.closes_jumps else "verbose"
    return ["-nostats", "-v", f"repeat+level+{level}"]


def all_tracks(inspection: "Inspection") -> list[str]:
    """Return the options of an output that takes all tracks and writes nothing, for files of which
    ffmpeg moves the time stamps by what it finds in the tracks that are used: all are used so."""
    if not (inspection.closes_jumps and inspection.media and inspection.media.copied):
        return []
    tracks = [option for number in inspection.media.copied for option in ("-map", f"0:{number}")]
    # not -f null, which refuses two packets of one time
    return [*tracks, "-c", "copy", "-f", "framecrc", "-y", os.devnull]


def errors(printed: bytes) -> bytes:
    """Return the lines of errors among all messages, without the level."""
    lines = [line for line in printed.splitlines() if LEVEL.search(line)]
    return LEVEL.sub(b"", b"\n".join(lines))


def jumps_text(printed: bytes, sample_rate: int, begin: float) -> str:
    """Return in words what was put in or left out where time stamps jump; "" if nothing was.

    begin: seconds of silence in front of a track that begins later than others.
    """
    seconds = filled(printed, sample_rate)
    said = []
    if seconds[b"adding"] - begin > SHORT:
        said.append(f"{seconds[b'adding'] - begin:.2f} s of silence were put in")
    if seconds[b"discarding"] > 0:
        said.append(f"{seconds[b'discarding']:.2f} s of sound were left out")
    return f"where its time stamps jump, {' and '.join(said)}" if said else ""


def displaced_text(printed: bytes, sample_rate: int, begin: float) -> str:
    """Return in words why silence was put in that is no gap of a recording; "" if none was.

    Where channels or sample rate change, the filter begins anew, with silence as long as all
    before; and some bytes can ask for more of it than recordings have. begin: as in `jumps_text`.
    """
    seconds = filled(printed, sample_rate)[b"adding"]
    if len(FORM.findall(printed)) > 1 and seconds - begin > 1:
        return CHANGED
    return FAR if seconds > MOST_FILLED else ""


def unread(printed: bytes, index: int) -> Iterator[str]:
    """Yield in words what ffmpeg has not read: packets of the track `index` that are damaged, of
    which it decodes what is left, and tracks that begin later, as in joined streams."""
    if count := CORRUPT.findall(printed).count(b"%d" % index):
        yield f"{count} packets of it are damaged or cut"
    if LATER.search(printed):
        yield "sound of another track begins within it, and is left out"


def closed_text(printed: bytes, index: int) -> str | None:
    """Return in words that ffmpeg went on without a gap where time stamps of the track `index`
    jump, None if it did not. It says the same jump repeatedly where pictures jump later."""
    jumps = [
        int(jump)
        for later, earlier, jump in CLOSED.findall(printed)
        if int(later or earlier) == index
    ]
    if not jumps:
        return None
    missing = f"{max(jumps) / 1_000_000:.2f} s or more are left out"
    return f"where its time stamps jump, {missing}, which pictures may still have"


def filled(printed: bytes, sample_rate: int) -> dict[bytes, float]:
    """Return the seconds that were put in and left out, by the words of FILLED."""
    seconds = {b"adding": 0.0, b"discarding": 0.0}
    goes_on = False
    for kind, text in FILLED.findall(printed):
        count = int(text)
        if goes_on or count > min(SHORT * sample_rate, PIECE - 1):
            seconds[kind] += count / sample_rate
        goes_on = count == PIECE
    return seconds
