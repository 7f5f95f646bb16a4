"""The registry of experiments: settings that each accepts, checks that each makes."""

from dataclasses import replace
from importlib import import_module

import pytest

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

import qse_papers
from qse_papers.base import Experiment

from qse.config import build


@pytest.mark.parametrize("name", qse_papers.EXPERIMENTS)
def test_experiment_accepts_its_own_settings_and_the_papers(name):
    module, _, class_name = qse_papers.EXPERIMENTS[name].partition(":")
    settings = getattr(import_module(f"qse_papers.{module}"), class_name)
    assert issubclass(settings, Experiment)
    assert build(settings, {}) == settings()
    full = build(settings, settings.FULL)
    for key in settings.MAY_BE_ZERO:
        if hasattr(full, key):
            replace(full, **{key: type(getattr(full, key))(0)})


def test_importing_an_experiment_keeps_the_function(tmp_path):
    """A module of the package must not take the name of the function that runs experiments."""
    assert "A5" in qse_papers.experiment("language-sizes", tmp_path)
    assert callable(qse_papers.experiment)
