"""Configurations: from TOML tables to dataclasses, changes to them, and error messages."""

from dataclasses import dataclass, field

import pytest

from qse.config import build, overridden, read
from qse.errors import QseError


@dataclass(frozen=True)
class Inner:
    rate: float = 0.5
    count: int = 3


@dataclass(frozen=True)
class Outer:
    name: str = "x"
    fast: bool = False
    ranges: tuple[tuple[int, int], ...] = ((1, 2),)
    span: tuple[float, float] = (0.0, 1.0)
    inner: Inner = field(default_factory=Inner)

    def __post_init__(self):
        if self.name == "bad":
            raise ValueError("no such name")


@pytest.mark.parametrize("text", ["a." * 3000 + "b = 1", "x = " + 30 * "[" + 30 * "]"])
def test_tables_deep_in_each_other_are_refused(tmp_path, text):
    (path := tmp_path / "deep.toml").write_text(text)
    with pytest.raises(QseError, match=r"deep\.toml: tables and lists more than 20 deep"):
        read(path)


def test_build_makes_dataclasses_and_tuples():
    found = build(
        Outer, {"name": "y", "ranges": [[3, 4], [5, 6]], "span": [-5, 2.5], "inner": {"rate": 2}}
    )
    assert found == Outer("y", False, ((3, 4), (5, 6)), (-5.0, 2.5), Inner(2.0, 3))
    assert isinstance(found.inner.rate, float) and isinstance(found.span[0], float)


def test_build_of_nothing_is_the_defaults():
    assert build(Outer, {}) == Outer()


@pytest.mark.parametrize(
    "values, sentence",
    [
        (
            {"nmae": "y"},
            "^r.toml: unknown key 'nmae' for Outer; known keys: name, fast, ranges, span, inner$",
        ),
        (
            {"inner": {"rtae": 1.0}},
            "^r.toml: inner: unknown key 'rtae' for Inner; known keys: rate, count$",
        ),
        ({"name": "bad"}, "^r.toml: no such name$"),
        ({"name": 3}, "^r.toml: name = 3: expected text$"),
        ({"fast": 1}, "^r.toml: fast = 1: expected true or false$"),
        ({"ranges": 7}, "^r.toml: ranges = 7: expected a list$"),
        ({"ranges": [[1, 2.5]]}, "^r.toml: ranges = 2.5: expected a whole number$"),
        ({"span": ["low", 1.0]}, "^r.toml: span = 'low': expected a number$"),
        ({"inner": {"count": 2.0}}, "^r.toml: inner: count = 2.0: expected a whole number$"),
        ({"inner": {"count": True}}, "^r.toml: inner: count = True: expected a whole number$"),
        ({"inner": {"rate": "fast"}}, "^r.toml: inner: rate = 'fast': expected a number$"),
        ({"inner": {"rate": 10**400}}, "^r.toml: inner: rate: a number of more than 308 digits$"),
        ({"inner": 3}, "^r.toml: inner: expected a table of keys and values, not 3$"),
    ],
)
def test_build_refuses(values, sentence):
    with pytest.raises(QseError, match=sentence):
        build(Outer, values, "r.toml: ")


def test_overridden_applies_changes():
    values = {"train": {"steps": 10, "batch": 2}}
    changes = [
        "train.steps=20",
        "train.rate = 1e-3",
        "mix.snr=[-5, 20]",
        'model.name="a b"',
        "model.kind=gru",
        "top=true",
    ]
    assert overridden(values, changes) == {
        "train": {"steps": 20, "batch": 2, "rate": 1e-3},
        "mix": {"snr": [-5, 20]},
        "model": {"name": "a b", "kind": "gru"},
        "top": True,
    }


def test_overridden_copies():
    values = {"a": {"b": {"c": 1}}}
    overridden(values, ["a.b.c=2"])
    assert values == {"a": {"b": {"c": 1}}}


@pytest.mark.parametrize(
    "change, sentence",
    [
        ("train.steps", "--set 'train.steps': write it as table.key=value"),
        ("=3", "--set '=3': write it as table.key=value"),
        ("train.steps.x=3", "--set 'train.steps.x=3': steps is a value, not a table"),
    ],
)
def test_overridden_refuses(change, sentence):
    with pytest.raises(QseError, match=f"^{sentence}"):
        overridden({"train": {"steps": 10}}, [change])


def test_read_names_files(tmp_path):
    broken = tmp_path / "broken.toml"
    binary = tmp_path / "binary.toml"
    broken.write_text("steps = ")
    binary.write_bytes(b"\xff\xfe\x00")
    (deep := tmp_path / "deep.toml").write_text("x = " + 20_000 * "[")
    for path in (broken, binary, deep):
        with pytest.raises(QseError, match=f"^{path}: not valid TOML"):
            read(path)
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(QseError, match=f"^{path}: cannot read the configuration"):
            read(path)
