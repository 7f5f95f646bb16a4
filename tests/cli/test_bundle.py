"""The command that packs bundles."""

import json
import zipfile

import pytest

pytest.importorskip("torch")

from made_bundles import folders
from qse_cli.bundle import in_bytes
from small_training import TINY

from qse.errors import UsageError


@pytest.mark.parametrize(
    "text, size",
    [
        ("60MB", 60_000_000),
        ("1.5gb", 1_500_000_000),
        ("64 MiB", 64 << 20),
        ("20kB", 20_000),
        ("7", 7),
    ],
)
def test_sizes(text, size):
    assert in_bytes(text) == size


@pytest.mark.parametrize("text", ["", "MB", "-5MB", "1..5MB", "60TB", "nan"])
def test_what_is_no_size(text):
    with pytest.raises(UsageError, match="write a size like 60MB"):
        in_bytes(text)


def test_pack_and_train(tmp_path, command, monkeypatch):
    """The commands of the documentation."""
    monkeypatch.chdir(tmp_path)
    folders(tmp_path, count=6)
    pack = ["bundle", "--speech", "speech", "--noise", "noise", "--out", "parts", "--size", "30kB"]
    status, _, told = command(*pack)
    assert status == 0 and "part-000.zip: 0.0 MB, 0.00 h of speech" in told
    status, _, told = command(*pack)
    assert status == 0 and "parts: all parts are there" in told
    status, _, told = command(*pack, "--seed", 1)
    assert status == 2 and "--overwrite replaces them" in told

    sets = ["model={}", "mix.segment=0.5", "mix.rooms=2", "loss.pesq=0", "loss.mrstft=0"]
    sets += ["loss.complex_l1=0", "train.steps=2", "train.batch=2", "train.two_grids_share=0"]
    sets += ["train.carry_state_probability=0", "train.look_ahead=[]"]
    sets += [f"model.{key}={json.dumps(value)}" for key, value in TINY.items()]
    words = []
    for change in sets:
        words += ["--set", change]
    run = ["train", "--recipe", "live-base", "--bundles", "parts", "--out", "run", *words]
    status, _, told = command(*run)
    assert status == 0, told
    assert (tmp_path / "run/parts.csv").is_file()
    status, _, told = command("bundle", "--start", "run", "--out", "parts")
    assert status == 0 and "start.zip: 0.0 MB" in told
    with zipfile.ZipFile("parts/start.zip") as file:
        assert "start/parts.csv" in file.namelist()
    status, _, told = command("bundle", "--start", "run", "--out", "parts")
    assert status == 0 and "is there already; --overwrite replaces it" in told
    before = (tmp_path / "parts/start.zip").stat().st_ino
    (tmp_path / "speech/bad.wav").write_bytes(b"no sound")
    assert command(*pack, "--start", "run", "--overwrite")[0] == 1
    assert (tmp_path / "parts/start.zip").stat().st_ino == before
    (tmp_path / "speech/bad.wav").unlink()
    before = (tmp_path / "parts/part-000.zip").stat().st_ino
    assert command(*pack, "--start", "typo", "--overwrite")[0] == 1
    assert (tmp_path / "parts/part-000.zip").stat().st_ino == before
    status, _, told = command(*pack, "--start", "run", "--overwrite")
    assert status == 0 and "part-000.zip" in told and "start.zip: 0.0 MB" in told


@pytest.mark.parametrize(
    "words, message",
    [
        (["--speech", "speech"], "say what to pack"),
        ([], "say what to pack"),
        (["--speech", "a", "--noise", "b", "--wheels", "3.12"], "--start MODEL"),
        (["--speech", "nowhere", "--noise", "b"], "nowhere: no such folder"),
    ],
)
def test_usage(tmp_path, command, words, message):
    status, _, told = command("bundle", "--out", tmp_path / "parts", *words)
    assert status != 0 and message in told


def test_train_on_one_kind_of_material(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipe = ["train", "--recipe", "live-base"]
    status, _, told = command(*recipe, "--bundles", "a", "--watch", "b")
    assert status == 2 and "--bundles DIR or --watch DIR with the parts of a bundle" in told
    status, _, told = command(*recipe, "--watch", "nowhere")
    assert status == 1 and "nowhere: no such folder" in told
