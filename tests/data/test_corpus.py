"""Corpora: reading folders, excerpts, loops."""

import numpy as np
import pytest
import soundfile

torch = pytest.importorskip("torch")

from made_corpora import RATE, sine, speech_corpus
from tagged_files import ffmpeg, needs_ffmpeg

from qse.data.corpus import Corpus, read_recordings
from qse.errors import QseError


def test_corpus_reads_a_folder(tmp_path):
    stereo = np.stack([sine(500, 0.5), sine(500, 0.5)], axis=1)
    files = {
        "b/one.wav": (sine(440, 0.2), RATE),
        "a/deep/two.flac": (stereo, RATE),
        "a/three.wav": (sine(1000, 1.0, 0.5), RATE // 2),
        "top.wav": (sine(100, 0.1), RATE),
    }
    for name, (audio, rate) in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(tmp_path / name, audio, rate, subtype="PCM_16")
    (tmp_path / "a" / "notes.txt").write_text("not audio")
    corpus = Corpus.read(tmp_path)
    assert corpus.names == ("", "a", "b")
    assert corpus.groups.tolist() == [0, 1, 1, 2]
    files = [
        corpus.audio[s : s + n].numpy() for s, n in zip(corpus.starts, corpus.lengths, strict=True)
    ]
    np.testing.assert_array_equal(files[0], sine(100, 0.1))
    np.testing.assert_array_equal(files[1], sine(500, 0.5))
    np.testing.assert_array_equal(files[3], sine(440, 0.2))
    # 8 kHz became 16 kHz, so 1000 Hz of a half-speed file is 500 Hz
    assert len(files[2]) == 2 * RATE
    assert np.argmax(np.abs(np.fft.rfft(files[2]))) == 1000


def test_corpus_follows_links_of_groups(tmp_path):
    for name in ("here/a/one.wav", "there/two.wav", "secret/three.wav"):
        (tmp_path / name).parent.mkdir(parents=True)
        soundfile.write(tmp_path / name, sine(100, 0.1), RATE)
    (tmp_path / "here" / "b").symlink_to(tmp_path / "there")
    (tmp_path / "here" / ".hidden").symlink_to(tmp_path / "secret")
    (tmp_path / "there" / "round").symlink_to(tmp_path / "here")
    corpus = Corpus.read(tmp_path / "here")
    assert corpus.names == ("a", "b") and corpus.groups.tolist() == [0, 1]


def test_corpus_names_unusable_files(tmp_path):
    with pytest.raises(QseError, match="nowhere"):
        Corpus.read(tmp_path / "nowhere")
    with pytest.raises(QseError, match="no audio"):
        Corpus.read(tmp_path)
    (tmp_path / "text.wav").write_text("this is not a recording")
    soundfile.write(tmp_path / "empty.wav", np.zeros(0), RATE)
    soundfile.write(tmp_path / "nan.wav", np.full(10, np.nan), RATE, subtype="FLOAT")
    soundfile.write(tmp_path / "loud.wav", np.full(10, 32767.0), RATE, subtype="FLOAT")
    soundfile.write(tmp_path / "slow.wav", np.full(10, 0.5), 1)
    with pytest.raises(
        QseError, match=r"(?s)empty\.wav.*loud\.wav.*nan\.wav.*slow\.wav.*text\.wav"
    ):
        Corpus.read(tmp_path)


def test_excerpts_lie_at_their_positions():
    corpus = speech_corpus()
    row = corpus.excerpts(*torch.tensor([[100], [2000], [50]]), 3000, 10)[0] * 32768
    assert not row[:50].any() and not row[2050:].any()
    torch.testing.assert_close(row[60:2040], corpus.audio[110:2090].float())


def test_loops_join_in_a_cross_fade():
    constant = Corpus.of([np.full(1000, 16384, "i2"), np.full(50, -9, "i2")], ["", ""])
    row = constant.loops(*torch.tensor([[0], [1000], [900], [300]]), 5000, 100)
    torch.testing.assert_close(row, torch.full((1, 5000), 0.5))
    gapped = constant.loops(*torch.tensor([[0], [1000], [1500], [0]]), 4500, 100)[0]
    assert (gapped == 0).sum() == pytest.approx(3 * 500, abs=3)


def test_a_recording_that_may_be_cut_is_said(tmp_path):
    path = tmp_path / "a.ogg"
    noise = 0.1 * np.random.default_rng(0).standard_normal(48000)
    soundfile.write(path, noise, 16000, format="OGG")
    path.write_bytes(path.read_bytes()[: path.read_bytes().rindex(b"OggS")])
    with pytest.warns(UserWarning, match="a.ogg may be cut"):
        read_recordings([path], 16000)


@needs_ffmpeg
def test_a_second_sound_track_is_said(tmp_path):
    wav = tmp_path / "a.wav"
    soundfile.write(wav, 0.1 * np.random.default_rng(0).standard_normal(16000), 16000)
    both = ("-i", wav, "-i", wav, "-map", "0", "-map", "1", "-c:a", "libvorbis")
    ffmpeg(*both, tmp_path / "a.ogg")
    with pytest.warns(UserWarning, match="a.ogg: the first of its 2 sound tracks is read"):
        read_recordings([tmp_path / "a.ogg"], 16000)
