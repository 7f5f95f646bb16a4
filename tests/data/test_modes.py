"""Keep what is made of private recordings private: pictures, pairs, bundles, copies, caches."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest
import soundfile
from people_lists import NOBODY, acl

torch = pytest.importorskip("torch")

from qse.audio.atomic_write import open_to_append
from qse.audio.file_mode import OWNER_ALONE, Readers, Sources, allowed
from qse.data import bundle_pack, cached_corpus, pair_folder
from qse.data.bundle_part import BundlePart
from qse.data.bundle_shards import BundleConfig
from qse.data.cached_corpus import CorpusCache
from qse.data.copies import with_copies
from qse.data.datasets import Pair
from qse.data.decoded_parts import DecodedParts
from qse.data.mix_config import MixConfig
from qse.data.pair_folder import write_pairs
from qse.data.recordings import read_mono

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
MODES = [0o600, 0o644]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def noise(path: Path, of_file: int = 0o644, sample_rate: int = 48000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = np.random.default_rng(1).normal(0, 0.1, 3 * sample_rate)
    soundfile.write(path, samples, sample_rate)
    path.chmod(of_file)
    return path


@pytest.fixture(params=MODES, ids=oct)
def folders(tmp_path, request):
    """Speech, of which one recording may be private, and noise."""
    noise(tmp_path / "speech" / "a" / "1.wav")
    noise(tmp_path / "speech" / "a" / "2.wav", request.param)
    noise(tmp_path / "noise" / "1.wav")
    return tmp_path / "speech", tmp_path / "noise", request.param


def test_mixed_pairs(folders, tmp_path):
    speech, noises, wanted = folders
    write_pairs(MixConfig(segment=0.5), speech, noises, tmp_path / "out", 2)
    assert {mode(path) for path in (tmp_path / "out").glob("*/*.flac")} == {wanted}


def test_pairs_of_a_recording_that_comes_meanwhile(tmp_path, monkeypatch):
    """Behind the first look into its folder."""
    noise(tmp_path / "speech" / "1.wav")
    noise(tmp_path / "noise" / "1.wav")
    read = pair_folder.Corpus.read

    def later(folder, *options):
        noise(tmp_path / "speech" / "2.wav", 0o600)
        return read(folder, *options)

    monkeypatch.setattr(pair_folder.Corpus, "read", later)
    mix = MixConfig(segment=0.5)
    write_pairs(mix, tmp_path / "speech", tmp_path / "noise", tmp_path / "out", 2)
    assert {mode(path) for path in (tmp_path / "out").glob("*/*.flac")} == {0o600}


def test_decoded_parts_of_a_part_that_others_exchange(tmp_path):
    noise(tmp_path / "speech" / "1.wav", 0o600)
    noise(tmp_path / "noise" / "1.wav")
    bundle_pack.pack([tmp_path / "speech"], [tmp_path / "noise"], tmp_path, BundleConfig())
    path = tmp_path / "part-000.zip"
    store = DecodedParts(tmp_path / "store", {16000: 0.0})
    with BundlePart(path) as part:
        path.unlink()
        path.touch(0o644)
        store.add(part)
    assert {mode(file) for file in store.folder.glob("*[!k]")} == {0o600}


def test_bundle(folders, tmp_path):
    speech, noises, wanted = folders
    bundle_pack.pack([speech], [noises], tmp_path / "out", BundleConfig())
    assert mode(tmp_path / "out" / "part-000.zip") == wanted


def test_cache(folders, tmp_path):
    """Also where it was there before, of recordings that all may read."""
    speech, _, wanted = folders
    cache = CorpusCache(tmp_path / "cache", speech)
    paths = sorted(speech.rglob("*.wav"))
    cache.corpus(paths[:1])
    assert mode(tmp_path / "cache.int16") == 0o644
    cache.corpus(paths)
    assert mode(tmp_path / "cache.int16") == wanted


@pytest.mark.parametrize("wanted", MODES)
def test_copies(tmp_path, monkeypatch, wanted):
    monkeypatch.setenv("QSE_CACHE", str(tmp_path / "cache"))
    path = noise(tmp_path / "corpus" / "a.wav", wanted)
    copy = with_copies([Pair("a", path, None)], tmp_path / "corpus")[0].noisy
    assert copy != path and mode(copy) == wanted


def test_copies_of_an_older_recording(tmp_path, monkeypatch):
    """Which took the place of another: archives keep the times of files."""
    monkeypatch.setenv("QSE_CACHE", str(tmp_path / "cache"))
    pairs = [Pair("a", noise(tmp_path / "corpus" / "a.wav"), None)]
    copy = with_copies(pairs, tmp_path / "corpus")[0].noisy
    made = copy.stat().st_mtime_ns
    assert soundfile.info(copy).frames == 48000
    soundfile.write(pairs[0].noisy, np.zeros(48000), 48000)
    os.utime(pairs[0].noisy, (1.5e9, 1.5e9))
    with_copies(pairs, tmp_path / "corpus")
    assert soundfile.info(copy).frames == 16000 and copy.stat().st_mtime_ns != made
    soundfile.write(pairs[0].noisy, np.zeros(24000), 48000)
    os.utime(pairs[0].noisy, (1.5e9, 1.5e9))  # as `qse denoise --keep-times` does in place
    with_copies(pairs, tmp_path / "corpus")
    assert soundfile.info(copy).frames == 8000 or os.name == "nt"
    held = copy.stat().st_ino
    with_copies(pairs, tmp_path / "corpus")
    assert copy.stat().st_ino == held


@pytest.mark.parametrize("wanted", MODES)
def test_picture(tmp_path, command, wanted):
    pytest.importorskip("matplotlib")
    path = noise(tmp_path / "a.wav", wanted)
    assert command("plot", str(path), "-o", str(tmp_path / "a.png"))[0] == 0
    assert mode(tmp_path / "a.png") == wanted


def test_sources(tmp_path):
    """Let nobody read the result who may not read all of them."""
    files = {}
    for number in (0o600, 0o640, 0o644, 0o604):
        files[number] = noise(tmp_path / f"{number:o}.wav", number)

    def chosen(*modes: int) -> Readers | None:
        return Sources(files[number] for number in modes).readers

    assert chosen() is None
    assert chosen(0o644, 0o640) == Readers.of(files[0o640])
    assert chosen(0o644, 0o640, 0o600) == Readers.of(files[0o600])
    assert chosen(0o640, 0o604) == OWNER_ALONE
    if os.geteuid() == 0:
        os.chown(files[0o640], 0, 100)
        assert chosen(0o640, 0o644) == Readers.of(files[0o640])
        other = noise(tmp_path / "other.wav", 0o640)
        assert Sources([files[0o640], other]).readers == OWNER_ALONE


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs paths of descriptors")
def test_a_file_that_others_exchange_while_it_is_read(tmp_path):
    """Count what was opened, and not what has its name before and afterwards."""
    tmp_path.chmod(0o777)
    path = noise(tmp_path / "a.wav")
    hidden = path.rename(tmp_path / "public.wav")
    noise(path, 0o600)
    private = path.rename(tmp_path / "private.wav")
    hidden.rename(path)
    with Sources([path]) as source:
        path.rename(hidden)
        private.rename(path)
        read_mono(path)
        path.rename(private)
        hidden.rename(path)
    assert allowed(source, path.stat().st_gid) == 0o600


def test_cache_of_a_file_that_others_exchange_while_it_is_read(tmp_path, monkeypatch):
    """Nothing of it gets into the file that all may read."""
    cache = CorpusCache(tmp_path / "cache", tmp_path)
    path = noise(tmp_path / "a.wav")
    cache.corpus([path])
    read = cached_corpus.read_or_faults

    def exchanged(paths, rate):
        noise(paths[0], 0o600)
        with paths[0].open("rb") as file:
            Sources.opened(paths[0], file.fileno())
        return read(paths, rate)

    monkeypatch.setattr(cached_corpus, "read_or_faults", exchanged)
    with (tmp_path / "cache.int16").open("rb") as of_others:
        before = of_others.read()
        cache.corpus([path, noise(tmp_path / "b.wav")])
        assert of_others.read() == b"" != before
    assert mode(tmp_path / "cache.int16") == 0o600


@pytest.mark.parametrize(
    ("who", "of_mask", "wanted"), [((2, 0, 4243), 4, 0o600), ((8, 4, 4243), 4, 0o644)]
)
def test_who_is_shut_out_by_a_list_of_people(tmp_path, who, of_mask, wanted):
    """One user without permissions; a group that may read as all others."""
    path = noise(tmp_path / "a.wav")
    all_read = [(1, 6, NOBODY), (4, 4, NOBODY), (32, 4, NOBODY)]
    acl(path, *sorted([*all_read, who, (16, of_mask, NOBODY)]))
    assert allowed(path, path.stat().st_gid) == wanted
    other = noise(tmp_path / "b.wav")
    assert Sources([other, path]).readers == Readers.of(path if wanted == 0o600 else other)


def test_group_that_is_shut_out(tmp_path):
    """Its members are others of an output with another group."""
    path = noise(tmp_path / "a.wav", 0o604)
    group = path.stat().st_gid
    assert allowed(path, group) == 0o604
    assert allowed(path, group + 1) == 0o600


def test_a_file_that_grows_becomes_stricter_only(tmp_path):
    path = tmp_path / "a"
    path.write_text("a")
    path.chmod(0o640)
    open_to_append(path, source=None).close()
    assert mode(path) == 0o640
    open_to_append(path, source=noise(tmp_path / "b.wav", 0o644)).close()
    assert mode(path) == 0o640
    with path.open("rb") as of_others, open_to_append(path, source=None) as file:
        file.write(b"b")
        file.flush()
        assert of_others.read() == b"ab"
        with open_to_append(path, source=noise(tmp_path / "c.wav", 0o600)) as private:
            private.write(b"c")
        assert of_others.read() == b""
    assert mode(path) == 0o600 and path.read_bytes() == b"abc"
