"""Folders of runs and models that were made to do harm: refused in a sentence, soon, and without
much memory."""

import json
import os
import shutil
import struct
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from safetensors import safe_open
from safetensors.torch import save_file
from small_training import PLAN, TINY, lines

from qse import config
from qse.errors import QseError
from qse.export import release as release_module
from qse.export.release import average
from qse.networks import build_network, weights
from qse.networks.weights import load_header, load_network, load_tensors, network_of
from qse.references import find_named
from qse.train.training_log import TrainingLog
from qse.train.warm_start import start_from


@pytest.fixture
def run(finished_run, tmp_path):
    """A copy of a run, to be changed."""
    return shutil.copytree(finished_run[0], tmp_path / "run")


def sparse(path, numbers: int, name: str = "average.evil") -> None:
    """Write a file of one huge tensor, a hole on the disk."""
    entry = {"dtype": "F32", "shape": [numbers], "data_offsets": [0, 4 * numbers]}
    head = json.dumps({name: entry, "__metadata__": {"step": "1"}}).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        file.truncate(8 + len(head) + 4 * numbers)


def changed(path, **header: str) -> None:
    """Change the header of a checkpoint."""
    with safe_open(path, "pt") as file:
        before = file.metadata()
    save_file(load_tensors(path)[0], path, before | header)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["config.toml", "best.safetensors", "checkpoint.safetensors"])
def test_pipes_are_refused_at_once(run, name):
    (run / name).unlink()
    os.mkfifo(run / name)
    with pytest.raises(QseError, match=f"{name}: .*no regular file"):
        config.read(run / name)
    with pytest.raises(QseError, match=f"{name}: .*no regular file"):
        load_tensors(run / name)


def test_weights_are_read_only_if_they_fit(run, monkeypatch):
    """Count what is read: a file may be a hole on the disk."""
    read = []
    monkeypatch.setattr(weights, "safe_open", counting(read))
    for name in ("best", "checkpoint"):
        sparse(run / f"{name}.safetensors", 1 << 30)
    fits = pytest.raises(QseError, match=r"best\.safetensors: holds 1,073,741,824 numbers")
    with fits:
        load_network(run / "config.toml", run / "best.safetensors")
    with fits:
        start_from(build_network(TINY), run)
    with pytest.raises(QseError, match=r"checkpoint\.safetensors: holds 1,073"):
        release_module._keep_checkpoint(run, run, 1000)
    assert not read


def counting(read: list):
    """Return what opens a file and adds to `read` the names of the tensors that are read."""
    opened = weights.safe_open

    class Opened:
        def __init__(self, *arguments, **named):
            self.file = opened(*arguments, **named)

        def __enter__(self):
            self.file.__enter__()
            return self

        def __exit__(self, *error):
            return self.file.__exit__(*error)

        def __getattr__(self, name):
            if name == "get_tensor":
                read.append(name)
            return getattr(self.file, name)

    return Opened


def test_only_what_is_used_is_read(run, monkeypatch):
    expected = load_network(run / "config.toml", run / "checkpoint.safetensors")[0].state_dict()
    read = []
    monkeypatch.setattr(weights, "safe_open", counting(read))
    found, header = load_network(run / "config.toml", run / "checkpoint.safetensors")
    assert len(read) == len(expected) and header["step"]
    assert all(torch.equal(value, expected[name]) for name, value in found.state_dict().items())


@pytest.mark.parametrize(
    "header",
    [
        {"heard": "x"},
        {"heard": "9" * 400},
        {"seconds": ""},
        {"seconds": "nan"},
        {"seconds": "1e308"},
        {"step": "9" * 5000},
        {"step": " 4\n"},
        {"step": "-4"},
        {"skipped": "1_0"},
        {"sums": '{"loss": 1' + "0" * 400 + "}"},
        {"counts": "[" * 100000},
        {"loss_scale": "0"},
    ],
)
def test_a_header_that_a_card_cannot_be_written_from(run, header):
    changed(run / "best.safetensors", **header)
    with pytest.raises(QseError, match=f"best.safetensors: is damaged, its header .*{min(header)}"):
        average(run)


@pytest.mark.parametrize("header", [{"heard": "9" * 5000}, {"seconds": "inf"}, {"heard": "x"}])
def test_a_header_that_a_run_cannot_begin_with(run, header):
    changed(run / "best.safetensors", **header)
    with pytest.raises(QseError, match=f"best.safetensors: is damaged, its header .*{min(header)}"):
        start_from(load_network(run / "config.toml", run / "best.safetensors")[0], run)


def test_terms_that_were_in_no_step_have_no_mean(run):
    """By the header of a checkpoint; train.csv goes on with a row for them."""
    trainer = SimpleNamespace(rank=0, done=4, heard=0, seconds=0.0, passed=0.0, config=PLAN)
    log = TrainingLog(run, trainer, 16000)
    log.restore({"sums": '{"loss": 2}', "counts": '{"loss": 0}'})
    log.write()
    assert lines(run / "train.csv")[-1]["loss"] == "nan"


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "step\nx\n", "step,stoi\n1\n", "step\n\xff"])
def test_a_table_of_scores_that_is_damaged(run, text):
    (run / "valid.csv").write_bytes(text.encode("latin1"))
    with pytest.raises(QseError, match=r"valid\.csv is damaged"):
        release_module._scores(run, "4", None, None, 16000)


@pytest.mark.parametrize(
    "table",
    [
        "model = 3",
        "[model]\nnetwork = 'streaming'\nattention = 'qse.errors:QseError'",
        "[model]\nnetwork = 'streaming'\nattention = 'qse.nn:QuaternionGRU'",
        "[model]\nnetwork = 'qtn'\nattention = 'qse.audio.ffmpeg_process:Child'",
        "[model]\nnetwork = 'qse.__main__:main'",
        "[model]\nnetwork = 'streaming'\nattention = 'qse.export.real_spectrum:RealFeatures'",
    ],
)
def test_a_configuration_that_fits_no_network(run, table, monkeypatch):
    monkeypatch.setattr("sys.argv", ["qse", "--version"])
    (run / "config.toml").write_text(table)
    with pytest.raises(QseError, match=r"config\.toml"):
        network_of(run / "config.toml")


@pytest.mark.parametrize("ranges", ["5", "'x'", "[5]"])
def test_ranges_of_bands_of_another_type(run, ranges):
    (run / "config.toml").write_text(f"[model]\nranges = {ranges}\n")
    with pytest.raises(QseError, match=r"run"):
        start_from(build_network(TINY), run)


def test_the_command_runs_only_as_a_program(monkeypatch):
    """And not where a configuration names its module."""
    monkeypatch.setattr("sys.argv", ["qse", "--version"])
    with pytest.raises(ValueError, match="cannot be imported"):
        find_named("qse.__main__:X", {}, "network")


@pytest.mark.parametrize("line", ["{}b = 1", "[{}b]", "x = {{ {}b = 1 }}", "'a'.{}b = 1"])
def test_keys_of_many_parts_are_refused_before_they_are_parsed(tmp_path, line, monkeypatch):
    (path := tmp_path / "config.toml").write_text(line.format("a . " * 30000))
    monkeypatch.setattr("tomllib.loads", None)
    with pytest.raises(QseError, match=r"config\.toml: tables and lists more than 20 deep"):
        config.read(path)


def test_a_long_configuration_is_refused(tmp_path):
    (path := tmp_path / "config.toml").write_text("#")
    os.truncate(path, 1 << 40)
    with pytest.raises(QseError, match=r"config\.toml: has more than"):
        config.read(path)
    path.write_text("x = '" + "a.b, " * 1000 + "'\ny = [" + "0.5, " * 1000 + "]\n" + "#" * 9000)
    assert len(config.read(path)["y"]) == 1000


def test_weights_with_a_header_of_any_size_are_refused(tmp_path):
    """It takes 15 times its size in memory, where it names tensors."""
    path = tmp_path / "best.safetensors"
    save_file({}, path, {"step": "1", "origin": "a" * (1 << 24)})
    with pytest.raises(QseError, match=r"best\.safetensors: cannot read .*header .*16 MiB"):
        load_header(path)
    save_file({}, path, {"step": "1", "origin": "a" * (1 << 20)})
    assert load_header(path)["step"] == "1"
