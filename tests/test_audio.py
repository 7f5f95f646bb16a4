"""Audio files: what is read is what is there, what is written is whole or not there, and bad files say why."""

import os
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from qse.audio import reader
from qse.audio.formats import Layout, format_of
from qse.audio import reader
from qse.audio.reader import BLOCK, Source
from qse.audio.resample import Resampler
from qse.audio.writer import update_header, write
from qse.errors import QseError

KINDS = [
    *(("wav", subtype) for subtype in ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW")),
    *(("flac", "PCM_16"), ("flac", "PCM_24"), ("aiff", "PCM_16"), ("au", "PCM_16"), ("caf", "PCM_24")),
    *(("w64", "PCM_16"), ("rf64", "PCM_16"), ("ogg", "VORBIS"), ("opus", "OPUS"), ("mp3", "MPEG_LAYER_III")),
    *(("voc", "PCM_16"), ("sph", "PCM_16"), ("snd", "PCM_16"), ("aifc", "PCM_16")),
]
CONTAINER = {"opus": "OGG", "rf64": "RF64", "sph": "NIST", "snd": "AU", "aifc": "AIFF"}


def tone(samples: int, channels: int = 1) -> np.ndarray:
    phase = 0.2 * np.arange(samples)[:, None] * (1 + np.arange(channels))
    return (0.4 * np.sin(phase)).astype(np.float32)


def make(path, audio, subtype=None, sample_rate=16000):
    soundfile.write(path, audio, sample_rate, subtype, format=CONTAINER.get(path.suffix[1:]))
    return path


@pytest.mark.parametrize("suffix, subtype", KINDS)
def test_a_copy_has_the_format_the_length_and_the_samples(tmp_path, suffix, subtype):
    path = make(tmp_path / f"a.{suffix}", tone(BLOCK + 5000, 2), subtype)
    with Source(path) as source:
        assert source.samples == BLOCK + 5000
        layout = source.layout.to(tmp_path / f"b.{suffix}", path)
        assert write(tmp_path / f"b.{suffix}", source.blocks(), layout) == BLOCK + 5000
    before, after = soundfile.info(path), soundfile.info(tmp_path / f"b.{suffix}")
    for aspect in ("format", "subtype", "samplerate", "channels", "frames", "endian"):
        assert getattr(after, aspect) == getattr(before, aspect), aspect
    exact = subtype not in ("VORBIS", "OPUS", "MPEG_LAYER_III")
    one, other = soundfile.read(path, dtype="float32")[0], soundfile.read(tmp_path / f"b.{suffix}", dtype="float32")[0]
    np.testing.assert_allclose(other, one, atol=0 if exact else 0.15)


def test_titles_are_kept(tmp_path):
    for suffix in ("wav", "flac", "ogg", "mp3"):
        path = tmp_path / f"a.{suffix}"
        with soundfile.SoundFile(path, "w", 16000, 1) as file:
            file.title, file.artist = "Gespräch", "someone"
            file.write(tone(20000))
        with Source(path) as source:
            write(tmp_path / f"b.{suffix}", source.blocks(), source.layout)
        copy = soundfile.SoundFile(tmp_path / f"b.{suffix}").copy_metadata()
        assert (copy["title"], copy["artist"]) == ("Gespräch", "someone"), suffix


@pytest.mark.parametrize(
    "source, subtype, target, expected",
    [
        ("a.wav", "PCM_24", "b.flac", ("FLAC", "PCM_24")),
        ("a.wav", "FLOAT", "b.flac", ("FLAC", "PCM_16")),
        ("a.wav", "FLOAT", "b.WAV", ("WAV", "FLOAT")),
        ("a.flac", "PCM_16", "b.opus", ("OGG", "OPUS")),
        ("a.mp3", "MPEG_LAYER_III", "b.ogg", ("OGG", "VORBIS")),
        ("a.mp3", "MPEG_LAYER_III", "b.wav", ("WAV", "PCM_16")),
        ("a.opus", "OPUS", "b.wav", ("WAV", "PCM_16")),
    ],
)
def test_another_suffix_gets_its_format_and_the_nearest_subtype(tmp_path, source, subtype, target, expected):
    path = make(tmp_path / source, tone(1000), subtype)
    with Source(path) as file:
        layout = file.layout.to(tmp_path / target, path)
        write(tmp_path / target, file.blocks(), layout)
    written = soundfile.info(tmp_path / target)
    assert (layout.format, layout.subtype) == (written.format, written.subtype) == expected


def test_what_a_killed_process_left_is_in_nobodys_way(tmp_path):
    path = make(tmp_path / "a.wav", tone(1000), "PCM_16")
    (tmp_path / f".b.wav.{os.getpid()}.part").write_bytes(b"half")
    with Source(path) as file:
        write(tmp_path / "b.wav", file.blocks(), file.layout)
    assert soundfile.info(tmp_path / "b.wav").frames == 1000 and not list(tmp_path.glob(".*"))


def test_every_suffix_names_a_format_of_libsndfile(tmp_path):
    from qse.audio.formats import FORMATS

    assert set(FORMATS.values()) <= set(soundfile.available_formats())
    assert format_of(tmp_path / "A.FLAC") == "FLAC" and format_of(tmp_path / "a.txt") is None
    with pytest.raises(QseError, match=r"b.mp4: no audio format"):
        Layout(16000, 1, "WAV", "PCM_16", "FILE", {}).to(tmp_path / "b.mp4", tmp_path / "a.wav")


def test_an_mp3_has_no_click_between_two_blocks(tmp_path):
    path = make(tmp_path / "a.mp3", tone(2 * BLOCK, 2))
    with Source(path) as source:
        blocks = np.concatenate(list(source.blocks()))
    np.testing.assert_allclose(blocks, soundfile.read(path, dtype="float32")[0], atol=1e-6)


def read(path) -> int:
    with Source(path) as source:
        return sum(len(block) for block in source.blocks())


@pytest.mark.parametrize("suffix, subtype", [kind for kind in KINDS if kind[0] != "caf" or os.name == "posix"])
def test_a_file_that_lost_its_end_is_refused(tmp_path, suffix, subtype):
    path = make(tmp_path / f"a.{suffix}", tone(48000), subtype)
    assert read(path) == 48000
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    with pytest.raises(QseError, match=rf"a.{suffix} is .*(cut short|its beginning is damaged)"):
        read(path)


def test_an_ogg_file_that_does_not_mark_its_end_is_read_whole(tmp_path):
    path = make(tmp_path / "a.ogg", tone(48000), "VORBIS")
    data = bytearray(path.read_bytes())
    page = data.rindex(b"OggS")
    data[page + 5] &= ~4
    data[page + 22 : page + 26] = bytes(4)
    data[page + 22 : page + 26] = struct.pack("<I", ogg_checksum(data[page:]))
    path.write_bytes(data)
    assert read(path) == 48000


def ogg_checksum(page: bytes) -> int:
    """RFC 3533, section 6: the polynomial 0x04C11DB7, bit by bit, beginning with 0."""
    value = 0
    for byte in page:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ 0x04C11DB7 if value >> 31 else value << 1) & 0xFFFFFFFF
    return value


@pytest.mark.parametrize("suffix", ["mp3", "ogg"])
def test_recordings_joined_into_one_file_are_refused_and_not_read_in_part(tmp_path, suffix):
    one = make(tmp_path / f"one.{suffix}", tone(48000))
    joined = tmp_path / f"joined.{suffix}"
    joined.write_bytes(2 * one.read_bytes())
    assert soundfile.info(joined).frames < 50000
    with pytest.raises(QseError, match=rf"joined.{suffix} holds more than libsndfile reads"):
        Source(joined)


def test_an_mp3_that_does_not_tell_its_length_is_read_whole_or_refused(tmp_path):
    audio = np.concatenate([tone(48000), np.zeros((96000, 1), np.float32)])
    for mode in ("CONSTANT", "VARIABLE"):
        path = tmp_path / f"{mode}.mp3"
        soundfile.write(path, audio, 16000, bitrate_mode=mode, compression_level=0.5)
        data = path.read_bytes()
        second = data.index(data[:2], 4)  # the first frame holds nothing but the length
        path.write_bytes(data[second:])
    assert read(tmp_path / "CONSTANT.mp3") == pytest.approx(144000, abs=3000)
    with pytest.raises(QseError, match=r"VARIABLE.mp3 holds more than libsndfile reads"):
        read(tmp_path / "VARIABLE.mp3")


def test_what_looks_like_a_frame_in_the_tag_behind_an_mp3_is_no_sound(tmp_path):
    path = make(tmp_path / "a.mp3", tone(16000))
    data = path.read_bytes()
    frame = data[: data.index(data[:2], 4)]
    for inside in (frame[:4] + bytes(50), bytes(500)):
        path.write_bytes(data + b"APETAGEX" + 40 * (inside + bytes(len(frame))))
        assert read(path) == soundfile.info(path).frames


@pytest.mark.parametrize("rate", [22050, 44100])  # at which frames are of two sizes, so that guesses from one are wrong
def test_an_mp3_is_not_held_to_a_length_that_it_does_not_tell(tmp_path, rate):
    path = tmp_path / "a.mp3"
    noise = np.random.default_rng(0).standard_normal(4 * rate) / 4
    with soundfile.SoundFile(path, "w", rate, 1, bitrate_mode="CONSTANT", compression_level=0.6) as file:
        file.write(noise)
    data = path.read_bytes()
    info = data.index(b"Info")
    path.write_bytes(data[data.index(data[:2], info) :])
    held = len(soundfile.read(path)[0])
    assert held < soundfile.info(path).frames
    assert read(path) == held == pytest.approx(4 * rate, abs=3000)


def test_a_wav_whose_header_was_never_finished_is_refused_and_not_read_in_part(tmp_path):
    path = make(tmp_path / "a.wav", tone(48000))
    data = bytearray(path.read_bytes())
    for samples in (0, 1000):
        data[4:8], data[40:44] = struct.pack("<I", 36 + 2 * samples), struct.pack("<I", 2 * samples)
        path.write_bytes(data)
        with pytest.raises(QseError, match="holds more than libsndfile reads of it: repair its header"):
            Source(path)
    data[4:8], data[40:44] = struct.pack("<I", 0), struct.pack("<I", 2 * 48000)  # as some programs leave it
    path.write_bytes(data)
    assert read(path) == 48000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_sent_to_standard_input(tmp_path):
    os.mkfifo(tmp_path / "a.wav")
    with pytest.raises(QseError, match=r"a.wav is a pipe or a device: .*standard input"):
        Source(tmp_path / "a.wav")


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    def deny(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    make(tmp_path / "a.wav", tone(1000))
    monkeypatch.setattr(type(tmp_path), "open", deny)  # chmod keeps no administrator out
    with pytest.raises(QseError, match=r"a.wav cannot be read: Permission denied"):
        Source(tmp_path / "a.wav")


def test_a_wav_longer_than_its_header_can_say_is_refused_and_not_read_in_part(tmp_path):
    path = make(tmp_path / "a.wav", tone(16000))
    with path.open("r+b") as file:
        file.truncate((1 << 32) + path.stat().st_size)  # takes no room on disk
    with pytest.raises(QseError, match="holds more than libsndfile reads"):
        Source(path)


@pytest.mark.parametrize("announced", [0x7FFFFFDB, 0x80000000, 0xFFFFFFFF])
@pytest.mark.parametrize("channels", [1, 2])
def test_a_wav_from_a_pipe_that_grew_beyond_the_length_it_makes_up_is_refused(tmp_path, announced, channels):
    path = make(tmp_path / "a.wav", tone(1000, channels))
    data = bytearray(path.read_bytes())
    for at in (4, data.index(b"data") + 4):
        data[at : at + 4] = announced.to_bytes(4, "little")
    path.write_bytes(data)
    assert read(path) == 1000
    with path.open("r+b") as file:
        file.truncate(announced + (1 << 20))  # takes no room on disk
    with pytest.raises(QseError, match="holds more than libsndfile reads"):
        Source(path)


def test_a_long_wav_with_tags_behind_its_sound_is_read(tmp_path):
    path = make(tmp_path / "a.wav", tone(1000))
    data = bytearray(path.read_bytes())
    size = (1 << 31) - 500
    for at, count in ((4, size + 36 + 5008), (data.index(b"data") + 4, size)):
        data[at : at + 4] = count.to_bytes(4, "little")
    path.write_bytes(data)
    with path.open("r+b") as file:
        file.truncate(44 + size)
        file.seek(44 + size)
        file.write(b"LIST" + (5000).to_bytes(4, "little") + bytes(5000))
    with Source(path) as source:
        assert source.samples == size // 2


def test_a_header_that_is_kept_tells_how_much_is_there_before_the_file_is_closed(tmp_path):
    with soundfile.SoundFile(tmp_path / "a.wav", "w", 16000, 1, "PCM_16") as file:
        update_header(file)
        for count in (1, 2, 3):
            file.write(tone(1000))
            assert soundfile.info(tmp_path / "a.wav").frames == 1000 * count


@pytest.mark.parametrize("suffix, subtype", KINDS)
def test_what_cannot_be_had_again_is_written_whole_in_every_format(tmp_path, suffix, subtype):
    layout, blocks = Layout(16000, 1, CONTAINER.get(suffix, suffix.upper()), subtype, "FILE", {}), [tone(500)] * 20
    assert write(tmp_path / f"a.{suffix}", blocks, layout, keep_partial=True) == 10000
    heard, _ = soundfile.read(tmp_path / f"a.{suffix}", dtype="float32", always_2d=True)
    assert heard.shape == (10000, 1)
    assert np.abs(heard - np.concatenate(blocks)).mean() < 0.05


def test_what_grows_too_long_for_its_format_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(Layout, "longest", 2500)
    with pytest.raises(QseError, match=r"a\.wav: a WAV file cannot be so long; name a \.rf64"):
        write(tmp_path / "a.wav", [tone(1000)] * 3, WAV)
    assert not list(tmp_path.iterdir())
    assert write(tmp_path / "a.wav", [tone(1000)] * 2, WAV) == 2000


def test_a_disk_that_fails_while_a_file_is_looked_at_is_named(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(5, "Input/output error")

    make(tmp_path / "a.wav", tone(1000))
    monkeypatch.setattr(reader, "has_more", fail)
    with pytest.raises(QseError, match=r"a\.wav cannot be read: Input/output error"):
        Source(tmp_path / "a.wav")


@pytest.mark.skipif(os.name != "posix", reason="needs links and permissions")
def test_what_is_replaced_through_a_link_is_what_it_points_to_with_its_permissions(tmp_path):
    there = make(tmp_path / "there.wav", tone(10))
    there.chmod(0o640)
    (tmp_path / "a.wav").symlink_to(there)
    write(tmp_path / "a.wav", [tone(1000)], WAV, overwrite=True)
    assert (tmp_path / "a.wav").is_symlink() and read(there) == 1000
    assert there.stat().st_mode & 0o777 == 0o640


def test_a_wav_from_a_pipe_does_not_know_its_length_and_is_read(tmp_path):
    path = make(tmp_path / "a.wav", tone(1000))
    data = bytearray(path.read_bytes())
    for at in (4, data.index(b"data") + 4):
        data[at : at + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(data)
    assert read(path) == 1000


def test_a_flac_from_a_pipe_does_not_know_its_length_and_is_read(tmp_path):
    path = make(tmp_path / "a.flac", tone(5000))
    data = bytearray(path.read_bytes())
    data[21] &= 0xF0  # the 36 bits that count the samples
    data[22:26] = bytes(4)
    path.write_bytes(data)
    with Source(path) as source:
        assert source.samples is None
    assert read(path) == 5000


def test_a_header_that_counts_itself_is_forgiven(tmp_path):
    path = make(tmp_path / "a.wav", tone(1000))
    data = bytearray(path.read_bytes())
    at = data.index(b"data") + 4
    data[at : at + 4] = (2000 + 36).to_bytes(4, "little")
    path.write_bytes(data)
    assert read(path) == 1000


def test_bad_files_say_what_they_are(tmp_path):
    def check(name: str, content: bytes | None, sentence: str) -> None:
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(QseError, match=f"{name}:? {sentence}"):
            read(tmp_path / name)

    wav = make(tmp_path / "good.wav", tone(0)).read_bytes()
    check("missing.wav", None, "no such file")
    check("empty.wav", b"", "is empty")
    check("text.wav", b"these are words, not sound\n" * 50, "is not an audio file")
    check("start.wav", wav[:20], "is not an audio file")
    check("silent.wav", wav, "holds no samples")
    check("noise.raw", bytes(range(256)), "is not an audio file")
    (tmp_path / "folder.wav").mkdir()
    check("folder.wav", None, "is a folder")
    with pytest.raises(QseError, match="the microphone is empty"):
        Source(tmp_path / "empty.wav", "the microphone")


@pytest.mark.parametrize("at", [100, BLOCK + 100])
def test_samples_that_are_no_numbers_are_counted_and_placed(tmp_path, at):
    audio = tone(3 * BLOCK, 2)
    audio[at, 1] = np.nan
    audio[-1] = np.inf
    path = make(tmp_path / "a.wav", audio, "FLOAT")
    with pytest.raises(QseError, match=rf"a.wav holds 3 samples .* at {at / 16000:.3f} s in channel 2"):
        read(path)


def test_a_rate_that_no_sound_has_is_refused(tmp_path):
    soundfile.write(tmp_path / "a.wav", tone(100), 999)
    with pytest.raises(QseError, match=r"a.wav claims 999 samples per second: export it again"):
        read(tmp_path / "a.wav")


def test_samples_that_were_never_divided_by_their_full_scale_are_refused(tmp_path):
    path = make(tmp_path / "a.wav", 32768 * tone(20000), "FLOAT")
    with pytest.raises(QseError, match=r"a.wav has samples of 13\d\d\d, where full scale is 1"):
        read(path)
    assert read(make(tmp_path / "loud.wav", 100 * tone(20000), "FLOAT")) == 20000


WAV = Layout(16000, 1, "WAV", "PCM_16", "FILE", {})


def test_nothing_is_left_of_a_file_that_was_not_finished(tmp_path):
    def blocks():
        yield tone(1000)
        assert len(list(tmp_path.iterdir())) == 1  # the file in the making, under another name
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "a.wav", blocks(), WAV)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_replaced_only_when_asked_and_only_by_a_whole_one(tmp_path):
    path = tmp_path / "a.wav"
    path.write_text("precious")
    with pytest.raises(QseError, match=r"a.wav exists already"):
        write(path, [tone(10)], WAV)

    def broken():
        yield tone(10)
        raise QseError("the source broke")

    with pytest.raises(QseError, match="the source broke"):
        write(path, broken(), WAV, overwrite=True)
    assert path.read_text() == "precious"
    assert write(path, [tone(10)], WAV, overwrite=True) == read(path) == 10


def test_a_device_is_not_replaced():
    with pytest.raises(QseError, match="is no file that can be replaced"):
        write(Path(os.devnull), [tone(10, 1)], Layout(16000, 1, "WAV", "PCM_16", "FILE", {}), overwrite=True)


def test_mp3_in_a_wav_goes_out_as_pcm(tmp_path):
    layout = Layout(16000, 1, "WAV", "MPEG_LAYER_III", "FILE", {})
    assert layout.to(tmp_path / "b.wav", tmp_path / "a.wav").subtype == "PCM_16"
    assert replace(layout, format="MP3").to(tmp_path / "b.mp3", tmp_path / "a.mp3").subtype == "MPEG_LAYER_III"


def test_a_flac_of_nothing_but_its_header_holds_no_samples(tmp_path):
    path = tmp_path / "a.flac"
    rate_channels_bits = (16000 << 44) + (15 << 36)  # one channel, 16 bits, an unknown number of samples
    streaminfo = 2 * (4096).to_bytes(2, "big") + bytes(6) + rate_channels_bits.to_bytes(8, "big") + bytes(16)
    path.write_bytes(b"fLaC\x80\0\0\x22" + streaminfo)
    with pytest.raises(QseError, match="no samples"), Source(path) as source:
        list(source.blocks())


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(QseError, match=r"file.a.wav cannot be written: (Not a directory|File exists)"):
        write(tmp_path / "file" / "a.wav", [tone(10)], WAV)


def test_what_a_format_cannot_hold_is_said(tmp_path):
    many = Layout(16000, 5, "MP3", "MPEG_LAYER_III", "FILE", {})
    with pytest.raises(QseError, match=r"a.mp3: libsndfile does not write MP3 .* with 5 channels"):
        write(tmp_path / "a.mp3", [tone(10, 5)], many)
    assert list(tmp_path.iterdir()) == []


def test_too_loud_is_clipped_not_wrapped(tmp_path):
    write(tmp_path / "a.wav", [np.float32([[1.5], [-1.5], [0.5]])], WAV)
    np.testing.assert_array_equal(soundfile.read(tmp_path / "a.wav", dtype="int16")[0], [32767, -32768, 16384])


@pytest.mark.parametrize("subtype", ["ULAW", "ALAW", "IMA_ADPCM", "MS_ADPCM", "GSM610", "NMS_ADPCM_16"])
def test_too_loud_does_not_change_its_sign_in_what_telephones_write(tmp_path, subtype):
    loud = np.float32(1.3 * np.sin(0.2 * np.arange(8000)))[:, None]
    write(tmp_path / "a.wav", [loud], replace(WAV, subtype=subtype, sample_rate=8000))
    read_again = soundfile.read(tmp_path / "a.wav")[0][: len(loud), None]
    assert (read_again[abs(loud) > 0.9] * loud[abs(loud) > 0.9] > 0).all()


def fill_the_disk(path: Path, subtype: str, room: int, keep: bool) -> str:
    """What `write` says of a disk with so many bytes of room, for which a file that may not grow beyond stands in."""
    code = f"""if True:
        import resource, numpy as np
        from pathlib import Path
        from qse.audio.writer import write
        from qse.audio.formats import Layout, format_of
        resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
        noise = np.random.default_rng(0).standard_normal((60000, 1)).astype(np.float32) / 4
        path = Path({str(path)!r})
        layout = Layout(16000, 1, format_of(path), {subtype!r}, "FILE", {{}})
        write(path, np.split(noise, 60), layout, keep_partial={keep})"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return process.stderr.splitlines()[-1]


FULL = [("wav", "PCM_16"), ("flac", "PCM_16"), ("ogg", "VORBIS"), ("opus", "OPUS")]


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files by setrlimit")
@pytest.mark.parametrize("suffix, subtype", FULL)
@pytest.mark.parametrize("room", [0, 3000])
def test_a_full_disk_leaves_nothing(tmp_path, suffix, subtype, room):
    said = fill_the_disk(tmp_path / f"a.{suffix}", subtype, room, keep_partial=False)
    assert f"a.{suffix} could not be written to its end: is the disk full?" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files by setrlimit")
@pytest.mark.parametrize("suffix, subtype", FULL[:2])
def test_what_cannot_be_had_again_is_kept_as_far_as_the_disk_has_room(tmp_path, suffix, subtype):
    said = fill_the_disk(tmp_path / f"a.{suffix}", subtype, 20000, keep_partial=True)
    assert f"a.{suffix} ends early: is the disk full? What was written so far is kept" in said
    with soundfile.SoundFile(tmp_path / f"a.{suffix}") as file:
        assert len(file.read(4000)) == 4000


@pytest.mark.parametrize("rates", [(16000, 16000), (44100, 16000), (16000, 48000), (8000, 16000)])
def test_resampling_in_pieces_is_resampling_at_once(rates):
    import soxr

    audio = tone(10000, 2)
    resampler = Resampler(*rates, 2)
    pieces = [resampler.process(piece) for piece in np.split(audio, [1, 100, 100, 5000])]
    out = np.concatenate([*pieces, resampler.finish()])
    np.testing.assert_allclose(out, soxr.resample(audio, *rates), atol=1e-6)
