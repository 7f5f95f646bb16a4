"""Damaged files of every format: the samples out are as many as those in, or a sentence says that
some are missing."""

import os
import shutil
import subprocess
from pathlib import Path
from random import Random

import numpy as np
import pytest
import soundfile
from audio_files import CONTAINER

from qse.audio.damage_text import MOST, named
from qse.audio.ebml import damaged_places
from qse.audio.formats import frame_bytes
from qse.audio.mp3_frames import read_frames
from qse.audio.ogg_pages import read_pages
from qse.audio.reader import open_audio
from qse.errors import QseError

SAMPLES = 40_000
SUBTYPES = {"ogg": "VORBIS", "opus": "OPUS", "mp3": "MPEG_LAYER_III"}
SUFFIXES = ("wav", "w64", "rf64", "aiff", "au", "caf", "voc", "sph", "flac", *SUBTYPES)
KINDS = ("cut", "flip", "remove")
PLACES = int(os.environ.get("QSE_TEST_PLACES", "12"))  # of each kind and format


@pytest.fixture(scope="module")
def sound():
    phase = 0.05 * np.arange(SAMPLES) * (1 + np.arange(SAMPLES) / SAMPLES)
    noise = 0.05 * np.random.default_rng(0).standard_normal(SAMPLES)
    return (0.3 * np.sin(phase) + noise).astype(np.float32)


def write(path: Path, sound: np.ndarray) -> Path:
    suffix = path.suffix[1:]
    subtype = SUBTYPES.get(suffix, "PCM_16")
    soundfile.write(path, sound, 16000, subtype, format=CONTAINER.get(suffix))
    return path


def without_length(path: Path, sound: np.ndarray) -> Path:
    """Write an MP3 file without an Info frame."""
    wav = write(path.with_suffix(".wav"), sound)
    plain = ["-write_xing", "0", "-id3v2_version", "0"]
    line = ["ffmpeg", "-v", "error", "-y", "-i", wav, "-b:a", "64k", *plain, path]
    subprocess.run(list(map(str, line)), check=True, stdin=subprocess.DEVNULL)
    return path


def measured(path: Path, salvage: bool = False) -> tuple[float, str | None]:
    """Return the bytes that the samples take, or their number if they are compressed, and what is
    said of damage.

    A header may state other channels or bits: then all bytes are still there.
    """
    with open_audio(path, salvage=salvage) as source:
        count = sum(map(len, source.blocks()))
        layout = source.layout
    pcm = layout.subtype.startswith("PCM") and layout.format != "FLAC"
    return count * (frame_bytes(layout.channels, layout.subtype) if pcm else 1), source.damage


def damaged(data: bytes, kind: str, rng: Random) -> bytes:
    at = rng.randrange(len(data) if rng.random() < 0.8 else 200)
    if kind == "cut":
        return data[:at]
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    return data[:at] + data[at + rng.choice((1, 4, 100, 3000)) :]


def lost_unsaid(path: Path, kind: str, places: int) -> list[str]:
    """Return the cases in which samples are missing, and nothing says so."""
    whole, said = measured(path)
    assert said is None
    data = path.read_bytes()
    rng = Random(f"{path.suffix} {kind}")
    other = path.with_stem("damaged")
    found = []
    for number in range(places):
        other.write_bytes(damaged(data, kind, rng))
        for salvage in (False, True):
            try:
                got, damage = measured(other, salvage)
            except QseError as error:
                assert "damaged" in str(error)  # the file is named
                continue
            if whole - got > 24 and not damage:
                found.append(f"{kind} {number}, salvage={salvage}: {got} of {whole}")
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_is_lost_without_a_word(tmp_path, sound, suffix, kind):
    path = write(tmp_path / f"a.{suffix}", sound)
    assert lost_unsaid(path, kind, PLACES) == []


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_of_an_mp3_without_a_length(tmp_path, sound, kind):
    path = without_length(tmp_path / "a.mp3", sound)
    assert lost_unsaid(path, kind, PLACES) == []


@pytest.mark.parametrize("suffix", ["ogg", "opus"])
@pytest.mark.parametrize("place", ["first", "last"])
def test_damaged_page_of_an_ogg_is_named_with_seconds(tmp_path, suffix, place):
    """libsndfile leaves it out: the sound begins later, or ends earlier."""
    sound = 0.1 * np.random.default_rng(0).standard_normal(160_000).astype(np.float32)
    path = write(tmp_path / f"a.{suffix}", sound)
    data = bytearray(path.read_bytes())
    if place == "last":
        data[-1] ^= 1
    else:
        at = data.index(b"OggS", len(data) // 20)
        while int.from_bytes(data[at + 6 : at + 14], "little", signed=True) < 1:
            at = data.index(b"OggS", at + 1)
        data[at + 40] ^= 1
    path.write_bytes(data)
    with pytest.raises(QseError, match=r"is damaged: a page is damaged at \d+\.\d\d s.*salvage"):
        open_audio(path)
    got, damage = measured(path, salvage=True)
    assert got < len(sound) and f"{got / 16000:.2f} s were read" in damage
    assert "a page is damaged at" in damage
    if place == "first" and suffix == "ogg":
        assert f"{10 - got / 16000:.2f} s are missing" in damage


def test_ogg_without_a_mark_at_its_end_is_read_with_a_sentence(tmp_path, sound):
    """Recorders leave such files; so does a cut between two pages."""
    path = write(tmp_path / "a.ogg", np.concatenate([sound, sound, sound]))
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"OggS")])
    got, damage = measured(path)
    assert got < 3 * SAMPLES and "a.ogg may be cut: its last page is not marked" in damage
    assert not read_pages(path).has_ends


def test_mp3_with_a_hole_says_where(tmp_path, sound):
    if shutil.which("ffmpeg") is None:
        pytest.skip("needs ffmpeg")
    path = without_length(tmp_path / "a.mp3", sound)
    data = path.read_bytes()
    path.write_bytes(data[:8000] + data[11_000:])
    with pytest.raises(QseError, match=r"a\.mp3 is damaged: bytes are no frames at \d\.\d\d s"):
        open_audio(path)
    got, damage = measured(path, salvage=True)
    assert got < SAMPLES and "bytes are no frames at" in damage


def test_header_that_states_more_samples_is_read_with_their_number(tmp_path, sound):
    for suffix in ("wav", "w64", "rf64", "aiff", "au", "caf"):
        path = write(tmp_path / f"a.{suffix}", sound)
        path.write_bytes(path.read_bytes()[:-6])
        _, damage = measured(path)
        assert "its header states 3 more samples than there are" in damage, suffix


def test_wav_header_that_contradicts_itself_is_refused(tmp_path, sound):
    path = write(tmp_path / "a.wav", sound)
    data = bytearray(path.read_bytes())
    data[23] ^= 1  # 257 channels
    path.write_bytes(data)
    with pytest.raises(QseError, match=r"a\.wav is damaged: its header states 2 and 514 bytes"):
        open_audio(path)


def test_places_are_few_however_many_are_damaged(tmp_path, sound):
    """A place in every few bytes took five times the memory of the file."""
    path = write(tmp_path / "a.ogg", sound)
    path.write_bytes(path.read_bytes() + (b"OggS" + bytes(23)) * 10_000)
    assert len(read_pages(path).places) == MOST
    mp3 = write(tmp_path / "a.mp3", sound)
    data = mp3.read_bytes()
    mp3.write_bytes((data[-1000:] + b"\x01") * 5000)
    assert len(read_frames(mp3).holes) == MOST
    clusters = bytes.fromhex("1a45dfa3801853806701ffffffffffffff") + b"\x1fC\xb6u\x81\0" * 9000
    (tmp_path / "a.mka").write_bytes(clusters)
    places = damaged_places(tmp_path / "a.mka")
    assert len(places) == MOST and f"and at least {MOST - 3} more places" in named(places)


@pytest.mark.parametrize(("suffix", "end"), [("flac", b"\xff\xf8"), ("mp3", b"APETAGEX")])
def test_an_end_that_begins_like_a_frame_or_a_tag_is_no_traceback(tmp_path, sound, suffix, end):
    path = write(tmp_path / f"a.{suffix}", sound)
    path.write_bytes(path.read_bytes() + end)
    got, _ = measured(path, salvage=True)
    assert got >= SAMPLES
