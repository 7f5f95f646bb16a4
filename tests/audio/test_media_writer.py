"""Videos and sound files that ffmpeg writes: every track, name, language, chapter, tag and
picture."""

import json
import os
import re

import numpy as np
import pytest
import soundfile
from tagged_files import (
    CHAPTERS,
    TAGS,
    chapters,
    cover,
    ffmpeg,
    needs_ffmpeg,
    probed,
    sound,
    tags,
    tags_of,
    wav,
)

from qse.audio.ffmpeg_process import write_file
from qse.audio.probe import probe
from qse.audio.reader import open_audio
from qse.audio.subtitles import lost_subtitles, subtitle_options
from qse.audio.suffixes import MEDIA
from qse.audio.track_changes import displaced

pytestmark = needs_ffmpeg


def recording(path, *coding):
    """A picture and three sound tracks, as OBS records them: desktop, microphone, guest."""
    for number in range(3):
        soundfile.write(
            path.parent / f"s{number}.wav", sound(1.0, 1 + number % 2, 48000, number) * 0.5, 48000
        )
    inputs = ["-f", "lavfi", "-i", "testsrc=duration=1:size=64x48:rate=10"]
    maps = ["-map", "0:v"]
    for number, (name, language) in enumerate(
        (("Desktop", "eng"), ("Mikrofon", "deu"), ("Guest", "fra"))
    ):
        inputs += ["-i", path.parent / f"s{number}.wav"]
        maps += ["-map", f"{number + 1}:a", f"-metadata:s:a:{number}", f"language={language}"]
        maps += [
            f"-metadata:s:a:{number}",
            f"title={name}",
            f"-metadata:s:a:{number}",
            f"handler_name={name}",
        ]
    maps += ["-disposition:a:0", "0", "-disposition:a:1", "default", "-disposition:a:2", "comment"]
    ffmpeg(*inputs, *maps, *coding, path)
    return path


def described(path) -> list[tuple]:
    """Language, name, marks and channels of each sound track."""
    found = []
    for stream in probed(path)["streams"]:
        if stream["codec_type"] == "audio":
            marks = {name for name, is_set in stream["disposition"].items() if is_set}
            name = stream["tags"].get("title") or stream["tags"].get("handler_name")
            found.append((stream["tags"].get("language"), name, marks, stream["channels"]))
    return found


def track(path, number: int) -> np.ndarray:
    with open_audio(path, track=number) as source:
        return np.concatenate(list(source.blocks()))


@pytest.mark.parametrize("suffix", ["mkv", "mp4", "mov"])
def test_all_tracks_come_back(here, command, suffix):
    recording(here / f"a.{suffix}")
    status, out, err = command("denoise", f"a.{suffix}", "--json", "--model", "recurrent")
    assert status == 0, err
    assert json.loads(out)["tracks"] == 3
    assert described(here / f"a-enhanced.{suffix}") == described(here / f"a.{suffix}")
    for number in (1, 2, 3):
        before = track(here / f"a.{suffix}", number)
        after = track(here / f"a-enhanced.{suffix}", number)
        least = min(len(before), len(after))
        assert not np.allclose(before[:least], after[:least], atol=0.02)
    status, _, err = command("denoise", f"a.{suffix}", "--overwrite")
    assert f"a.{suffix} -> a-enhanced.{suffix} (3 sound tracks)" in err


def test_track_chooses_and_others_are_copied(here, command):
    recording(here / "a.mkv", "-c:a", "flac")
    status, out, err = command("denoise", "a.mkv", "--track", "2", "--model", "recurrent", "--json")
    assert status == 0 and json.loads(out)["tracks"] == 1, err
    same = [
        np.array_equal(track(here / "a.mkv", n), track(here / "a-enhanced.mkv", n))
        for n in (1, 2, 3)
    ]
    assert same == [True, False, True] and described(here / "a.mkv") == described(
        here / "a-enhanced.mkv"
    )
    assert command("denoise", "a.mkv", "--track", "3", "-o", "b.wav")[0] == 0
    likeness = [
        abs(np.corrcoef(soundfile.read("b.wav")[0], track(here / "a.mkv", n)[:, 0])[0, 1])
        for n in (1, 2, 3)
    ]
    assert likeness[2] > 0.4 > 0.1 > max(likeness[:2])
    status, _, err = command("denoise", "a.mkv", "--track", "4")
    assert status == 1 and "a.mkv has no sound track 4: it has 3" in err
    status, _, err = command("denoise", "s0.wav", "--track", "2")
    assert status == 1 and "s0.wav has no sound track 2: it has 1" in err


def test_tracks_of_a_piece_of_a_recording_stay_together(here, command):
    """Its time stamps begin where those of the piece before end."""
    piece = ("-f", "segment", "-segment_time", "1", "t%d.m4a")
    path = wav(here / "s.wav")
    loop = ("-stream_loop", "2", "-i", path)
    ffmpeg(*loop, *loop, "-map", "0", "-map", "1", "-c:a", "aac", *piece)
    begins = [float(found["start_time"]) for found in probed(here / "t2.m4a")["streams"]]
    assert min(begins) > 1.5
    assert command("denoise", "t2.m4a", "--track", "1", "-o", "b.m4a")[0] == 0
    begins = [float(found["start_time"]) for found in probed(here / "b.m4a")["streams"]]
    assert abs(begins[0] - begins[1]) < 0.1


def test_a_part_of_one_track_is_refused_for_several(here, command):
    """The copied ones would be whole."""
    path = wav(here / "s.wav")
    ffmpeg("-i", path, "-i", path, "-map", "0", "-map", "1", "-c:a", "aac", "a.m4a")
    part = ("denoise", "a.m4a", "--to", "0.5")
    status, _, err = command(*part, "--track", "1", "-o", "b.m4a")
    assert status == 1 and "tracks that are copied cannot be cut to a part" in err
    assert command(*part, "-o", "b.m4a")[0] == 0
    assert command(*part, "--track", "1", "-o", "b.wav")[0] == 0


@pytest.mark.parametrize("to, coding", [("mp4", "aac"), ("mkv", "vorbis"), ("webm", "vorbis")])
def test_other_tracks_are_encoded_anew_where_the_output_does_not_hold_them(
    here, command, to, coding
):
    """They were copied always, which ffmpeg refused."""
    recording(here / "a.mkv", "-c:v", "libvpx", "-c:a", "libvorbis")
    picture = ["-an"] if to == "mp4" else []
    ffmpeg("-i", "a.mkv", "-map", "0", "-c", "copy", *(["-vn"] if picture else []), "b.mkv")
    status, _, err = command("denoise", "b.mkv", "--track", "1", "-o", f"c.{to}")
    assert status == 0, err
    before = [(language, name) for language, name, *_ in described(here / "a.mkv")]
    assert [(language, name) for language, name, *_ in described(here / f"c.{to}")] == before
    codings = [s["codec_name"] for s in probed(here / f"c.{to}")["streams"] if "channels" in s]
    assert len(codings) == 3 and codings[1:] == [coding, coding]


def test_tracks_of_ogg_are_counted(here, command):
    """libsndfile reads the first one alone, without a word."""
    ffmpeg("-i", wav(here / "s.wav"), "-map", "0", "-map", "0", "-c:a", "libvorbis", "a.ogg")
    status, _, err = command("denoise", "a.ogg")
    assert status == 1 and "a.ogg has 2 sound tracks" in err
    assert command("denoise", "a.ogg", "--track", "2", "-o", "b.wav")[0] == 0
    status, out, err = command("denoise", "a.ogg", "-o", "b.mka", "--json")
    assert status == 0 and json.loads(out)["tracks"] == 2, err


def test_languages_of_subtitles_and_time_codes_come_back(here, command):
    """They were lost without a word."""
    (here / "s.srt").write_text("1\n00:00:00,000 --> 00:00:01,000\nhello\n")
    inputs = ["-i", recording(here / "s.mkv"), "-i", "s.srt", "-map", "0", "-map", "1"]
    ffmpeg(*inputs, "-c:v", "copy", "-metadata:s:s:0", "language=deu", "a.mkv")
    assert command("denoise", "a.mkv")[0] == 0
    found = probed(here / "a-enhanced.mkv")["streams"]
    languages = [s["tags"]["language"] for s in found if s["codec_type"] == "subtitle"]
    assert languages == ["deu"]
    assert (
        "metadata of a.mkv: subtitles"
        in command("denoise", "a.mkv", "--track", 1, "-o", "a.wav")[2]
    )
    line = ("live", "--from", "a.mkv", "--to", "b.wav", "--as-fast-as-possible")
    assert "metadata of a.mkv: subtitles, picture" in command(*line)[2]
    ffmpeg("-i", "s.mkv", "-timecode", "10:00:00:00", "a.mov")
    assert command("denoise", "a.mov")[0] == 0
    codes = [
        probed(here / f"a{end}.mov")["streams"][0]["tags"]["timecode"] for end in ("", "-enhanced")
    ]
    assert codes[0] == codes[1] and codes[0].startswith("10:00:00")


@pytest.mark.parametrize(
    ("source", "coding", "target", "made", "lost"),
    [
        ("a.mp4", "mov_text", "b.mkv", "subrip", []),
        ("a.mkv", "subrip", "b.mp4", "mov_text", []),
        ("a.mkv", "ass", "b.mov", "mov_text", ["styles of subtitles"]),
        ("a.mkv", "ass", "b.mkv", "ass", []),
        ("a.mkv", "subrip", "b.webm", "webvtt", []),
    ],
)
def test_subtitles_between_containers(here, command, source, coding, target, made, lost):
    """Those that the container does not hold as they are were refused, with the whole video."""
    (here / "s.srt").write_text("1\n00:00:00,200 --> 00:00:00,900\nhello\n")
    picture = "vp8" if target == "b.webm" else "mpeg4"
    inputs = ["-f", "lavfi", "-i", "testsrc=d=1:s=64x48:r=10", "-i", wav(here / "s.wav")]
    maps = ["-map", 0, "-map", 1, "-map", 2, "-c:v", picture, "-c:s", coding]
    for kind in "vas":
        maps += [f"-metadata:s:{kind}:0", "title=A", f"-metadata:s:{kind}:0", "handler_name=A"]
    ffmpeg(*inputs, "-i", "s.srt", *maps, source)
    status, out, err = command("denoise", source, "-o", target, "--json")
    assert status == 0 and json.loads(out)["lost"] == lost, err
    streams = probed(here / target)["streams"]
    assert [each["codec_name"] for each in streams if each["codec_type"] == "subtitle"] == [made]
    of_name = "handler_name" if target in ("b.mp4", "b.mov") else "title"
    assert [each["tags"].get(of_name) for each in streams] == ["A", "A", "A"]
    ffmpeg("-i", target, "-map", "0:s", "c.srt")
    begin, text = re.search(r"00:00:00,(\d+) --> .*\n(.*)", (here / "c.srt").read_text()).groups()
    assert text == "hello" and 200 <= int(begin) < 230  # and the delay of the encoders of sound


@pytest.mark.parametrize("target", ["b.mp4", "b.mkv"])
def test_names_that_ffmpeg_writes_into_mp4(here, command, target):
    """It writes those of tracks of Matroska as atoms that older versions do not read."""
    (here / "s.srt").write_text("1\n00:00:00,200 --> 00:00:00,900\nhello\n")
    recording(here / "s.mkv")
    inputs = ["-i", "s.mkv", "-i", "s.srt", "-map", 0, "-map", 1, "-map_metadata:s", -1]
    maps = ["-metadata:s:v:0", "title=Camera", "-metadata:s:s:0", "title=Signs"]
    maps += ["-metadata:s:a:0", "title=One", "-metadata:s:a:2", "title=Three"]
    ffmpeg(*inputs, "-c:v", "copy", "-c:a", "aac", "-c:s", "mov_text", *maps, "a.mp4")
    status, out, err = command("denoise", "a.mp4", "-o", target, "--json")
    assert status == 0 and json.loads(out)["lost"] == [], err
    of_name = "handler_name" if target == "b.mp4" else "title"
    names = [each["tags"].get(of_name) for each in probed(here / target)["streams"]]
    assert (names[0], names[1], names[3], names[4]) == ("Camera", "One", "Three", "Signs")


def test_subtitles_that_are_pictures():
    """WebM holds none; Matroska does."""
    codings = ("hdmv_pgs_subtitle", "subrip")
    names = ("", "")
    assert "0:s:0" not in subtitle_options(codings, MEDIA["webm"], names)
    assert lost_subtitles(codings, ("webvtt",)) == ["subtitles"]
    assert "0:s:0" in subtitle_options(codings, MEDIA["mkv"], names)
    assert subtitle_options(codings, MEDIA["m4a"], names) == []


def test_attachments_come_back(here, command):
    """Fonts of subtitles were lost without a word; a cover became a track of pictures."""
    recording(here / "s.mkv")
    (here / "a.ttf").write_bytes(b"a font")
    attached = ["-attach", "a.ttf", "-metadata:s:t:0", "mimetype=application/x-truetype-font"]
    attached += ["-attach", cover(here / "c.png"), "-metadata:s:t:1", "mimetype=image/png"]
    ffmpeg("-i", "s.mkv", "-map", "0", "-c", "copy", *attached, "a.mkv")
    status, out, err = command("denoise", "a.mkv", "--json")
    assert status == 0 and json.loads(out)["lost"] == [], err
    kinds = []
    for stream in probed(here / "a-enhanced.mkv")["streams"]:
        kinds.append((stream["codec_type"], stream["disposition"]["attached_pic"]))
    assert sorted(kinds) == [("attachment", 0), *3 * [("audio", 0)], ("video", 0), ("video", 1)]
    status, out, err = command("denoise", "a.mkv", "-o", "b.mp4", "--json")
    assert status == 0 and json.loads(out)["lost"] == ["attachments"], err


def test_a_file_of_one_track_is_refused_for_several(here, command):
    recording(here / "a.mkv")
    status, _, err = command("denoise", "a.mkv", "-o", "b.wav")
    assert (
        status == 1
        and "a.mkv has 3 sound tracks, and b.wav can hold one: --track N chooses one" in err
    )
    assert not (here / "b.wav").exists()
    assert command("denoise", "a.mkv", "-o", "b.mka")[0] == 0
    assert len(described(here / "b.mka")) == 3


@pytest.mark.parametrize("suffix", ["tta", "wv"])
@pytest.mark.parametrize("options", [(), ("--track", "1")])
def test_formats_of_one_track_that_ffmpeg_writes(here, command, suffix, options):
    recording(here / "a.mkv")
    status, _, err = command("denoise", "a.mkv", "-o", f"b.{suffix}", *options)
    cure = "can hold one: an output that ends in .mka holds all"
    assert status == 1 and f"a.mkv has 3 sound tracks, and b.{suffix} {cure}" in err


@pytest.mark.parametrize("suffix, coding", [("webm", "libvpx"), ("mp4", "mpeg4")])
@pytest.mark.parametrize("to", ["m4a", "mka", "weba"])
def test_sound_of_a_video_is_without_its_picture(here, command, suffix, coding, to):
    wav(here / "a.wav")
    picture = ("-f", "lavfi", "-i", "testsrc=s=32x32:r=10:d=1")
    ffmpeg(*picture, "-i", "a.wav", "-c:v", coding, f"b.{suffix}")
    status, _, err = command("denoise", f"b.{suffix}", "-o", f"c.{to}")
    assert status == 0 and f"c.{to} is without the picture of b.{suffix}" in err
    assert [stream["codec_type"] for stream in probed(here / f"c.{to}")["streams"]] == ["audio"]


@pytest.mark.parametrize("suffix", ["m4a", "m4b", "mka"])
def test_tags_chapters_and_cover_come_back(here, command, suffix):
    (here / "chapters").write_text(CHAPTERS)
    inputs = ["-i", wav(here / "s.wav"), "-i", "chapters"]
    pictures = (
        []
        if suffix == "mka"
        else ["-i", cover(here / "c.png"), "-map", "2:v", "-disposition:v", "attached_pic"]
    )
    maps = [
        "-map",
        "0:a",
        "-map_chapters",
        1,
        *tags_of("-metadata"),
        "-metadata",
        "REPLAYGAIN_TRACK_GAIN=-3 dB",
    ]
    inputs += pictures[:2]
    ffmpeg(*inputs, *maps, *pictures[2:], "-c:v", "copy", f"a.{suffix}")
    status, _, err = command("denoise", f"a.{suffix}")
    assert status == 0 and "does not hold" not in err, err
    result = here / f"a-enhanced.{suffix}"
    assert {name: tags(result)[name] for name in TAGS} == TAGS
    assert "replaygain_track_gain" not in tags(result)
    assert chapters(result) == chapters(here / f"a.{suffix}") != []
    attached = [
        stream for stream in probed(result)["streams"] if stream["disposition"]["attached_pic"]
    ]
    assert len(attached) == len(pictures[:1])


def test_clipping_of_a_lossless_track_is_said(here, command):
    """Without its upper harmonics, a square wave at full scale exceeds full scale."""
    square = np.sign(np.sin(2 * np.pi * 500 * np.arange(44100) / 44100 + 0.1))
    soundfile.write(here / "s.wav", square, 44100)
    for suffix, coding in (("mkv", "flac"), ("m4a", "aac")):
        ffmpeg("-i", "s.wav", "-c:a", coding, f"a.{suffix}")
        status, _, err = command("denoise", f"a.{suffix}", "--model", "recurrent")
        assert status == 0, err
        assert ("samples were clipped, by up to" in err) == (coding == "flac")


def test_chapters_are_not_moved_by_the_delay_of_an_mp3(here, command):
    (here / "chapters").write_text(CHAPTERS)
    ffmpeg("-i", wav(here / "s.wav"), "-i", "chapters", "-map", "0:a", "-map_chapters", 1, "a.mp3")
    assert float(probed(here / "a.mp3")["format"]["start_time"]) > 0.02
    assert command("denoise", "a.mp3", "-o", "b.m4a")[0] == 0
    assert chapters(here / "b.m4a") == chapters(here / "a.mp3") != []


@pytest.mark.parametrize("suffix", ["m4a", "m4b"])
def test_items_come_back_byte_by_byte(here, command, suffix):
    mp4 = pytest.importorskip("mutagen.mp4")
    path = here / f"a.{suffix}"
    ffmpeg("-i", wav(here / "s.wav"), "-metadata", "title=x", "-f", "ipod", path)
    file = mp4.MP4(path)
    file["\xa9nam"] = ["Müller"]
    file["aART"] = ["someone"]
    file["disk"] = [(2, 3)]
    file["\xa9lyr"] = ["one\ntwo"]
    file["covr"] = [mp4.MP4Cover(cover(here / "c.png").read_bytes(), mp4.MP4Cover.FORMAT_PNG)]
    file["----:com.apple.iTunes:odd"] = [b"kept", b"twice"]
    file["----:com.apple.iTunes:iTunNORM"] = [b" 00000001"]
    file["----:com.apple.iTunes:iTunSMPB"] = [b" 00000000 00000400"]  # of the samples before
    file["----:com.apple.iTunes:replaygain_track_gain"] = [b"-3 dB"]
    file.save()
    status, _, err = command("denoise", path.name)
    before = mp4.MP4(path)
    after = mp4.MP4(here / f"a-enhanced.{suffix}")
    assert (
        status == 0
        and "iTunNORM" in err
        and "replaygain_track_gain" in err
        and "does not hold" not in err
    )
    of_sound = ("NORM", "SMPB", "replaygain")
    kept = {key for key in before if not any(name in key for name in of_sound)}
    assert set(after) == kept and all(after[key] == before[key] for key in kept)
    assert len(track(here / f"a-enhanced.{suffix}", 1)) == pytest.approx(16000, abs=1024)


def test_phone_recordings_in_formats_that_are_not_written_become_wav(here, command):
    ffmpeg("-i", wav(here / "s.wav"), *tags_of("-metadata"), "a.wma")
    status, _, err = command("denoise", "a.wma")
    assert status == 0, err
    found = tags(here / "a-enhanced.wav")
    assert (found["title"], found["artist"]) == (TAGS["title"], TAGS["artist"])


def test_wav_becomes_m4a_with_its_tags(here, command):
    ffmpeg("-i", wav(here / "s.wav"), *tags_of("-metadata"), "a.wav")
    status, _, err = command("denoise", "a.wav", "-o", "b.m4a")
    assert status == 0, err
    assert tags(here / "b.m4a")["title"] == TAGS["title"]
    status, _, err = command("denoise", "a.wav", "-o", "b.mp4")
    assert status == 1 and "no video can be made of sound alone" in err


def test_lower_sample_rate_of_the_encoder_is_said(here, command):
    soundfile.write(here / "a.wav", sound(1.0, 1, 192000), 192000, "PCM_24")
    _, out, err = command("denoise", "a.wav", "-o", "b.m4a", "--json")
    assert "sample rate of 192000 Hz, now 96000 Hz" in err
    assert json.loads(out)["lost"] == ["sample rate of 192000 Hz, now 96000 Hz"]


def test_what_libsndfile_reads_and_ffmpeg_does_not_is_refused_for_m4a(here, command):
    soundfile.write(here / "a.wav", np.zeros(16000), 16000, "PCM_16", format="HTK")
    status, _, err = command("denoise", "a.wav", "-o", "b.m4a")
    assert status == 1 and "a.wav cannot be read by ffmpeg: name an output that ends in .wav" in err


@pytest.mark.parametrize("suffix", ["mp4", "mov", "mkv", "webm"])
def test_picture_is_copied(here, command, suffix):
    coding = ("-c:v", "libvpx", "-c:a", "libopus") if suffix == "webm" else ()
    ffmpeg(
        "-f",
        "lavfi",
        "-i",
        "testsrc=duration=2:size=64x48:rate=10",
        "-i",
        wav(here / "s.wav"),
        *coding,
        f"a.{suffix}",
    )
    assert command("denoise", f"a.{suffix}")[0] == 0
    picture = [
        ffmpeg("-i", name, "-map", "0:v", "-f", "md5", "-")
        for name in (f"a.{suffix}", f"a-enhanced.{suffix}")
    ]
    assert picture[0] == picture[1]


def test_times_are_kept(here, command):
    import os

    recording(here / "a.mkv")
    wav(here / "b.wav")
    for name, seconds in (("a.mkv", 1_500_000_000), ("b.wav", 1_400_000_000)):
        os.utime(here / name, (seconds, seconds))
        assert command("denoise", name, "--keep-times")[0] == 0
        result = here / name.replace(".", "-enhanced.")
        assert result.stat().st_mtime == seconds


@pytest.mark.parametrize(
    "name, form, bits",
    [
        ("a.wv", "s16p", "16"),
        ("a.wv", "s32p", "24"),
        ("a.wv", "fltp", "32"),
        ("a.tta", "s16", "16"),
        ("a.tta", "s32", "24"),
    ],
)
def test_lossless_sound_of_one_track_keeps_precision_and_tags(here, command, name, form, bits):
    """Without attenuation, the output is the input."""
    soundfile.write(here / "s.wav", sound(1.0, 2, 44100), 44100, "FLOAT")
    coding = ["-sample_fmt", form, "-bits_per_raw_sample", bits]
    ffmpeg("-i", "s.wav", *coding, *tags_of("-metadata"), name)
    status, _, err = command("denoise", name, "-o", f"b{name[1:]}", "--strength", "0")
    assert status == 0 and "does not hold" not in err, err
    result = here / f"b{name[1:]}"
    assert {key: tags(result)[key] for key in TAGS} == TAGS
    found, expected = (probed(here / path)["streams"][0] for path in (result, name))
    assert found["bits_per_raw_sample"] == expected["bits_per_raw_sample"] == bits
    assert found["codec_name"] == expected["codec_name"]
    assert found["sample_fmt"] == expected["sample_fmt"] == form
    for path in (name, result.name):
        ffmpeg("-i", path, "-c:a", "pcm_f32le", f"{path}.wav")
    before = soundfile.read(here / f"{name}.wav")[0]
    after = soundfile.read(here / f"{result.name}.wav")[0]
    np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("suffix", ["m4a", "mka", "mkv", "mp4", "mov", "tta", "wv"])
@pytest.mark.parametrize("of_end", [0.3, 600])
def test_an_output_whose_end_is_not_written_replaces_nothing(
    here, command, monkeypatch, suffix, of_end
):
    """ffmpeg may end without an error where the disk is full. of_end: what is missing, as a share
    or in bytes."""
    soundfile.write(here / "s.wav", sound(3.0, 1, 48000, 0) * 0.5, 48000)
    ffmpeg("-i", "s.wav", f"a.{suffix}")
    before = (here / f"a.{suffix}").read_bytes()

    def short(options, path):
        done = write_file(options, path)
        size = path.stat().st_size
        os.truncate(path, int(size * (1 - of_end)) if of_end < 1 else size - of_end)
        return done

    line = ("denoise", f"a.{suffix}", "-o", f"a.{suffix}", "--overwrite")
    with monkeypatch.context() as changed:
        changed.setattr("qse.audio.media_writer.write_file", short)
        status, _, err = command(*line)
    assert status == 1 and "is the disk full?" in err
    assert (here / f"a.{suffix}").read_bytes() == before
    assert command(*line)[0] == 0


@pytest.mark.parametrize("suffix", ["ts", "mkv"])
def test_a_picture_that_begins_later_than_the_sound(here, command, suffix):
    picture = ("-itsoffset", "0.6", "-f", "lavfi", "-i", "testsrc=duration=1:size=64x64:rate=25")
    path = wav(here / "s.wav", sample_rate=48000)
    sound = ("-stream_loop", "1", "-i", path)
    ffmpeg(*picture, *sound, "-c:v", "mpeg4", "-bf", "0", "-c:a", "aac", f"a.{suffix}")
    assert command("denoise", f"a.{suffix}", "-o", "b.mp4")[0] == 0
    begins = {}
    for found in probed(here / "b.mp4")["streams"]:
        begins[found["codec_type"]] = float(found["start_time"])
    assert begins["video"] - begins["audio"] == pytest.approx(0.6, abs=0.1)


def test_tracks_of_a_stream_of_mpeg_that_begin_one_after_another(here, command):
    path = wav(here / "s.wav", sample_rate=48000)
    late = ("-itsoffset", "0.5", "-i", path)
    ffmpeg("-i", path, *late, "-map", "0", "-map", "1", "-c:a", "mp2", "a.ts")
    for options in ((), ("--track", "1"), ("--track", "2")):
        line = ("denoise", "a.ts", *options, "-o", "b.mka", "--overwrite")
        assert command(*line)[0] == 0
        lengths = [len(track(here / "b.mka", number)) / 48000 for number in (1, 2)]
        assert lengths == [pytest.approx(1, abs=0.1), pytest.approx(1.5, abs=0.1)]


def test_tracks_that_begin_at_other_times_than_before_are_named(here):
    path = wav(here / "s.wav")
    picture = ("-f", "lavfi", "-i", "testsrc=duration=1:size=64x64:rate=25", "-c:v", "mpeg4")
    for name, late in (("a", "0.5"), ("b", "0")):
        coding = ("-itsoffset", late, *picture[:4], "-map", "0", "-map", "1", "-map", "2")
        ffmpeg("-i", path, "-itsoffset", late, "-i", path, *coding, *picture[4:], f"{name}.mkv")
    before, after = (probe(here / f"{name}.mkv") for name in "ab")
    assert displaced(before, before, set()) == displaced(after, after, set()) == []
    assert displaced(before, after, {1})[0].startswith("the begin of the picture, -0.5")
    assert displaced(before, after, set())[0].startswith("the begin of track 2, -0.5")
