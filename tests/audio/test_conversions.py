"""Sound of many codings, numbers of channels, positions and sample rates keeps its channels, times
and levels through many others, by ffmpeg: a selection of all combinations, with a fixed seed."""

import random
import subprocess

import numpy as np
import pytest
from tagged_files import ffmpeg, needs_ffmpeg, probed

pytestmark = needs_ffmpeg
CODINGS = {  # suffix and encoder of an input: options of ffmpeg
    "wav pcm_s16le": (),
    "wav pcm_s24le": (),
    "wav pcm_f32le": (),
    "w64 pcm_f32le": (),
    "rf64 pcm_s24le": ("-rf64", "always", "-f", "wav"),
    "aiff pcm_s16be": (),
    "aiff pcm_f32be": (),
    "au pcm_s16be": (),
    "caf pcm_s16le": (),
    "caf alac": (),
    "flac flac": (),
    "ogg libvorbis": (),
    "opus libopus": (),
    "m4a aac": (),
    "m4a alac": (),
    "mka ac3": (),
    "mka pcm_f32le": (),
    "wv wavpack": (),
    "wma wmav2": (),
    "ts mp2": (),
    "mov pcm_s24le": (),
}
POSITIONS = {  # by the number of channels; "": none
    1: ("mono", ""),
    2: ("stereo", ""),
    3: ("3.0", "2.1", ""),
    4: ("4.0", "quad", ""),
    6: ("5.1", "6.0", ""),
    8: ("7.1", ""),
}
TARGETS = (
    *("wav", "w64", "rf64", "flac", "mp3", "ogg", "opus", "aiff", "au", "caf", "voc", "nist"),
    *("m4a", "mka", "weba", "wv", "tta"),
)
OPTIONS = (
    *((), ("--loudness", "-24"), ("--channels", "linked"), ("--bit-rate", "192")),
    *(("--from", "0.2"), ("--to", "0.9"), ("--loudness", "-24", "--channels", "linked")),
)
NOT_HELD = (  # of a combination: it is refused
    "libsndfile does not write",
    "Opus would take the fourth",
    "could not be written by ffmpeg (Error initializing output stream",
    "could not be written by ffmpeg (Error while opening encoder",  # since version 7
    "b.wv could not be written: ffmpeg has not written all",  # version 9 makes faults
)
STEP = 0.2  # seconds, from the burst of one channel to that of the next


def selected(count: int) -> list[tuple]:
    draw = random.Random(5)
    found = []
    for _ in range(count):
        channels = draw.choice(list(POSITIONS))
        place = draw.choice(POSITIONS[channels])
        rate = draw.choice((16000, 44100, 48000, 96000))
        coding, target = draw.choice(list(CODINGS)), draw.choice(TARGETS)
        found.append((coding, channels, place, rate, target, draw.choice(OPTIONS)))
    return found


def made(coding: str, channels: int, place: str, rate: int) -> str | None:
    """Make a file with one burst of sound in each channel, one after another; return its name, None
    if ffmpeg cannot write that."""
    suffix, encoder = coding.split()
    sound = np.zeros((round(rate * STEP * (channels + 3)), channels), "<f4")
    times = np.arange(round(rate * STEP / 2)) / rate
    for number in range(channels):
        start = round(rate * STEP * (number + 1.5))
        sound[start : start + len(times), number] = 0.3 * np.sin(2 * np.pi * 300 * times)
    sound.tofile("sound")
    known = ("-ch_layout", place) if place else ("-ac", channels)
    source = ("-guess_layout_max", "0", "-f", "f32le", "-ar", rate, *known, "-i", "sound")
    try:
        ffmpeg(*source, "-c:a", encoder, *CODINGS[coding], f"a.{suffix}")
    except subprocess.CalledProcessError:
        return None
    return f"a.{suffix}"


def heard(name: str) -> tuple[list[tuple[float, float]], str]:
    """Return, for each channel, the begin in seconds and the level of its loudest tenths of a step,
    and the positions of the channels."""
    stream = probed(name)["streams"][0]
    raw = ffmpeg("-i", name, "-map", "0:a:0", "-af", "aresample=16000", "-f", "f32le", "-")
    sound = np.frombuffer(raw, "<f4").reshape(-1, stream["channels"])
    part = round(16000 * STEP / 10)
    power = np.square(sound[: len(sound) // part * part]).reshape(-1, part, sound.shape[1]).mean(1)
    places = (power > 0.3 * power.max(0)).argmax(0) * STEP / 10
    return list(zip(places, np.sqrt(power.max(0)), strict=True)), stream.get("channel_layout", "")


@pytest.mark.parametrize("coding, channels, place, rate, target, options", selected(60))
def test_channels_times_and_levels(here, command, coding, channels, place, rate, target, options):
    source = made(coding, channels, place, rate)
    if source is None:
        pytest.skip("ffmpeg does not write this")
    status, _, said = command("denoise", source, "-o", f"b.{target}", "--strength", "6", *options)
    if status:
        assert any(words in said for words in NOT_HELD), said
        return
    before, positions = heard(source)
    after, others = heard(f"b.{target}")
    assert len(before) == len(after)
    begin = 0.2 if "--from" in options else 0.0
    end = 0.9 if "--to" in options else 100.0
    for (place_before, level_before), (place_after, level_after) in zip(before, after, strict=True):
        if level_before < 0.05 or not begin < place_before < end - STEP:
            continue  # of a subwoofer, or not within the part
        assert place_after == pytest.approx(place_before - begin, abs=0.6 * STEP)
        if "--loudness" not in options:
            assert level_after == pytest.approx(level_before, rel=0.3)
    if positions and others and channels > 2:
        same = positions.split("(")[0] == others.split("(")[0]
        assert same or "channel positions" in said
