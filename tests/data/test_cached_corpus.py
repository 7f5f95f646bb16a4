"""The cache of a large corpus."""

import pytest

torch = pytest.importorskip("torch")

from official_corpora import write

from qse.data.cached_corpus import cached_corpus
from qse.data.corpus import Corpus
from qse.errors import QseError
from qse.export.streaming import speech_like


def test_cached_corpus_equals_the_corpus_in_memory(tmp_path):
    folder = tmp_path / "clean"
    store = tmp_path / "16kHz/clean"
    for seed, name in enumerate(("b/two.wav", "a/one.wav", "root.wav")):
        write(folder / name, speech_like(3000 + seed, 16000, seed))
    files = sorted(folder.rglob("*.wav"))

    def check():
        found = cached_corpus(files, folder, store)
        expected = Corpus.read(folder)
        assert torch.equal(found.audio, expected.audio) and found.names == expected.names == (
            "",
            "a",
            "b",
        )
        for part in ("starts", "lengths", "groups"):
            assert torch.equal(getattr(found, part), getattr(expected, part))

    check()
    written = store.with_suffix(".int16").stat().st_mtime_ns
    check()
    assert store.with_suffix(".int16").stat().st_mtime_ns == written
    mapped = cached_corpus(files, folder, store).audio
    before = mapped.clone()
    write(folder / "a/one.wav", speech_like(5000, 16000, 5))
    check()
    assert torch.equal(mapped, before)  # of a run that still goes on
    store.with_suffix(".int16").unlink()
    check()
    (folder / "b/two.wav").write_bytes(b"no audio")
    with pytest.raises(QseError, match=r"two.wav is not an audio file"):
        cached_corpus(files, folder, store)
    written = store.with_suffix(".int16").stat().st_mtime_ns
    (folder / "b/two.wav").unlink()
    # what could be read was kept
    found = cached_corpus([path for path in files if path.exists()], folder, store)
    assert torch.equal(found.audio, Corpus.read(folder).audio) and found.names == ("", "a")
    assert store.with_suffix(".int16").stat().st_mtime_ns == written


@pytest.mark.parametrize("index", ["", "[]", "{", 100_000 * "[", '{"lengths": 1}'])
def test_cached_corpus_is_written_again_if_its_index_is_damaged(tmp_path, index):
    folder = tmp_path / "clean"
    store = tmp_path / "16kHz/clean"
    write(folder / "one.wav", speech_like(3000, 16000, 0))
    files = [folder / "one.wav"]
    expected = cached_corpus(files, folder, store)
    store.with_suffix(".json").write_text(index)
    assert torch.equal(cached_corpus(files, folder, store).audio, expected.audio)


def test_cached_corpus_is_written_again_if_its_samples_are_cut(tmp_path):
    folder = tmp_path / "clean"
    store = tmp_path / "16kHz/clean"
    write(folder / "one.wav", speech_like(3000, 16000, 0))
    expected = cached_corpus([folder / "one.wav"], folder, store).audio.clone()
    samples = store.with_suffix(".int16")
    samples.write_bytes(samples.read_bytes()[:1000])
    assert torch.equal(cached_corpus([folder / "one.wav"], folder, store).audio, expected)
