"""qse evaluate --talkers: each utterance with its own talker."""

import graphs
import numpy as np
import pytest
import soundfile

from qse.data.datasets import pair_folders
from qse.errors import QseError, UsageError
from qse.evaluate.computing_systems import find_system
from qse.evaluate.evaluation import evaluate
from qse.evaluate.told_system import told

HOP = 160
RNG = np.random.default_rng(3)
TALKERS = dict(zip("abc", RNG.uniform(-0.5, 0.5, (3, HOP)).astype(np.float32), strict=True))


@pytest.fixture
def model(tmp_path):
    """Pairs whose clean files are what graphs.talker makes of the noisy ones for their talkers."""
    for folder in ("clean", "noisy", "talkers"):
        (tmp_path / folder).mkdir()
    for name, speech in TALKERS.items():
        noisy = RNG.uniform(-0.1, 0.1, (50, HOP)).astype(np.float32)
        for folder, audio in (
            ("noisy", noisy),
            ("clean", noisy * (1 + speech)),
            ("talkers", np.tile(speech, (600, 1))),
        ):
            soundfile.write(tmp_path / folder / f"{name}.wav", audio.ravel(), 16000, "FLOAT")
    return graphs.talker(tmp_path / "one")


def result_of(model, talkers=None):
    """Return the evaluation of the model by SI-SDR."""
    system = find_system(str(model))
    system = told(system, talkers) if talkers else system
    folder = model.parent
    pairs = pair_folders(folder / "noisy", folder / "clean")
    return evaluate(system, pairs, folder / "out", metrics="si_sdr")


def si_sdr(model, talkers=None):
    """Return the scores of the utterances that have one, and the errors of the others."""
    result = result_of(model, talkers)
    scores = {row["name"]: row["si_sdr"] for row in result.rows if "si_sdr" in row}
    return scores, result.failed


def test_each_utterance_has_its_talker(model):
    scores, failed = si_sdr(model, model.parent / "talkers")
    assert not failed and scores.keys() == TALKERS.keys() and min(scores.values()) > 60


def test_a_talker_that_is_missing_or_changed_is_noticed(model):
    talkers = model.parent / "talkers"
    (talkers / "b.wav").unlink()
    scores, failed = si_sdr(model, talkers)
    assert scores.keys() == {"a", "c"} and "has no file called b" in failed["b"]
    for other in (TALKERS["a"], TALKERS["b"]):
        soundfile.write(talkers / "b.wav", np.tile(other, 600), 16000, "FLOAT")
        scores, _ = si_sdr(model, talkers)
        assert (scores["b"] > 60) == (other is TALKERS["b"])
    with pytest.raises(QseError, match="holds an evaluation of something else"):
        si_sdr(model)


def test_only_exported_models_are_told(model):
    with pytest.raises(UsageError, match="noisy is no exported model: leave talkers="):
        told(find_system("noisy"), model.parent / "talkers")


def test_damage_of_a_talker_is_named(model):
    """A header that states ten samples more."""
    path = model.parent / "talkers/b.wav"
    path.write_bytes(path.read_bytes()[:-40])
    (name,) = result_of(model, model.parent / "talkers").damaged
    assert name == "b"
