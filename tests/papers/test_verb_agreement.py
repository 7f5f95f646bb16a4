"""Verb agreement: the corpus format, numbers of verbs, attractors, and training on a rule."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse_papers import experiment
from qse_papers.verb_agreement import by_attractors, is_plural, read_prefixes
from result_tables import numbers, rows_of

from qse.errors import QseError


@pytest.fixture
def corpus(tmp_path):
    """Sentences whose first word decides the number; the noun before the verb does not."""
    texts = []
    golds = []
    for n in range(60):
        plural = n % 2
        other = n // 2 % 2
        noun = "keys" if plural else "key"
        near = "rooms" if other else "room"
        verb, wrong = ("are", "is") if plural else ("is", "are")
        texts.append(f"the {noun} to the {near} {verb} old . <eos>")
        golds.append(f"5\t{verb}\t{wrong}\t{int(plural != other)}")
    texts.append("the Is here . <eos>")  # capital letters differ: left out
    golds.append("1\tis\tare\t0")
    (tmp_path / "subj_agr_filtered.text").write_text("\n".join(texts) + "\n")
    (tmp_path / "subj_agr_filtered.gold").write_text("\n".join(golds) + "\n")
    return tmp_path


def test_read_prefixes_stops_before_the_verb(corpus):
    found = read_prefixes(corpus)
    assert len(found) == 60
    assert (found[1].words, found[1].number, found[1].attractors) == (
        ["the", "keys", "to", "the", "room"],
        1,
        1,
    )


@pytest.mark.parametrize(
    "plural, singular",
    [("are", "is"), ("have", "has"), ("were", "was"), ("do", "does"), ("try", "tries")],
)
def test_is_plural_by_form(plural, singular):
    assert (is_plural(plural, singular), is_plural(singular, plural)) == (1, 0)


def test_by_attractors_counts_each_group(corpus):
    test = read_prefixes(corpus)[:4]  # attractors 0, 1, 1, 0
    row = by_attractors(torch.tensor([True, False, True, True]), test)
    assert row == {
        "accuracy %": 75.0,
        "attractors 0 (n = 2) %": 100.0,
        "attractors 1 (n = 2) %": 50.0,
    }


def test_verb_agreement_learns_the_rule_that_controls_cannot(corpus, tmp_path):
    changes = [f"data={corpus}", "dim=16", "feed=16", "heads=2", "layers=1", "epochs=20"]
    changes += ["batch=8", "learning_rate=0.02", 'arms=["real", "full", "phm-2"]']
    experiment("verb-agreement", tmp_path / "out", changes)
    real, full, phm, *controls = rows_of(tmp_path / "out" / "verb-agreement.csv")
    assert numbers([real, full, phm], "accuracy %") == [100, 100, 100]
    assert len(controls) == 2 and max(numbers(controls, "accuracy %")) < 85
    assert phm["paper %"] == "95.14"


def test_verb_agreement_names_a_damaged_line(corpus, tmp_path):
    (corpus / "subj_agr_filtered.gold").write_text("5\tare\tis\n")
    with pytest.raises(QseError, match=r"gold: line 1 needs"):
        read_prefixes(corpus)
