"""Keep what is made of private recordings private: pictures, pairs, bundles, copies, caches."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest
import soundfile

torch = pytest.importorskip("torch")

from qse.audio.atomic_write import open_to_append
from qse.audio.file_mode import OWNER_ALONE, strictest
from qse.data import bundle_pack
from qse.data.bundle_shards import BundleConfig
from qse.data.cached_corpus import CorpusCache
from qse.data.copies import with_copies
from qse.data.datasets import Pair
from qse.data.mix_config import MixConfig
from qse.data.pair_folder import write_pairs

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


@pytest.mark.parametrize("wanted", MODES)
def test_picture(tmp_path, command, wanted):
    pytest.importorskip("matplotlib")
    path = noise(tmp_path / "a.wav", wanted)
    assert command("plot", str(path), "-o", str(tmp_path / "a.png"))[0] == 0
    assert mode(tmp_path / "a.png") == wanted


def test_strictest(tmp_path):
    """Choose a file whose readers may read all of them."""
    files = {}
    for number in (0o600, 0o640, 0o644, 0o604):
        files[number] = noise(tmp_path / f"{number:o}.wav", number)

    def chosen(*modes: int) -> Path | None:
        return strictest(files[number] for number in modes)

    assert chosen() is None
    assert chosen(0o644, 0o640) == files[0o640]
    assert chosen(0o644, 0o640, 0o600) == files[0o600]
    assert chosen(0o640, 0o604) == OWNER_ALONE
    if os.geteuid() == 0:
        os.chown(files[0o640], 0, 100)
        assert chosen(0o640, 0o644) == files[0o640]
        other = noise(tmp_path / "other.wav", 0o640)
        assert strictest([files[0o640], other]) == OWNER_ALONE


def test_a_file_that_grows_becomes_stricter_only(tmp_path):
    path = tmp_path / "a"
    path.write_text("a")
    path.chmod(0o640)
    open_to_append(path).close()
    assert mode(path) == 0o640
    open_to_append(path, noise(tmp_path / "b.wav", 0o644)).close()
    assert mode(path) == 0o640
    open_to_append(path, noise(tmp_path / "c.wav", 0o600)).close()
    assert mode(path) == 0o600
