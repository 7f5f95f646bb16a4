"""Time stamps that jump or begin anew within a file: sound and pictures stay together, and what is
put in or left out is said."""

import math
import subprocess
from itertools import pairwise

import numpy as np
import pytest
import soundfile
from audio_files import make, outcome, tone
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio.ogg_comments import read_headers, samples_before_begin
from qse.audio.probe import probe
from qse.audio.reader import open_audio

pytestmark = needs_ffmpeg


def bursts(path, sample_rate: int = 48000) -> list[float]:
    """Return when sound that is not silent begins in a file, in seconds."""
    with open_audio(path) as source:
        loud = np.abs(np.concatenate(list(source.blocks()))[:, 0]) > 0.05
    places = np.flatnonzero(loud) / sample_rate
    return [places[0], *places[1:][np.diff(places) > 0.2]]


def shown(path) -> list[float]:
    """Return when a picture turns white, in seconds."""
    options = ("-f", "lavfi", f"movie={path.name},signalstats", "-show_entries")
    entries = "frame=pts_time:frame_tags=lavfi.signalstats.YAVG"
    line = ["ffprobe", "-v", "error", *options, entries, "-of", "csv=p=0"]
    found = subprocess.run(line, capture_output=True, text=True, cwd=path.parent).stdout
    frames = [tuple(map(float, frame.split(",")[:2])) for frame in found.split()]
    return [time for (_, before), (time, light) in pairwise(frames) if before < 100 < light]


@pytest.mark.parametrize("form", [("ts", "mpeg2video"), ("mpg", "mpeg2video"), ("ogv", "theora")])
def test_sound_and_picture_stay_together_where_time_stamps_jump(here, command, form):
    """A white picture and a tone at 2 and at 17 s, no packets of sound between 3 and 16 s; in
    joined streams, the sound of the first ends 3 s before its picture."""
    suffix, codec = form
    white = "'between(t,2,2.5)+between(t,17,17.5)'"
    picture = f"color=black:s=64x64:r=25:d=20,drawbox=t=fill:c=white:enable={white}"
    tone = f"aevalsrc='0.5*sin(2000*t)*({white[1:-1]})':s=48000:d="
    coding = ("-c:v", codec, "-c:a", "libvorbis" if suffix == "ogv" else "mp2")
    inputs = ("-f", "lavfi", "-i", picture, "-f", "lavfi", "-i")
    pause = "aselect='not(between(t,3,16))'"
    ffmpeg(*inputs, tone + "20", "-af", pause, *coding, f"paused.{suffix}")
    ffmpeg(*inputs, tone + "20", *coding, f"whole.{suffix}")
    names = ["paused"]
    if suffix != "ogv":
        ffmpeg(*inputs, tone + "18", *coding, f"short.{suffix}")
        parts = [here / f"{name}.{suffix}" for name in ("short", "whole")]
        (here / f"joined.{suffix}").write_bytes(b"".join(part.read_bytes() for part in parts))
        names.append("joined")
    for name in names:
        line = ("denoise", f"{name}.{suffix}", "-o", "b.mkv", "--strength", "0", "--overwrite")
        status, _, said = command(*line)
        assert status == 0 and "s of silence were put in" in said
        sound, pictures = bursts(here / "b.mkv"), shown(here / "b.mkv")
        assert len(sound) == len(pictures) == (2 if name == "paused" else 4)
        assert sound == pytest.approx(pictures, abs=0.1)


@pytest.mark.parametrize("way", [("mpegts", "mp2"), ("mpeg", "mp2"), ("ogg", "flac")])
def test_jumps_of_more_than_a_minute_are_closed_and_said(tmp_path, way):
    muxer, codec = way
    wav = make(tmp_path / "a.wav", tone(90 * 16000))
    for name, pause in (("whole", "1"), ("paused", "not(between(t,4,80))")):
        coding = ("-af", f"aselect='{pause}'", "-c:a", codec, "-f", muxer)
        ffmpeg("-i", wav, *coding, tmp_path / name)
    assert outcome(tmp_path / "whole")[1] == ""
    read, said = outcome(tmp_path / "paused")
    assert read == pytest.approx(14 * 16000, abs=4800)
    missing = float(said.split("where its time stamps jump, ")[1].split(" s or more are left")[0])
    assert missing == pytest.approx(90 - read / 16000, abs=0.2)
    assert "s or more are left out" in outcome(tmp_path / "paused", stop=8 * 16000)[1]
    whole = (tmp_path / "whole").read_bytes()
    if muxer == "mpegts":  # whose times begin anew
        (tmp_path / "joined").write_bytes((tmp_path / "paused").read_bytes() + whole)
        assert "s or more are left out" in outcome(tmp_path / "joined")[1]


@pytest.mark.parametrize("codec", ["libopus", "libvorbis"])
def test_a_pause_in_opus_and_vorbis(here, codec):
    """libsndfile reads packet behind packet, whatever their positions."""
    bursts_at = "between(t,1,1.2)+between(t,8,8.2)"
    sound = f"aevalsrc='0.1*sin(2000*t)*(1+4*({bursts_at}))':s=48000:d=10"
    pause = "aselect='not(between(t,3,6))'"
    ffmpeg("-f", "lavfi", "-i", sound, "-af", pause, "-c:a", codec, "a.mka")
    ffmpeg("-i", "a.mka", "-c", "copy", "a.ogg")
    for stop in (9, math.inf):
        with open_audio(here / "a.ogg") as file:
            heard = np.concatenate(list(file.blocks(48000 * stop)))[:, 0]
            assert "s of silence were put in" in file.damage
        loud = np.flatnonzero(np.abs(heard) > 0.3) / 48000
        np.testing.assert_allclose(loud[[0, -1]], [1.0, 8.2], atol=0.05)


@pytest.mark.parametrize("codec, every", [("libopus", 25), ("libvorbis", 40)])
def test_lost_packets_of_opus_and_vorbis(here, codec, every):
    """As of a call, of which the times of the others are right."""
    loud = "between(t,1,1.2)+between(t,18,18.2)"
    sound = f"aevalsrc='0.1*sin(2000*t)*(1+4*({loud}))':s=48000:d=20"
    ffmpeg("-f", "lavfi", "-i", sound, "-c:a", codec, "a.mka")
    lost = rf"noise=drop=not(mod(n\,{every}))"
    ffmpeg("-i", "a.mka", "-c", "copy", "-bsf:a", lost, "b.mka")
    ffmpeg("-i", "b.mka", "-c", "copy", "a.ogg")
    with open_audio(here / "a.ogg") as file:
        heard = np.concatenate(list(file.blocks(48000 * 19)))[:, 0]
        assert "s of silence were put in" in file.damage
    ends = np.flatnonzero(np.abs(heard) > 0.3)[[0, -1]] / 48000
    np.testing.assert_allclose(ends, [1.0, 18.2], atol=0.11)


def test_positions_of_vorbis_that_are_too_early(here):
    """As of a device whose clock is fast; libsndfile leaves out the end."""
    early = "asetpts='if(lt(T,5),PTS,(5+(T-5)*0.99)/TB)'"
    ffmpeg(
        "-f", "lavfi", "-i", "anoisesrc=d=40:r=16000", "-af", early, "-c:a", "libvorbis", "a.ogg"
    )
    assert "s of sound were left out" in outcome(here / "a.ogg")[1]


def test_pictures_whose_times_are_closed_up_are_said(here, command):
    """A slide show with one picture every 70 s."""
    picture = "testsrc=s=64x64:r=25:d=150,select='not(mod(n,1750))'"
    tone = "aevalsrc='0.1*sin(2000*t)':s=16000:d=150"
    inputs = ("-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", tone)
    ffmpeg(*inputs, "-fps_mode", "vfr", "-c:v", "theora", "-c:a", "libvorbis", "a.ogv")
    status, _, said = command("denoise", "a.ogv", "-o", "b.mkv")
    assert status == 0 and "does not hold these metadata of a.ogv: the time of its pictures" in said


@pytest.mark.parametrize("second", ["flac", "libspeex"])
def test_a_second_track_of_another_coding_in_ogg_is_not_lost(here, command, second):
    for name, start in (("a", "0"), ("b", "2")):
        tone = f"aevalsrc='0.5*sin(2000*t)*gte(t,{start})':s=16000:d=4"
        ffmpeg("-f", "lavfi", "-i", tone, f"{name}.wav")
    coding = ("-c:a:0", "libvorbis", "-c:a:1", second)
    ffmpeg("-i", "a.wav", "-i", "b.wav", "-map", "0", "-map", "1", *coding, "a.ogg")
    status, _, said = command("denoise", "a.ogg", "-o", "b.wav")
    assert status == 1 and "a.ogg has 2 sound tracks" in said
    assert command("denoise", "a.ogg", "--track", "2", "-o", "c.wav", "--strength", "0")[0] == 0
    assert bursts(here / "c.wav", 16000) == [pytest.approx(2, abs=0.1)]


def test_sound_before_the_picture_in_ogg_keeps_its_time(here, command):
    picture = "color=white:s=64x64:r=25:d=4"
    tone = "aevalsrc='0.5*sin(2000*t)':s=48000:d=2"
    inputs = ("-f", "lavfi", "-i", picture, "-itsoffset", "2", "-f", "lavfi", "-i", tone)
    ffmpeg(*inputs, "-map", "1", "-map", "0", "-c:v", "theora", "-c:a", "libvorbis", "a.ogv")
    status, _, said = command("denoise", "a.ogv", "-o", "b.wav", "--strength", "0")
    assert status == 0 and "b.wav is without the picture" in said
    assert bursts(here / "b.wav") == [pytest.approx(2, abs=0.1)]


def with_chapters(folder) -> tuple[str, ...]:
    """Return the options of ffmpeg that give its first input two chapters of 2 s."""
    times = "".join(
        f"[CHAPTER]\nTIMEBASE=1/1000\nSTART={begin}\nEND={begin + 2000}\n" for begin in (0, 2000)
    )
    (folder / "chapters").write_text(f";FFMETADATA1\n{times}")
    return ("-f", "ffmetadata", "-i", "chapters", "-map_chapters", "1")


def test_chapters_of_m4a_whose_track_is_missing(here, command):
    """As ffmpeg 9 writes them."""
    make(here / "a.wav", tone(4 * 16000))
    ffmpeg("-i", "a.wav", *with_chapters(here), "a.m4a")
    data = bytearray((here / "a.m4a").read_bytes())
    if data.count(b"trak") > 1:
        track, movie = data.rindex(b"trak") - 4, data.rindex(b"moov") - 4
        size = int.from_bytes(data[track : track + 4], "big")
        whole = int.from_bytes(data[movie : movie + 4], "big")
        data[movie : movie + 4] = (whole - size).to_bytes(4, "big")
        del data[track : track + size]
    (here / "b.m4a").write_bytes(data)
    status, _, said = command("denoise", "b.m4a", "-o", "c.m4a")
    assert status == 0 and "warning" not in said
    assert [chapter.start for chapter in probe(here / "c.m4a").chapters] == [0, 2]


@pytest.mark.parametrize("suffix", ["mka", "m4a", "ogg", "mp3"])
def test_a_file_whose_times_begin_late_is_whole_and_keeps_its_chapters(here, command, suffix):
    """As recorders and programs that cut write them."""
    make(here / "a.wav", tone(4 * 16000))
    ffmpeg("-i", "a.wav", *with_chapters(here), "-c:a", "flac", "b.mka")
    ffmpeg("-itsoffset", "5", "-i", "b.mka", "-c", "copy", "-copyts", "c.mka")
    assert [chapter.start for chapter in probe(here / "c.mka").chapters] == [0, 2]
    status, _, said = command("denoise", "c.mka", "-o", f"d.{suffix}")
    assert status == 0 and "warning" not in said
    found = probe(here / f"d.{suffix}").chapters
    assert [chapter.start for chapter in found] == [0, pytest.approx(2, abs=0.01)]


@pytest.mark.parametrize("start", [1.0, 2.3, 3.3])
@pytest.mark.parametrize("rate", [16000, 48000])
def test_the_end_of_vorbis_that_was_cut_without_coding_is_read(here, start, rate):
    """The first page holds more samples than its position says, and those are before 0."""
    wave = f"aevalsrc='0.5*sin(2000*t)*between(mod(t,0.9),0,0.2)':s={rate}:d=7.37"
    ffmpeg("-f", "lavfi", "-i", wave, "-c:a", "libvorbis", "a.ogg")
    ffmpeg("-ss", start, "-i", "a.ogg", "-c", "copy", "b.ogg")
    expected = [place - start for place in bursts(here / "a.ogg", rate) if place > start]
    found = bursts(here / "b.ogg", rate)
    assert found[-len(expected) :] == pytest.approx(expected, abs=0.05)
    assert outcome(here / "b.ogg")[0] / rate == pytest.approx(7.37 - start, abs=0.05)


@pytest.mark.parametrize("channels", [1, 2, 6])
def test_blocks_of_vorbis_give_the_position_of_the_first_page(here, channels):
    with soundfile.SoundFile("a.ogg", "w", 44100, channels, "VORBIS", format="OGG") as file:
        file.write(np.random.default_rng(0).uniform(-0.5, 0.5, (441_000, channels)))
    headers = read_headers(here / "a.ogg")
    assert samples_before_begin(here / "a.ogg", headers) == 0
    data = bytearray((here / "a.ogg").read_bytes())
    position = int.from_bytes(data[headers.end + 6 : headers.end + 14], "little")
    data[headers.end + 6 : headers.end + 14] = (position - 64).to_bytes(8, "little")
    (here / "b.ogg").write_bytes(data)
    assert samples_before_begin(here / "b.ogg", headers) == 64
