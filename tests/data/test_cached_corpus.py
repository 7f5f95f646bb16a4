"""The cache of a large corpus."""

import json
import os
import sys
import threading

import pytest

torch = pytest.importorskip("torch")

from official_corpora import write

from qse.data import cached_corpus
from qse.data.cached_corpus import CorpusCache
from qse.data.corpus import Corpus
from qse.data.mix_config import MixConfig
from qse.data.noise_mixing import NoiseMixer
from qse.errors import QseError
from qse.export.streaming import speech_like


@pytest.fixture
def folder(tmp_path):
    """Five recordings of different lengths in three groups."""
    for seed, name in enumerate(("b/two.wav", "a/one.wav", "root.wav", "a/four.wav", "b/5.wav")):
        write(tmp_path / "clean" / name, speech_like(3000 + seed, 16000, seed))
    return tmp_path / "clean"


@pytest.fixture
def store(tmp_path, folder):
    return CorpusCache(tmp_path / "16kHz/clean", folder)


def files(folder):
    return sorted(folder.rglob("*.wav"))


def check(found, folder):
    """A corpus from a cache has the recordings of one in memory, in the same order."""
    expected = Corpus.read(folder)
    assert found.names == expected.names and found.seconds == expected.seconds
    assert torch.equal(found.groups, expected.groups)
    for one, other in zip(recordings(found), recordings(expected), strict=True):
        assert torch.equal(one, other)


def recordings(corpus):
    starts = corpus.starts.tolist()
    ends = (corpus.starts + corpus.lengths).tolist()
    return [corpus.audio[start:end] for start, end in zip(starts, ends, strict=True)]


def test_cached_corpus_equals_the_corpus_in_memory(folder, store):
    check(store.corpus(files(folder)), folder)
    samples = store.path.with_suffix(".int16")
    written = samples.stat().st_mtime_ns
    mapped = store.corpus(files(folder)).audio
    assert samples.stat().st_mtime_ns == written
    before = mapped.clone()
    write(folder / "a/one.wav", speech_like(5000, 16000, 5))  # a changed file
    write(folder / "aa/new.wav", speech_like(4000, 16000, 6))
    check(store.corpus(files(folder)), folder)
    assert torch.equal(mapped, before)  # of a run that still goes on
    (folder / "b/two.wav").unlink()
    written = samples.stat().st_mtime_ns
    check(store.corpus(files(folder)), folder)
    assert samples.stat().st_mtime_ns == written
    samples.unlink()
    check(store.corpus(files(folder)), folder)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such time")
def test_cached_corpus_notices_a_file_that_keeps_its_time(folder, store):
    """As `qse denoise --keep-times` in place makes it."""
    store.corpus(files(folder))
    path = files(folder)[0]
    times = path.stat()
    write(path, 0.5 * speech_like(times.st_size // 2 - 22, 16000, 9))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    check(store.corpus(files(folder)), folder)


def test_cached_corpus_continues_where_it_was_interrupted(folder, store, monkeypatch):
    monkeypatch.setattr(cached_corpus, "FILES_AT_ONCE", 1)
    monkeypatch.setattr(cached_corpus, "SAVED_EVERY", 0.0)
    read = []
    original = cached_corpus.read_or_faults

    def interrupted(paths, rate):
        if len(read) == 3:
            raise KeyboardInterrupt
        read.extend(paths)
        return original(paths, rate)

    monkeypatch.setattr(cached_corpus, "read_or_faults", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.corpus(files(folder))
    with store.path.with_suffix(".int16").open("ab") as samples:
        samples.write(b"half a recording")  # that the index does not have

    def counted(paths, rate):
        read.extend(paths)
        return original(paths, rate)

    monkeypatch.setattr(cached_corpus, "read_or_faults", counted)
    check(store.corpus(files(folder)), folder)
    assert sorted(read) == files(folder)  # each of them once


def test_cache_that_is_begun_anew_and_interrupted_leaves_no_table_of_before(
    folder, store, monkeypatch
):
    """It would name recordings in the new samples, in another order."""
    store.corpus(files(folder)[:2])
    os.link(store.path.with_suffix(".int16"), store.path.with_suffix(".other"))

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(CorpusCache, "_append", interrupted)
        store.corpus(files(folder))
    store.path.with_suffix(".int16").write_bytes(bytes(100_000))
    check(store.corpus(files(folder)), folder)


def test_cached_corpus_is_written_by_one_of_two_at_the_same_time(folder, store, monkeypatch):
    """The second one comes while the first one writes, waits, and finds the cache complete."""
    monkeypatch.setattr("qse.audio.claim.WAIT", 0.01)
    inside = threading.Event()
    waits = threading.Event()
    original = cached_corpus.read_or_faults

    def slow(paths, rate):
        inside.set()
        assert waits.wait(60)
        return original(paths, rate)

    def sleep(_):
        waits.set()

    monkeypatch.setattr(cached_corpus, "read_or_faults", slow)
    monkeypatch.setattr(cached_corpus.time, "sleep", sleep)
    found = []
    first = threading.Thread(target=lambda: found.append(store.corpus(files(folder))))
    first.start()
    assert inside.wait(60)
    found.append(store.corpus(files(folder)))
    first.join()
    for corpus in found:
        check(corpus, folder)
    assert len(found[0].audio) == found[0].lengths.sum()  # no recording twice


def test_cached_corpus_lists_and_leaves_out_what_cannot_be_read(folder, store):
    (folder / "b/two.wav").write_bytes(b"no audio")
    with pytest.raises(QseError, match=r"two.wav is not an audio file.*all of them are in .*txt"):
        store.corpus(files(folder))
    assert store.unreadable.read_text().startswith(f"{folder / 'b/two.wav'} is not an audio")
    skipping = CorpusCache(store.path, folder, skip=True)
    rest = [path for path in files(folder) if path.name != "two.wav"]
    assert len(skipping.corpus(files(folder)).lengths) == len(rest)
    # for good: also for a run that does not ask for it
    assert len(store.corpus(files(folder)).lengths) == len(rest)
    assert len(store.unreadable.read_text().splitlines()) == 1
    write(folder / "b/two.wav", speech_like(3000, 16000, 0))  # repaired
    check(store.corpus(files(folder)), folder)


@pytest.mark.skipif(sys.platform != "linux", reason="names are text")
def test_cached_corpus_lists_what_has_a_name_that_is_not_utf_8(folder, store):
    bad = folder / os.fsdecode(b"\xff.wav")
    bad.write_bytes(b"no audio")
    with pytest.raises(QseError, match="is not an audio file"):
        store.corpus(files(folder))
    assert store.unreadable.read_bytes().startswith(os.fsencode(bad))


@pytest.mark.skipif(os.name == "nt", reason="files are not sparse")
def test_cached_corpus_maps_two_thousand_hours(tmp_path):
    """Sparse copies: neither the index nor a batch reads them into memory, or reserves it."""
    folder = tmp_path / "clean"
    folder.mkdir()
    identities = []
    for number in range(500):
        path = folder / f"{number}.wav"
        path.touch()
        identities.append(cached_corpus.identity_of(path, folder))
    length = 4 * 3600 * 16000
    cache = CorpusCache(tmp_path / "store", folder)
    settings = {"sample_rate": 16000, "least_cutoff": 0.0}
    index = {**settings, "files": identities, "lengths": 500 * [length]}
    cache.path.with_suffix(".json").write_text(json.dumps(index))
    with cache.path.with_suffix(".int16").open("wb") as samples:
        samples.truncate(2 * 500 * length)
    corpus = cache.corpus(files(folder))
    assert corpus.seconds == 2000 * 3600
    mix = MixConfig(segment=2.0, rooms=1)
    batch = NoiseMixer(mix, corpus, corpus).batch(0, 4)
    assert batch.noisy.isfinite().all()


@pytest.mark.parametrize("index", ["", "[]", "{", 100_000 * "[", '{"lengths": 1}'])
def test_cached_corpus_is_written_again_if_its_index_is_damaged(tmp_path, index):
    folder = tmp_path / "clean"
    store = tmp_path / "16kHz/clean"
    write(folder / "one.wav", speech_like(3000, 16000, 0))
    expected = CorpusCache(store, folder).corpus([folder / "one.wav"])
    store.with_suffix(".json").write_text(index)
    assert torch.equal(
        CorpusCache(store, folder).corpus([folder / "one.wav"]).audio, expected.audio
    )


@pytest.mark.parametrize("old", [False, True])
def test_cached_corpus_is_written_again_if_one_digit_of_its_index_is_changed(folder, store, old):
    """Those of before had no checksum."""
    store.corpus(files(folder))
    index = store.path.with_suffix(".json")
    content = json.loads(index.read_text())
    if old:
        del content["checksum"]
    else:
        content["lengths"][0] -= 16
    index.write_text(json.dumps(content))
    os.utime(index, ns=(0, 0))
    check(store.corpus(files(folder)), folder)
    assert (index.stat().st_mtime_ns == 0) is old


def test_cached_corpus_is_written_again_if_its_samples_are_cut(tmp_path):
    folder = tmp_path / "clean"
    store = tmp_path / "16kHz/clean"
    write(folder / "one.wav", speech_like(3000, 16000, 0))
    expected = CorpusCache(store, folder).corpus([folder / "one.wav"]).audio.clone()
    samples = store.with_suffix(".int16")
    samples.write_bytes(samples.read_bytes()[:1000])
    assert torch.equal(CorpusCache(store, folder).corpus([folder / "one.wav"]).audio, expected)
