"""Keep what phones, cameras, recorders and programs write into their files: everything that
exiftool prints of a file but for the coding of its sound. The files are made here with the layout
of the metadata of each; devices write more of their own."""

import json
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import soundfile
from tagged_files import ffmpeg, needs_ffmpeg, probed, sound, wav, with_chunks

pytestmark = [
    needs_ffmpeg,
    pytest.mark.skipif(shutil.which("exiftool") is None, reason="needs exiftool"),
]
VIDEO = ["-f", "lavfi", "-i", "testsrc=duration=1:size=64x32:rate=25"]
PLACE = "+48.1371+011.5754+519.000/"
WHEN = "2024-05-06T05:08:09.000000Z"
# what depends on how the sound is coded, where it lies in the file, and which program wrote it
CODING = (
    *("FileName", "Directory", "FileSize", "FileModifyDate", "FileAccessDate"),
    *("FileInodeChangeDate", "FilePermissions", "ExifToolVersion", "SourceFile"),
    *("MediaDataSize", "MediaDataOffset", "AvgBitrate", "AvgBytesPerSec", "BitrateMode"),
    *(
        "Duration",
        "TrackDuration",
        "MediaDuration",
        "DefaultDuration",
        "TimeScale",
        "Encoder",
        "EncoderSettings",
        "Vendor",
    ),
    *("MaxBitrate", "CodecID", "CodecPrivate", "AudioBitsPerSample", "TagTrackUID", "CRC-32"),
    *("MuxingApp", "WritingApp", "SegmentUID", "TrackUID", "NominalBitrate", "TagUID"),
    *("MajorBrand", "MinorVersion", "CompatibleBrands", "ModifyDate", "MediaModifyDate"),
    *("TimeToSampleTable", "MediaData", "ChunkOffset", "SampleToChunk", "SampleSizes"),
    *("CueClusterPosition", "CueRelativePosition", "SeekPosition", "CueTime", "SeekID"),
    *("TrackModifyDate", "MediaLanguageCode", "AudioBitrate", "CodingHistory"),
)


def with_metadata(source: Path, target: Path, *options: object, **tags: str) -> Path:
    """Copy the streams of `source`, with tags of the file."""
    words: list[object] = []
    for name, text in tags.items():
        words += ["-metadata", f"{name}={text}"]
    ffmpeg("-i", source, "-map", 0, "-c", "copy", *words, *options, target)
    return target


def video(folder: Path, name: str, *options: object, sound_codec: str = "aac") -> Path:
    """A second of picture and sound."""
    noise = wav(folder / "noise.wav", 2, 48000)
    coded = ["-c:v", "mpeg4", "-c:a", sound_codec]
    ffmpeg("-i", noise, *VIDEO, *coded, *options, folder / name)
    return folder / name


def broadcast(originator: str, history: bytes = b"") -> bytes:
    """A bext chunk of version 1 (EBU Tech 3285)."""
    texts = [("zSCENE=3", 256), (originator, 32), ("REF0001", 32), ("2024-05-06", 10)]
    body = b"".join(text.encode().ljust(size, b"\0") for text, size in [*texts, ("07:08:09", 8)])
    return body + (172_800_000).to_bytes(8, "little") + b"\1\0" + bytes(254) + history


def cue(*places: int) -> bytes:
    rows = [
        struct.pack("<II4sIII", number + 1, at, b"data", 0, 0, at)
        for number, at in enumerate(places)
    ]
    return struct.pack("<I", len(rows)) + b"".join(rows)


def label(number: int, text: bytes) -> bytes:
    return b"labl" + struct.pack("<II", len(text) + 5, number) + text + bytes(2 - len(text) % 2)


def info(**texts: str) -> bytes:
    parts = b""
    for name, text in texts.items():
        body = text.encode() + bytes(1 + (len(text) + 1) % 2)
        parts += name.encode() + struct.pack("<I", len(body)) + body
    return b"INFO" + parts


def ixml(**texts: str) -> bytes:
    parts = "".join(f"<{name}>{text}</{name}>" for name, text in texts.items())
    return f'<?xml version="1.0" encoding="UTF-8"?><BWFXML>{parts}</BWFXML>'.encode()


def iphone(folder: Path) -> Path:
    keys = {
        "com.apple.quicktime.make": "Apple",
        "com.apple.quicktime.model": "iPhone 15 Pro",
        "com.apple.quicktime.software": "17.4.1",
        "com.apple.quicktime.creationdate": "2024-05-06T07:08:09+0200",
        "com.apple.quicktime.location.ISO6709": PLACE,
        "com.apple.quicktime.location.accuracy.horizontal": "4.7",
    }
    plain = video(folder, "plain.mov", "-metadata:s:a", "language=deu")
    flags = ["-movflags", "use_metadata_tags", "-metadata:s:v:0", "rotate=90"]
    return with_metadata(plain, folder / "IMG_0001.MOV", *flags, creation_time=WHEN, **keys)


def pixel(folder: Path) -> Path:
    keys = {"com.android.version": "14", "com.android.capture.fps": "30.000000"}
    keys |= {"location": "+48.1371+011.5754/"}
    keys |= {"com.android.manufacturer": "Google", "com.android.model": "Pixel 8"}
    flags = ["-movflags", "use_metadata_tags", "-brand", "mp42"]
    name = folder / "PXL_20240506_050809123.mp4"
    plain = video(folder, "plain.mp4")
    return with_metadata(plain, name, *flags, creation_time=WHEN, **keys)


def zoom(folder: Path) -> Path:
    soundfile.write(folder / "ZOOM0001.WAV", sound(1.0, 2, 48000), 48000, "PCM_24")
    tracks = "<TRACK_COUNT>2</TRACK_COUNT><TRACK><NAME>TrL</NAME></TRACK>"
    before = [
        (b"bext", broadcast("ZOOM H6", b"A=PCM,F=48000,W=24,M=stereo,T=ZOOM H6\r\n")),
        (b"iXML", ixml(PROJECT="240506", TAPE="ZOOM0001", TRACK_LIST=tracks)),
    ]
    return with_chunks(folder / "ZOOM0001.WAV", before, [(b"cue ", cue(4800, 24000))])


def gopro(folder: Path) -> Path:
    flags = ["-timecode", "07:08:09:10", "-metadata:s:v", "handler_name=GoPro MP4"]
    flags += ["-metadata:s:a", "handler_name=GoPro AAC", "-metadata", f"creation_time={WHEN}"]
    return video(folder, "GX010042.MP4", *flags)


def voice_memos(folder: Path) -> Path:
    ffmpeg("-i", wav(folder / "s.wav", 1, 48000), "-c:a", "aac", folder / "plain.m4a")
    name = folder / "New Recording 12.m4a"
    return with_metadata(
        folder / "plain.m4a", name, title="New Recording 12", creation_time=WHEN, date="2024-05-06"
    )


def whatsapp(folder: Path) -> Path:
    name = folder / "PTT-20240506-WA0001.opus"
    speech = ["-c:a", "libopus", "-application", "voip", "-b:a", "16k"]
    ffmpeg("-i", wav(folder / "s.wav"), *speech, name)
    return name


def obs(folder: Path) -> Path:
    two = ["-map", "1:v", "-map", "0:a", "-map", "0:a", "-metadata:s:a:0", "title=Track1"]
    return video(folder, "2024-05-06 07-08-09.mkv", *two, "-metadata:s:a:1", "title=Mic")


def audition(folder: Path) -> Path:
    xmp = (
        b'<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>'
        b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
        b'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
        b'xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:CreatorTool="Adobe Audition 24.2"/>'
        b'</rdf:RDF></x:xmpmeta><?xpacket end="w"?>'
    )
    after = [
        (b"cue ", cue(4800, 24000)),
        (b"LIST", b"adtl" + label(1, b"Marker 01") + label(2, b"Noise")),
        (b"_PMX", xmp),
        (b"LIST", info(INAM="Interview", IART="someone", ISFT="Adobe Audition 24.2")),
    ]
    before = [(b"bext", broadcast("Adobe Audition"))]
    return with_chunks(wav(folder / "Interview.wav", 2, 44100), before, after)


def reaper(folder: Path) -> Path:
    soundfile.write(folder / "01-240506.wav", sound(1.0, 1, 48000), 48000, "FLOAT")
    before = [(b"bext", broadcast("REAPER")), (b"iXML", ixml(PROJECT="song.rpp", SCENE="1"))]
    after = [(b"smpl", bytes(36)), (b"LIST", info(ISFT="REAPER", ICRD="2024-05-06"))]
    return with_chunks(folder / "01-240506.wav", before, [*after, (b"acid", bytes(24))])


def audiomoth(folder: Path) -> Path:
    said = "Recorded at 05:08:09 06/05/2024 (UTC) by AudioMoth 24F3190361CBE8E4 at medium gain"
    texts = info(ICMT=said, IART="AudioMoth 24F3190361CBE8E4")
    return with_chunks(wav(folder / "20240506_050809.WAV", 1, 48000), [(b"LIST", texts)])


def camera(folder: Path) -> Path:
    flags = ["-timecode", "01:00:00:00", "-metadata", "make=NIKON CORPORATION"]
    flags += ["-metadata", "model=NIKON Z 6", "-metadata", f"creation_time={WHEN}"]
    return video(folder, "DSC_0042.MOV", *flags, sound_codec="pcm_s16le")


DEVICES: list[Callable[[Path], Path]] = [
    *(iphone, pixel, zoom, gopro, voice_memos, whatsapp),
    *(obs, audition, reaper, audiomoth, camera),
]


def printed(path: Path) -> dict[str, object]:
    """Return what exiftool prints, by group and name, without CODING."""
    line = ["exiftool", "-j", "-G3:1", "-a", "-u", "-ee", str(path)]
    (found,) = json.loads(subprocess.run(line, check=True, capture_output=True).stdout)
    kept = {}
    for name, value in found.items():
        if name.split(":")[-1] not in CODING and "_0x" not in name:  # elements without a name
            kept[name] = value
    return kept


@pytest.mark.parametrize("device", DEVICES, ids=lambda make: make.__name__)
def test_everything_that_a_device_wrote_is_kept(here, command, device):
    path = device(here)
    before = printed(path)
    status, out, err = command("denoise", path, "--json")
    assert status == 0, err
    said = json.loads(out)
    after = printed(Path(said["output"]))
    assert said["lost"] == []
    assert {name: after.get(name) for name in before} == before


def test_video_of_a_dvd_keeps_its_picture_in_matroska_or_says_that_it_is_lost(here, command):
    size = ["-s", "720x576", "-c:v", "mpeg2video", "-c:a", "ac3", "-f", "vob"]
    ffmpeg("-i", wav(here / "noise.wav", 2, 48000), *VIDEO, *size, here / "VTS_01_1.VOB")
    _, out, err = command("denoise", "VTS_01_1.VOB", "--json")
    assert json.loads(out)["lost"] == ["picture"]
    assert "VTS_01_1-enhanced.wav is without the picture of VTS_01_1.VOB" in err
    _, out, err = command("denoise", "VTS_01_1.VOB", "--json", "-o", "a.mkv")
    assert json.loads(out)["lost"] == [] and "picture" not in err
    assert [each["codec_name"] for each in probed(here / "a.mkv")["streams"]] == [
        "mpeg2video",
        "flac",
    ]
