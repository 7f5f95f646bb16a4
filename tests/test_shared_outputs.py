"""Tables, pictures and graphs in folders that others can write: their links are not followed."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from other_users import foreign, needs_root
from qse_papers.study import _read

from qse.audio import atomic_write, replaced_folder
from qse.audio.atomic_write import open_to_append, remove
from qse.audio.folder_path import make_folder
from qse.corpus_cleaning import journal
from qse.corpus_cleaning.journal import Journal
from qse.corpus_cleaning.manifest import dump
from qse.corpus_cleaning.settings import Settings
from qse.data import cached_corpus
from qse.data.cached_corpus import CorpusCache
from qse.data.decoded_parts import DecodedParts
from qse.data.mix_config import MixConfig
from qse.data.pair_folder import mix_pairs
from qse.errors import QseError
from qse.evaluate.report import read_groups
from qse.evaluate.store import Store, claimed
from qse.export.release import release
from qse.export.target import model_target
from qse.runtime.bands import BandModels
from qse.train.training_log import MetricsLog

pytestmark = needs_root


def test_scores(shared, precious):
    store = Store(shared, ["name", "stamp"], {}, {"a": "1"})
    store.begin()
    foreign(shared / "scores.csv", precious)
    with pytest.raises(PermissionError, match="it is a link"):
        store.add({"name": "a", "stamp": "1"})


def test_curves(shared, precious):
    log = MetricsLog(shared)
    log.add("train", {"step": 1, "loss": 0.5})
    log.add("valid", {"step": 1, "stoi": 0.5})
    foreign(shared / "curves.png", precious)
    log.draw()
    assert (shared / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_tables_that_are_continued(shared, tmp_path):
    """Rows of a private table would come into one that others can read."""
    (tmp_path / "private").mkdir()
    private = Store(tmp_path / "private", ["name", "stamp"], {}, {"a": "1"})
    private.add({"name": "a", "stamp": "1"})
    shutil.copy(tmp_path / "private/settings.json", shared)
    foreign(shared / "scores.csv", tmp_path / "private/scores.csv")
    with pytest.raises(PermissionError, match="it is a link"):
        Store(shared, ["name", "stamp"], {}, {"a": "1"})
    (tmp_path / "private/train.csv").write_text("step,loss\n1,0.5\n")
    foreign(shared / "train.csv", tmp_path / "private/train.csv")
    with pytest.raises(PermissionError, match="it is a link"):
        MetricsLog(shared).add("train", {"step": 2, "loss": 0.5})


@pytest.fixture
def manifest(shared):
    """The output manifest of a run that failed once, whose lines are rewritten without that."""
    settings = Settings("live-base", "", None, None)
    path = shared / "out.jsonl"
    lines = []
    for state in ("done", "failed"):
        entry = {"state": state, "source": "a", "fingerprint": settings.fingerprint}
        lines.append(dump({"audio_filepath": "a", "text": "private", "qse": entry}))
    path.write_bytes(b"".join(lines))
    return path, settings


def test_manifest_exchanged_before_it_is_read(manifest, tmp_path, monkeypatch):
    path, settings = manifest
    private = path.replace(tmp_path / "private.jsonl")
    lock, rewrite = journal.lock, Journal._rewrite

    def exchanged(file):
        foreign(path, private)
        return lock(file)

    def put_back(*arguments):
        path.unlink()
        return rewrite(*arguments)

    monkeypatch.setattr(journal, "lock", exchanged)
    monkeypatch.setattr(Journal, "_rewrite", put_back)
    with pytest.raises(QseError, match="a link that another user made"):
        Journal(path, settings)
    path.unlink()
    assert not any(b"private" in each.read_bytes() for each in path.parent.iterdir())


def test_manifest_exchanged_behind_reading(manifest, monkeypatch):
    """A private one of the same folder was read under the name of one that all can read."""
    path, settings = manifest
    path.chmod(0o600)
    rewrite = Journal._rewrite

    def exchanged(*arguments):
        path.replace(path.with_name("mine.jsonl"))
        path.write_bytes(b"")
        path.chmod(0o644)
        return rewrite(*arguments)

    monkeypatch.setattr(Journal, "_rewrite", exchanged)
    with Journal(path, settings):
        assert b"private" in path.read_bytes() and path.stat().st_mode & 0o077 == 0


def test_manifest_of_another_user_is_not_continued(shared, tmp_path):
    """Its lines could say that finished files failed, which are then replaced."""
    settings = Settings.of(BandModels("live-tiny"))
    state = {"state": "failed", "source": "a.wav", "fingerprint": settings.fingerprint}
    (shared / "out.jsonl").write_bytes(dump({"audio_filepath": "a.wav", "qse": state}))
    os.chown(shared / "out.jsonl", 12345, 12345)
    with pytest.raises(QseError, match=r"out\.jsonl cannot be written: it belongs to another user"):
        Journal(shared / "out.jsonl", settings)


def test_events(shared, tmp_path):
    pytest.importorskip("tensorboard")
    (elsewhere := tmp_path / "elsewhere").mkdir()
    foreign(shared / "tensorboard", elsewhere)
    with pytest.raises(PermissionError, match="a link that another user made"):
        MetricsLog(shared, tensorboard=True).add("train", {"step": 1, "loss": 0.5})
    os.chown(shared / "tensorboard", 0, 0, follow_symlinks=False)
    with pytest.raises(PermissionError, match="others can exchange it"):
        MetricsLog(shared, tensorboard=True).add("train", {"step": 1, "loss": 0.5})
    shared.chmod(0o755)
    with pytest.raises(PermissionError, match="it is a link"):
        MetricsLog(shared, tensorboard=True).add("train", {"step": 1, "loss": 0.5})
    assert not list(elsewhere.iterdir())
    (shared / "tensorboard").unlink()
    (shared / "tensorboard").mkdir()
    (shared / "tensorboard").chmod(0o777)  # where others can put links of the names of events
    with pytest.raises(PermissionError, match="others write it"):
        MetricsLog(shared, tensorboard=True).add("train", {"step": 1, "loss": 0.5})


def test_folders_are_made_through_no_link_of_others(shared, tmp_path):
    (elsewhere := tmp_path / "elsewhere").mkdir()
    foreign(shared / "link", elsewhere)
    with pytest.raises(PermissionError, match="a link that another user made"):
        make_folder(shared / "link" / "new" / "inner")
    with pytest.raises(QseError, match="a link that another user made"):
        claimed(shared / "link" / "new")
    assert not list(elsewhere.iterdir())


def test_folders_of_outputs_are_made_so():
    """Elsewhere they are private ones, or those of the user for caches and settings."""
    private = {"replaced_folder.py", "folder_path.py", "compiled.py", "marks.py", "service.py"}
    package = Path(replaced_folder.__file__).parents[1]
    found = {path.name for path in package.rglob("*.py") if ".mkdir(" in path.read_text()}
    assert found <= private | {"pair_folder.py", "jack.py"}


def test_temporary_files_are_in_private_folders():
    package = Path(replaced_folder.__file__).parents[1]
    files = [
        path
        for folder in ("qse", "cli", "papers")
        for path in (package.parent / folder).rglob("*.py")
    ]
    found = {path.name for path in files if "tempfile" in path.read_text(encoding="utf-8")}
    assert found == {"private_folder.py", "replaced_folder.py", "marks.py"}


def test_cache_of_a_corpus(shared, precious, tmp_path, monkeypatch):
    """The link comes after the cache was claimed."""
    (speech := tmp_path / "speech").mkdir()
    soundfile.write(speech / "a.wav", np.full(1600, 0.1), 16000)
    cache = CorpusCache(shared / "speech", speech)
    write = CorpusCache._write

    def exchanged(*arguments: object) -> object:
        monkeypatch.setattr(cached_corpus, "remove", lambda path: None)
        foreign(shared / "speech.int16", precious)
        return write(*arguments)

    monkeypatch.setattr(CorpusCache, "_write", exchanged)
    with pytest.raises(QseError, match="it is a link"):
        cache.corpus([speech / "a.wav"])


def test_index_of_samples_that_are_exchanged(shared, tmp_path, monkeypatch):
    """The names of private recordings are in the index."""
    (tmp_path / "speech").mkdir()
    soundfile.write(recording := tmp_path / "speech/a.wav", np.full(1600, 0.1), 16000)
    recording.chmod(0o600)
    append = CorpusCache._append

    def exchanged(self, *arguments: object) -> object:
        self.path.with_suffix(".int16").unlink()
        self.path.with_suffix(".int16").touch()
        self.path.with_suffix(".int16").chmod(0o666)
        return append(self, *arguments)

    monkeypatch.setattr(CorpusCache, "_append", exchanged)
    cache = CorpusCache(shared / "speech", recording.parent)
    with suppress(QseError, ValueError):  # there are no samples
        cache.corpus([recording])
    assert (shared / "speech.json").stat().st_mode & 0o777 == 0o600


def test_samples_that_lie_elsewhere(shared, precious, tmp_path):
    (tmp_path / "speech").mkdir()
    soundfile.write(recording := tmp_path / "speech/a.wav", np.full(4, 0.1), 16000)
    CorpusCache(shared / "speech", recording.parent).corpus([recording])
    (shared / "speech.int16").unlink()
    foreign(shared / "speech.int16", precious)
    with pytest.raises(QseError, match=r"speech\.int16 cannot be read: it is a link"):
        CorpusCache(shared / "speech", recording.parent).corpus([recording])


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_index_of_a_cache(shared, tmp_path, kind):
    """The names of private recordings would come into one that others can read; a pipe would wait
    for its other end."""
    (speech := tmp_path / "speech").mkdir()
    soundfile.write(speech / "secret.wav", np.full(1600, 0.1), 16000)
    CorpusCache(tmp_path / "private", speech).corpus([speech / "secret.wav"])
    if kind == "link":
        foreign(shared / "speech.json", tmp_path / "private.json")
    else:
        os.mkfifo(shared / "speech.json")
    (tmp_path / "other").mkdir()
    soundfile.write(tmp_path / "other/a.wav", np.full(1600, 0.1), 16000)
    with pytest.raises(QseError, match=r"it is a link|it is no regular file"):
        CorpusCache(shared / "speech", tmp_path / "other").corpus([tmp_path / "other/a.wav"])


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_tables_of_decoded_parts(shared, tmp_path, kind):
    """The name of a private part would come into parts.csv."""
    if kind == "link":
        (tmp_path / "private.json").write_text("{}")
        foreign(shared / f"{'0' * 16}.json", tmp_path / "private.json")
    else:
        os.mkfifo(shared / f"{'0' * 16}.json")
    with pytest.raises(QseError, match=r"json cannot be read: it is (a link|no regular file)"):
        DecodedParts(shared, {16000: 0.0}).found()


def test_settings_of_an_evaluation(shared, tmp_path):
    (tmp_path / "private.json").write_text('{"secret": 7}')
    Store(shared, ["name", "stamp"], {}, {"a": "1"}).begin()
    foreign(shared / "settings.json", tmp_path / "private.json")
    with pytest.raises(PermissionError, match="it is a link"):
        Store(shared, ["name", "stamp"], {}, {"a": "1"})


def test_groups_of_utterances(shared, tmp_path):
    (tmp_path / "private.tsv").write_text("name\tkind\na\tsecret\n")
    foreign(shared / "by.tsv", tmp_path / "private.tsv")
    with pytest.raises(QseError, match="is a link that another user made"):
        read_groups(shared / "by.tsv", "kind")


def test_runs_of_an_experiment(shared, tmp_path):
    (tmp_path / "private.json").write_text('{"settings": {}, "runs": {"a": {"row": {"loss": 7}}}}')
    foreign(shared / "runs.json", tmp_path / "private.json")
    with pytest.raises(QseError, match="cannot read these runs"):
        _read(shared / "runs.json", {})


def test_configuration_of_a_run_that_is_released(shared, tmp_path):
    (tmp_path / "private.toml").write_text("seed = 7391")
    (shared / "weights.safetensors").touch()
    foreign(shared / "config.toml", tmp_path / "private.toml")
    with pytest.raises(QseError, match="it is a link"):
        release(shared, tmp_path / "model")


def test_configuration_of_a_run_that_is_continued(shared, tmp_path, command):
    (tmp_path / "private.toml").write_text("seed = 7391")
    foreign(shared / "config.toml", tmp_path / "private.toml")
    status, _, said = command("train", "--resume", "--out", shared, "--speech", ".", "--noise", ".")
    assert status and "config.toml: cannot read the configuration (it is a link" in said


def test_models_are_made_elsewhere(shared, precious):
    """Make models elsewhere: whoever can write a folder can exchange a folder in it."""
    folder = shared / "model"
    folder.mkdir()
    folder.chmod(0o777)
    foreign(folder / "model.onnx", precious)
    refused = pytest.raises(QseError, match="a link that another user made")
    with refused, model_target(folder) as new:
        assert shared not in new.parents
        (new / "model.onnx").write_bytes(b"graph")
    (folder / "model.onnx").unlink()
    (folder / "card.md").write_text("former")
    with model_target(folder) as new:
        (new / "model.onnx").write_bytes(b"graph")
    assert (folder / "model.onnx").read_bytes() == b"graph"
    assert not (folder / "card.md").exists()


def test_former_files_that_are_exchanged_for_links(shared, precious, monkeypatch):
    """Keep the file that was looked at, to put it back."""
    (folder := shared / "model").mkdir()
    folder.chmod(0o777)
    foreign(folder / "card.md", precious)
    (folder / "model.onnx").mkdir()  # cannot be replaced
    monkeypatch.setattr(Path, "is_symlink", lambda path: False)  # the link comes afterwards,
    monkeypatch.setattr(replaced_folder, "cmp", lambda *files: False)  # and is gone at the end
    with pytest.raises(QseError), model_target(folder) as new:
        for name in ("card.md", "model.onnx"):
            (new / name).write_text("new")
    assert os.path.islink(folder / "card.md")  # as it was


def test_a_full_disk_leaves_the_former_model(shared, monkeypatch):
    (folder := shared / "model").mkdir()
    folder.chmod(0o777)
    for name in ("card.md", "model.onnx"):
        (folder / name).write_text("former")

    def full(path, part):
        if Path(path).name == "model.onnx":  # the second
            raise OSError(28, "No space left on device")
        Path(part).write_bytes(Path(path).read_bytes())

    monkeypatch.setattr(replaced_folder, "copyfile", full)
    with pytest.raises(QseError, match="No space left on device"), model_target(folder) as new:
        for name in ("card.md", "model.onnx"):
            (new / name).write_text("new")
    assert {path.name for path in folder.iterdir()} == {"card.md", "model.onnx"}
    assert {path.read_text() for path in folder.iterdir()} == {"former"}


def test_pairs_are_made_elsewhere(shared, precious):
    """Exchange the folder for temporary files while pairs are written to it."""

    class Mixer:
        config = MixConfig()

        def batch(self, number: int, size: int):
            if number == 1:
                for made in shared.glob(".qse-*"):
                    made.rename(shared / "away")
                    for inner in ("pairs", "new"):
                        (made / inner / "noisy").mkdir(parents=True)
                        (made / inner / "clean").mkdir()
                        (made / inner / "noisy" / "0002.flac").symlink_to(precious)
            return SimpleNamespace(noisy=torch.zeros(1, 1600), clean=torch.zeros(1, 1600))

    mix_pairs(Mixer(), shared / "set", 3, source=None)
    assert len(list(shared.glob("set/*/*.flac"))) == 6


@pytest.mark.parametrize("place", [".", "shared"])
def test_pairs_are_not_taken_from_others(shared, tmp_path, place):
    """The folder is made, with other files in it, while pairs are mixed."""
    folder = tmp_path / place / "set"

    class Mixer:
        config = MixConfig()

        def batch(self, number: int, size: int):
            if not number:
                (folder / "noisy").mkdir(parents=True)
                (folder / "noisy" / "0001.flac").touch()
            return SimpleNamespace(noisy=torch.zeros(1, 1600), clean=torch.zeros(1, 1600))

    with pytest.raises(QseError, match="set cannot be written"):
        mix_pairs(Mixer(), folder, 2, source=None)
    assert not (folder / "noisy" / "0001.flac").stat().st_size


def test_a_model_folder_that_is_the_link_of_another_user(shared, tmp_path):
    (former := tmp_path / "former").mkdir()
    (former / "model.onnx").write_text("precious")
    foreign(shared / "model", former)
    refused = pytest.raises(QseError, match="a link that another user made")
    with refused, model_target(shared / "model") as new:
        (new / "model.onnx").write_bytes(b"graph")
    assert (former / "model.onnx").read_text() == "precious"


def test_a_model_below_a_folder_that_others_can_exchange(shared, tmp_path):
    """Exchange the folder above, so that renaming would move files of others elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    folder = shared / "models" / "x"
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_text("former")
    with model_target(folder) as new:
        (new / "model.onnx").write_text("new")
        made = [path.name for path in folder.parent.glob(".qse-*") if path.is_dir()]
        folder.parent.rename(shared / "away")
        folder.mkdir(parents=True)
        (folder / "authorized_keys").write_text("of somebody")
        for name in made:
            (folder.parent / name).mkdir()
            foreign(folder.parent / name / "new", tmp_path / "elsewhere")
    assert not list((tmp_path / "elsewhere").iterdir())
    assert (folder / "model.onnx").read_text() == "new"


def test_files_of_a_former_model_are_removed_in_its_own_folder(shared, tmp_path, monkeypatch):
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (elsewhere / "card.md").write_text("precious")
    (folder := shared / "model").mkdir()
    copy = replaced_folder.copyfile

    def exchanged(source: Path, target: Path) -> None:
        copy(source, target)
        folder.rename(shared / "away")
        foreign(folder, elsewhere)

    monkeypatch.setattr(replaced_folder, "copyfile", exchanged)
    refused = pytest.raises(QseError, match="a link that another user made")
    with refused, model_target(folder) as new:
        (new / "model.onnx").write_bytes(b"graph")
    assert (elsewhere / "card.md").read_text() == "precious"


def test_removing_keeps_to_the_folder(shared, tmp_path):
    (tmp_path / "train.csv").write_text("precious")
    foreign(shared / "run", tmp_path)
    with pytest.raises(PermissionError, match="a link that another user made"):
        MetricsLog(shared / "run")._write("train", [])
    (shared / "link").symlink_to(tmp_path / "train.csv")
    remove(shared / "link")
    remove(shared / "missing" / "file")
    assert (tmp_path / "train.csv").exists() and not (shared / "link").is_symlink()


@pytest.mark.parametrize("folder", ["open to all", "of another user"])
@pytest.mark.parametrize("kind", ["of another user", "with a second name"])
def test_nothing_is_appended_to_a_file_that_others_put_there(shared, precious, kind, folder):
    """A manifest holds what was said."""
    path = shared / "out.jsonl"
    if folder == "of another user":
        shared.chmod(0o755)
        os.chown(shared, 12345, 12345)
    if kind == "with a second name":
        os.link(precious, path)
    else:
        path.touch()
        os.chown(path, 12345, 12345)
    with pytest.raises(PermissionError, match="another user, or is another file"):
        open_to_append(path, source=None)
    os.chown(shared, 0, 0)
    shared.chmod(0o755)
    open_to_append(path, source=None).close()


def test_a_file_of_another_user_that_is_more_readable_is_replaced_by_a_copy(shared, precious):
    """Private sound is appended to the copy alone."""
    shared.chmod(0o755)
    (path := shared / "speech.int16").write_text("a")
    path.chmod(0o644)
    os.chown(path, 12345, 12345)
    precious.chmod(0o600)
    with open_to_append(path, source=precious) as file:
        file.write(b"b")
    state = path.stat()
    assert (state.st_uid, state.st_mode & 0o777, path.read_text()) == (os.geteuid(), 0o600, "ab")


def test_a_copy_exchanged_before_it_is_opened(shared, precious, monkeypatch):
    (path := shared / "out.jsonl").write_text("public\n")
    path.chmod(0o644)
    precious.chmod(0o600)

    def exchanged(step):
        if step == "copied":
            path.unlink()
            path.touch()
            os.chown(path, 12345, 12345)

    monkeypatch.setattr(atomic_write, "step", exchanged)
    with pytest.raises(PermissionError, match="another user"):
        open_to_append(path, source=precious)
