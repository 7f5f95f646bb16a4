"""Write audio files: complete or not at all, in the format of the source."""

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from audio_files import CONTAINER, KINDS, WAV, make, read, tone

from qse.audio.formats import Layout
from qse.audio.reader import BLOCK, AudioFile
from qse.audio.writer import update_header, write
from qse.errors import QseError


def fill_the_disk(path: Path, subtype: str, room: int, keep_partial: bool) -> str:
    """Return the error of `write` on a full disk, simulated by a limit on the size of files in
    bytes."""
    code = f"""if True:
        import resource, numpy as np
        from pathlib import Path
        from qse.audio.writer import write
        from qse.audio.formats import Layout, format_of
        resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
        noise = np.random.default_rng(0).standard_normal((60000, 1)).astype(np.float32) / 4
        path = Path({str(path)!r})
        layout = Layout(16000, 1, format_of(path), {subtype!r}, "FILE", {{}})
        write(path, np.split(noise, 60), layout, keep_partial={keep_partial})"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return process.stderr.splitlines()[-1]


FULL = [("wav", "PCM_16"), ("flac", "PCM_16"), ("ogg", "VORBIS"), ("opus", "OPUS")]


@pytest.mark.parametrize("suffix, subtype", KINDS)
def test_write_copies_format_length_and_samples(tmp_path, suffix, subtype):
    path = make(tmp_path / f"a.{suffix}", tone(BLOCK + 5000, 2), subtype)
    with AudioFile(path) as source:
        assert source.samples == BLOCK + 5000
        layout = source.layout.to(tmp_path / f"b.{suffix}")
        assert write(tmp_path / f"b.{suffix}", source.blocks(), layout) == BLOCK + 5000
    before = soundfile.info(path)
    after = soundfile.info(tmp_path / f"b.{suffix}")
    for aspect in ("format", "subtype", "samplerate", "channels", "frames", "endian"):
        assert getattr(after, aspect) == getattr(before, aspect), aspect
    exact = subtype not in ("VORBIS", "OPUS", "MPEG_LAYER_III")
    one = soundfile.read(path, dtype="float32")[0]
    other = soundfile.read(tmp_path / f"b.{suffix}", dtype="float32")[0]
    np.testing.assert_allclose(other, one, atol=0 if exact else 0.15)


def test_write_keeps_tags(tmp_path):
    for suffix in ("wav", "flac", "ogg", "mp3"):
        path = tmp_path / f"a.{suffix}"
        with soundfile.SoundFile(path, "w", 16000, 1) as file:
            file.title = "Gespräch"
            file.artist = "someone"
            file.write(tone(20000))
        with AudioFile(path) as source:
            write(tmp_path / f"b.{suffix}", source.blocks(), source.layout)
        copy = soundfile.SoundFile(tmp_path / f"b.{suffix}").copy_metadata()
        assert (copy["title"], copy["artist"]) == ("Gespräch", "someone"), suffix


@pytest.mark.parametrize("suffix, subtype", KINDS)
def test_write_keep_partial_in_every_format(tmp_path, suffix, subtype):
    layout = Layout(16000, 1, CONTAINER.get(suffix, suffix.upper()), subtype, "FILE", {})
    blocks = [tone(500)] * 20
    assert write(tmp_path / f"a.{suffix}", blocks, layout, keep_partial=True) == 10000
    heard, _ = soundfile.read(tmp_path / f"a.{suffix}", dtype="float32", always_2d=True)
    assert heard.shape == (10000, 1)
    assert np.abs(heard - np.concatenate(blocks)).mean() < 0.05


def test_update_header_counts_samples_before_close(tmp_path):
    with soundfile.SoundFile(tmp_path / "a.wav", "w", 16000, 1, "PCM_16") as file:
        update_header(file)
        for count in (1, 2, 3):
            file.write(tone(1000))
            assert soundfile.info(tmp_path / "a.wav").frames == 1000 * count


def test_write_refuses_what_is_too_long_for_wav(tmp_path, monkeypatch):
    monkeypatch.setattr(Layout, "longest", 2500)
    with pytest.raises(QseError, match=r"a\.wav: a WAV file cannot be so long; name a \.rf64"):
        write(tmp_path / "a.wav", [tone(1000)] * 3, WAV)
    assert not list(tmp_path.iterdir())
    assert write(tmp_path / "a.wav", [tone(1000)] * 2, WAV) == 2000


def test_write_leaves_nothing_when_interrupted(tmp_path):
    def blocks():
        yield tone(1000)
        # hidden, beside the target
        assert sorted(path.suffix for path in tmp_path.iterdir()) == [
            ".lock",
            ".part",
        ]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "a.wav", blocks(), WAV)
    assert list(tmp_path.iterdir()) == []


def test_write_makes_the_folders_of_its_target(tmp_path):
    assert write(tmp_path / "new" / "folder" / "a.wav", [tone(10)], WAV) == 10
    assert read(tmp_path / "new" / "folder" / "a.wav") == 10


def test_write_replaces_only_with_overwrite(tmp_path):
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


def test_write_refuses_to_replace_a_device():
    with pytest.raises(QseError, match="is not a regular file"):
        write(
            Path(os.devnull),
            [tone(10, 1)],
            Layout(16000, 1, "WAV", "PCM_16", "FILE", {}),
            overwrite=True,
        )


def test_write_refuses_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        QseError, match=r"file.a.wav cannot be written: (Not a directory|.*file is no folder)"
    ):
        write(tmp_path / "file" / "a.wav", [tone(10)], WAV)


def test_write_names_what_the_format_cannot_hold(tmp_path):
    many = Layout(16000, 5, "MP3", "MPEG_LAYER_III", "FILE", {})
    with pytest.raises(QseError, match=r"a.mp3: libsndfile does not write MP3 .* with 5 channels"):
        write(tmp_path / "a.mp3", [tone(10, 5)], many)
    assert list(tmp_path.iterdir()) == []


def test_write_clips_pcm(tmp_path):
    write(tmp_path / "a.wav", [np.float32([[1.5], [-1.5], [0.5]])], WAV)
    np.testing.assert_array_equal(
        soundfile.read(tmp_path / "a.wav", dtype="int16")[0], [32767, -32768, 16384]
    )


@pytest.mark.parametrize(
    "subtype", ["ULAW", "ALAW", "IMA_ADPCM", "MS_ADPCM", "GSM610", "NMS_ADPCM_16"]
)
def test_write_clips_telephone_codes(tmp_path, subtype):
    loud = np.float32(1.3 * np.sin(0.2 * np.arange(8000)))[:, None]
    write(tmp_path / "a.wav", [loud], replace(WAV, subtype=subtype, sample_rate=8000))
    read_again = soundfile.read(tmp_path / "a.wav")[0][: len(loud), None]
    assert (read_again[abs(loud) > 0.9] * loud[abs(loud) > 0.9] > 0).all()


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files by setrlimit")
@pytest.mark.parametrize("suffix, subtype", FULL)
@pytest.mark.parametrize("room", [0, 3000])
def test_write_leaves_nothing_on_a_full_disk(tmp_path, suffix, subtype, room):
    said = fill_the_disk(tmp_path / f"a.{suffix}", subtype, room, keep_partial=False)
    assert f"a.{suffix} could not be written to its end: is the disk full?" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="its temporary files are those of one user")
def test_write_shows_no_temporary_file_of_alac(tmp_path, monkeypatch):
    """In which libsndfile keeps all samples until the file is closed."""
    seen = []

    def blocks():
        for _ in range(30):
            yield tone(4096)
            seen.extend(folder.rglob("*"))

    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    path = tmp_path / "a.caf"
    assert write(path, blocks(), replace(WAV, format="CAF", subtype="ALAC_16")) == 30 * 4096
    assert not seen
    assert os.environ["TMPDIR"] == str(folder)
    assert len(soundfile.read(path)[0]) == 30 * 4096


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files by setrlimit")
@pytest.mark.parametrize("suffix, subtype", KINDS)
def test_write_finds_that_the_last_bytes_are_not_there(tmp_path, suffix, subtype):
    """Encoders keep some back until the file is closed, where no error is reported."""
    code = f"""if True:
        import os, resource, signal, numpy as np
        from pathlib import Path
        from qse.audio.writer import write
        from qse.audio.formats import Layout, format_of
        from qse.errors import QseError
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        noise = np.random.default_rng(0).standard_normal((60000, 1)).astype(np.float32) / 4
        path = Path("a.{suffix}")
        rate = 8000 if {subtype!r} in ("OPUS", "MPEG_LAYER_III") else 16000
        layout = Layout(rate, 1, format_of(path), {subtype!r}, "FILE", {{}})
        write(path, np.split(noise, 60), layout)
        size = os.path.getsize(path)
        for lacking in (2, 16, 150, 217, 700, 1500):  # the last byte of VOC says that nothing comes
            resource.setrlimit(resource.RLIMIT_FSIZE, (size - lacking, -1))
            try:
                write(path, np.split(noise, 60), layout, overwrite=True)
                print("published", lacking)
            except QseError as error:
                assert "disk full" in str(error), error
        assert os.path.getsize(path) == size"""
    line = [sys.executable, "-c", code]
    process = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert (process.returncode, process.stdout) == (0, ""), process.stderr


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files by setrlimit")
@pytest.mark.parametrize("suffix, subtype", FULL[:2])
def test_write_keep_partial_on_a_full_disk(tmp_path, suffix, subtype):
    said = fill_the_disk(tmp_path / f"a.{suffix}", subtype, 20000, keep_partial=True)
    assert f"a.{suffix} ends early: is the disk full? What was written so far is kept" in said
    with soundfile.SoundFile(tmp_path / f"a.{suffix}") as file:
        assert len(file.read(4000)) == 4000


@pytest.mark.parametrize(
    "rate, fits", [(65535, True), (81540, True), (655350, True), (81536, False), (655360, False)]
)
def test_write_names_rates_that_flac_cannot_hold(tmp_path, rate, fits):
    layout = replace(WAV, format="FLAC", sample_rate=rate)
    if fits:
        assert write(tmp_path / "a.flac", [tone(10)], layout) == 10
        return
    with pytest.raises(
        QseError, match=rf"a\.flac: FLAC cannot hold {rate} Hz; name an output that ends in \.wav"
    ):
        write(tmp_path / "a.flac", [tone(10)], layout)


def test_a_sample_rate_that_a_format_does_not_hold_is_refused(tmp_path):
    layout = Layout(48_000, 1, "VOC", "PCM_U8", "FILE", {})
    with pytest.raises(QseError, match="holds 50000 Hz instead of 48000"):
        write(tmp_path / "a.voc", [np.zeros((4800, 1), np.float32)], layout)
    assert not list(tmp_path.iterdir())
