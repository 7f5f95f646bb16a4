"""Metrics that are named by "package.module:Name"."""

import numpy as np
import own_parts
import pytest

from qse.errors import UsageError
from qse.evaluate.choices import choose_metrics
from qse.evaluate.metrics import METRICS, version_of
from qse.evaluate.scoring import score_pair

CLEAN = 0.1 * np.random.default_rng(0).standard_normal(16000).astype(np.float32)


@pytest.fixture(autouse=True)
def forget():
    before = set(METRICS)
    yield
    for name in set(METRICS) - before:
        del METRICS[name]


def test_functions_and_metrics_are_found_by_reference():
    names = choose_metrics("si_sdr,own_parts:loudness,own_parts:worst_error", has_clean=True)
    assert names == ["si_sdr", "loudness", "worst_error"]
    found = score_pair(clean=CLEAN, enhanced=0.5 * CLEAN, metrics=names)
    assert found["loudness"] == own_parts.loudness(enhanced=0.5 * CLEAN, sample_rate=16000)
    assert found["worst_error"] == pytest.approx(0.5 * np.abs(CLEAN).max())


def test_what_a_function_takes_is_what_it_needs():
    assert choose_metrics("own_parts:loudness", has_clean=False) == ["loudness"]
    with pytest.raises(UsageError, match="worst_error needs the clean files"):
        choose_metrics("own_parts:worst_error", has_clean=False)


def test_a_metric_keeps_its_version_while_its_file_is_the_same(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "versioned_metric.py"
    text = "def half(*, enhanced, sample_rate):\n    return 0.5\n"
    path.write_text(text)
    versions = []
    for addition in ("", "", "# another\n"):
        path.write_text(text + addition)
        choose_metrics("versioned_metric:half", has_clean=False)
        versions.append(version_of("half"))
    assert versions[0] == versions[1] != versions[2]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("own_parts:none", "metric 'own_parts:none': cannot be imported"),
        ("own_parts:with_target", "metric 'own_parts:with_target' needs 'target': there are clean"),
        ("own_parts:without_rate", "let it take 'sample_rate'"),
        ("own_parts:CLEAN", "cannot be imported"),
        ("loudnes", "no metric called 'loudnes'; .*your own as package.module:Name"),
    ],
)
def test_metrics_that_cannot_be_used_are_refused(name, sentence):
    with pytest.raises(UsageError, match=sentence):
        choose_metrics(name, has_clean=True)
