"""Configurations of runs and model folders import no code of others unless they are trusted."""

import sys
from datetime import time
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from small_training import TINY

from qse.errors import QseError
from qse.networks.weights import load_network, network_of
from qse.references import check_own, find_named, trusting
from qse.train.recipe import RunConfig, check_run

EVIL = "from pathlib import Path\nPath('ran').touch()\nclass X: pass\n"


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    """A run whose configuration names a module in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "evilmod.py").write_text(EVIL)
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.toml").write_text('[loss]\n\n[model]\nnetwork = "evilmod:X"\n')
    for name in ("best", "checkpoint"):
        (run / f"{name}.safetensors").write_bytes(b"")
    yield run
    sys.modules.pop("evilmod", None)


@pytest.mark.parametrize(
    "line",
    [
        ("export", "run", "models/x"),
        ("evaluate", "run", "--noisy", "noisy"),
        ("train", "--resume", "--out", "run"),
        ("experiment", "spectrograms", "--out", "o", "--set", "run=run"),
    ],
)
def test_commands_import_nothing_that_a_foreign_run_names(foreign, command, line):
    (Path("noisy")).mkdir()
    status, _, said = command(*line)
    assert status and not Path("ran").exists()
    if line[0] in ("export", "train"):
        assert "config.toml, line 4: network = 'evilmod:X' names code outside qse" in said
        assert "--trust" in said


def test_trust_imports_it(foreign, command):
    status, _, said = command("export", "run", "models/x", "--trust")
    assert status and "derive it from" in said and Path("ran").exists()


def test_load_network_imports_it_with_trust_alone(foreign):
    with pytest.raises(QseError, match=r"config\.toml, line 4: .* use trust=True"):
        load_network(foreign / "config.toml", foreign / "best.safetensors")
    assert not Path("ran").exists()
    with pytest.raises(QseError, match="derive it from"):
        load_network(foreign / "config.toml", foreign / "best.safetensors", trust=True)
    assert Path("ran").exists()
    with trusting(), pytest.raises(QseError, match="derive it from"):
        network_of(foreign / "config.toml")


@pytest.mark.parametrize(
    "name",
    [
        *("qse.audio.claim:os.kill", "qse.live.service:subprocess.Popen", "qse_evil.x:Y"),
        *("os:abort", "os: abort", "os:", "os:abort:x", "os-path:x", "os:abort ", " os:abort"),
    ],
)
def test_names_of_other_packages_behind_own_modules_are_refused(tmp_path, name):
    """An attention is called with numbers: os.kill(16, 9)."""
    path = tmp_path / "config.toml"
    path.write_text(f'[model]\nattention = "{name}"\n')
    with pytest.raises(QseError, match="line 2: attention"):
        check_own({"attention": name}, path)
    with pytest.raises(QseError, match="line 2: attention"):
        check_own({"inner": {"attention": ["shared", name]}}, path)


@pytest.mark.parametrize(
    "name", ["qse.nn:QuaternionGRU", "qse.networks.streaming:StreamingEnhancer", "shared", "a b"]
)
def test_own_classes_and_plain_words_pass(tmp_path, name):
    check_own({"attention": name, "channels": 4}, tmp_path / "config.toml")


def test_entries_of_tables_may_be_references():
    table = {"a": 3, "b": "qse.references:find_named", "c": "qse.nowhere:X"}
    assert find_named("a", table, "part") == 3
    assert find_named("b", table, "part") is find_named
    with pytest.raises(ValueError, match=r"part 'c': cannot be imported \(No module named"):
        find_named("c", table, "part")


def test_the_corpus_of_a_run_is_an_official_one(tmp_path):
    """A class of qse would be called with the folder of a corpus: this one makes files there."""
    config = RunConfig(TINY, dataset="qse.corpus_cleaning.journal:Journal")
    with pytest.raises(QseError, match="is none of voicebank, dns3"):
        check_run(config, tmp_path / "config.toml")


def test_what_is_no_text_names_nothing():
    """A time of TOML would be the name of a module."""
    with pytest.raises(ValueError, match="unknown part"):
        find_named(time(12, 30), {"a": 3}, "part")


def test_names_are_found_however_deep():
    table: object = "evilmod:X"
    for _ in range(3000):
        table = {"a": [table]}
    with pytest.raises(QseError, match="a = 'evilmod:X' names code"):
        check_own({"deep": table}, Path(__file__))


@pytest.mark.parametrize(
    "line", [("export", "run", "models/x"), ("train", "--resume", "--out", "run")]
)
def test_a_network_that_would_fill_the_memory_is_refused(foreign, command, line):
    sizes = "channels = [1000000, 1000000, 1000000]"
    config = foreign / "config.toml"
    config.write_text(f'[model]\nnetwork = "streaming"\n{sizes}\n')
    status, _, said = command(*line)
    assert status == 1 and "config.toml: a network of 270,001" in said and "--trust" in said


@pytest.mark.parametrize("sizes", ['network = "streaming"\nblocks', 'network = "qtn"\nlayers'])
def test_a_network_of_endless_layers_is_refused(foreign, sizes):
    config = foreign / "config.toml"
    config.write_text(f"[model]\n{sizes} = 1000000000\n")
    with pytest.raises(QseError, match=r"config.toml: .* 1000000000: 0 to 1000"):
        network_of(config)
