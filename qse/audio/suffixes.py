"""Know the suffixes of audio files and videos: what they stand for, and who writes such files."""

from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class MediaForm:
    """Say how ffmpeg writes a file.

    encoder: of enhanced tracks. lossless: beginnings of the codings that an enhanced track keeps.
    copied: beginnings of the codings of tracks that are copied as they are; others are encoded
    anew. subtitles: the codings that are copied; other texts become the first of them. covers: as
    a still picture, as an attachment, or not at all.
    """

    muxer: str
    encoder: str = "aac"
    lossless: tuple[str, ...] = ("alac",)
    copied: tuple[str, ...] = ("aac", "alac", "mp3", "ac3", "eac3", "opus", "flac")
    is_video: bool = True
    subtitles: tuple[str, ...] = ()
    covers: Literal["picture", "attachment", ""] = "picture"
    is_single: bool = False


MP4 = MediaForm("mp4", subtitles=("mov_text", "dvd_subtitle"))
MOV = replace(
    MP4,
    muxer="mov",
    lossless=("alac", "pcm_"),
    copied=("aac", "alac", "mp3", "ac3", "eac3", "pcm_"),
    subtitles=("mov_text",),
)
M4A = replace(MP4, muxer="ipod", copied=("aac", "alac"), is_video=False, subtitles=())
PICTURES = ("dvd_subtitle", "hdmv_pgs_subtitle", "dvb_subtitle")  # as which subtitles are shown
MKV = MediaForm(
    muxer="matroska",
    encoder="flac",
    lossless=(),
    copied=("",),
    subtitles=("subrip", "text", "ass", "ssa", "webvtt", *PICTURES),
    covers="attachment",
)
MKA = replace(MKV, is_video=False)
WEBM = MediaForm(
    muxer="webm",
    encoder="libopus",
    lossless=(),
    copied=("opus", "vorbis"),
    subtitles=("webvtt",),
    covers="",
)
WEBA = replace(WEBM, is_video=False, subtitles=())
WV = MediaForm(
    "wv", "wavpack", ("wavpack",), ("wavpack",), is_video=False, covers="", is_single=True
)
TTA = replace(WV, muxer="tta", encoder="tta", lossless=("tta",), copied=("tta",))


@dataclass(frozen=True)
class Suffix:
    """Say what a suffix stands for.

    kinds: of content, as `inspect` finds them. form: of libsndfile, which writes such files; ""
    if it does not. media: how ffmpeg writes them; None if it does not.
    """

    kinds: tuple[str, ...]
    form: str = ""
    media: MediaForm | None = None


SUFFIXES = {
    **dict.fromkeys(("wav", "wave", "bwf", "amb"), Suffix(("WAV", "RF64"), "WAV")),
    "w64": Suffix(("W64",), "W64"),
    "rf64": Suffix(("RF64", "WAV"), "RF64"),
    "flac": Suffix(("FLAC",), "FLAC"),
    "mp3": Suffix(("MP3",), "MP3"),
    **dict.fromkeys(("ogg", "oga"), Suffix(("Ogg", "other Ogg"), "OGG")),
    "opus": Suffix(("Ogg",), "OGG"),
    **dict.fromkeys(("aiff", "aif", "aifc"), Suffix(("AIFF",), "AIFF")),
    **dict.fromkeys(("au", "snd"), Suffix(("AU",), "AU")),
    "caf": Suffix(("CAF",), "CAF"),
    "voc": Suffix(("VOC",), "VOC"),
    **dict.fromkeys(("sph", "nist"), Suffix(("NIST",), "NIST")),
    **dict.fromkeys(("m4a", "m4b"), Suffix(("MP4",), media=M4A)),
    "mka": Suffix(("Matroska",), media=MKA),
    "weba": Suffix(("Matroska",), media=WEBA),
    **dict.fromkeys(("mp4", "m4v"), Suffix(("MP4",), media=MP4)),
    "mov": Suffix(("MP4",), media=MOV),
    "mkv": Suffix(("Matroska",), media=MKV),
    "webm": Suffix(("Matroska",), media=WEBM),
    "aac": Suffix(("AAC", "LATM")),
    "amr": Suffix(("AMR",)),
    **dict.fromkeys(("wma", "wmv", "asf"), Suffix(("WMA",))),
    **dict.fromkeys(("ac3", "eac3"), Suffix(("AC-3",))),
    **dict.fromkeys(("3gp", "3ga", "3g2", "m4r", "qt", "qta", "f4v", "f4a"), Suffix(("MP4",))),
    **dict.fromkeys(("mp2", "mpa", "m2a"), Suffix(("MP2", "MP3"))),
    **dict.fromkeys(("spx", "ogv", "ogx"), Suffix(("other Ogg", "Ogg"))),
    **dict.fromkeys(("mpg", "mpeg", "vob", "m2p"), Suffix(("MPEG-PS", "MPEG-TS"))),
    **dict.fromkeys(("ts", "mts", "m2ts", "m2t"), Suffix(("MPEG-TS",))),
    **{"avi": Suffix(("AVI",)), "flv": Suffix(("FLV",)), "mxf": Suffix(("MXF",))},
    "wv": Suffix(("WavPack",), media=WV),
    "tta": Suffix(("TTA",), media=TTA),
    **{"ape": Suffix(("APE",)), "tak": Suffix(("TAK",))},
    **{"dsf": Suffix(("DSF",)), "dts": Suffix(("DTS",))},
    **dict.fromkeys(("loas", "latm"), Suffix(("LATM",))),
    **{"gsm": Suffix(("GSM",)), "sox": Suffix(("SoX",))},
}
FORMATS = {suffix: row.form for suffix, row in SUFFIXES.items() if row.form}
MEDIA = {suffix: row.media for suffix, row in SUFFIXES.items() if row.media}
FOREIGN = tuple(suffix for suffix, row in SUFFIXES.items() if not row.form)  # read through ffmpeg
WRITTEN = (*FORMATS, *MEDIA)
HEADERLESS = {  # samples alone, as telephone systems record them: suffix -> name in ffmpeg
    **dict.fromkeys(("ul", "ulaw", "mulaw", "pcmu"), "mulaw"),
    **dict.fromkeys(("al", "alaw", "pcma"), "alaw"),
    **dict.fromkeys(("raw", "pcm", "sln"), "s16le"),
}
