"""Tables to dataclasses and back: what fits, what is answered, which change wins; the schedule of the learning rate."""

import math
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


def test_tables_become_dataclasses_and_lists_tuples():
    found = build(Outer, {"name": "y", "ranges": [[3, 4], [5, 6]], "span": [-5, 2.5], "inner": {"rate": 2}})
    assert found == Outer("y", False, ((3, 4), (5, 6)), (-5.0, 2.5), Inner(2.0, 3))
    assert isinstance(found.inner.rate, float) and isinstance(found.span[0], float)


def test_nothing_given_is_the_defaults():
    assert build(Outer, {}) == Outer()


@pytest.mark.parametrize(
    "values, sentence",
    [
        ({"nmae": "y"}, "^r.toml: unknown key 'nmae' for Outer; known keys: name, fast, ranges, span, inner$"),
        ({"inner": {"rtae": 1.0}}, "^r.toml: inner: unknown key 'rtae' for Inner; known keys: rate, count$"),
        ({"name": "bad"}, "^r.toml: no such name$"),
        ({"name": 3}, "^r.toml: name = 3: expected text$"),
        ({"fast": 1}, "^r.toml: fast = 1: expected true or false$"),
        ({"ranges": 7}, "^r.toml: ranges = 7: expected a list$"),
        ({"ranges": [[1, 2.5]]}, "^r.toml: ranges = 2.5: expected a whole number$"),
        ({"span": ["low", 1.0]}, "^r.toml: span = 'low': expected a number$"),
        ({"inner": {"count": 2.0}}, "^r.toml: inner: count = 2.0: expected a whole number$"),
        ({"inner": {"count": True}}, "^r.toml: inner: count = True: expected a whole number$"),
        ({"inner": {"rate": "fast"}}, "^r.toml: inner: rate = 'fast': expected a number$"),
        ({"inner": 3}, "^r.toml: inner: expected a table of keys and values, not 3$"),
    ],
)
def test_what_does_not_fit_is_one_sentence(values, sentence):
    with pytest.raises(QseError, match=sentence):
        build(Outer, values, "r.toml: ")


def test_changes_win_over_the_table_and_are_read_as_toml():
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


def test_changes_leave_the_table_that_was_given_alone():
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
def test_a_change_that_is_none_is_one_sentence(change, sentence):
    with pytest.raises(QseError, match=f"^{sentence}"):
        overridden({"train": {"steps": 10}}, [change])


def test_files_that_are_no_toml_are_named(tmp_path):
    broken, binary = tmp_path / "broken.toml", tmp_path / "binary.toml"
    broken.write_text("steps = ")
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (broken, binary):
        with pytest.raises(QseError, match=f"^{path}: not valid TOML"):
            read(path)
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(QseError, match=f"^{path}: cannot read the configuration"):
            read(path)


def test_the_learning_rate_rises_holds_and_falls():
    pytest.importorskip("torch")
    from qse.train.trainer import TrainConfig

    rate = TrainConfig(steps=1000, warmup_steps=100, plateau_steps=400, learning_rate=0.5).rate
    assert [rate(step) for step in (0, 9, 99, 100, 250, 400)] == pytest.approx([0.005, 0.05, 0.5, 0.5, 0.5, 0.5])
    for step in (450, 700, 999):
        assert rate(step) == pytest.approx(0.25 * (1 + math.cos(math.pi * (step - 400) / 600)))
    assert rate(700) == pytest.approx(0.25) and rate(1000) == rate(5000) == 0


def test_the_learning_rate_falls_from_the_end_of_the_rise_where_nothing_is_held():
    pytest.importorskip("torch")
    from qse.train.trainer import TrainConfig

    rate = TrainConfig(steps=300, warmup_steps=100, learning_rate=1.0).rate
    assert rate(100) == 1 and rate(200) == pytest.approx(0.5)
    assert TrainConfig(steps=10, warmup_steps=0, learning_rate=1.0).rate(0) == 1


@pytest.mark.parametrize(
    "values, sentence",
    [
        ({"precision": "half"}, "precision 'half': choose float32 or bfloat16"),
        ({"betas": [0.9]}, r"betas \[0.9\]: two numbers, from 0 to below 1"),
        ({"betas": [0.9, 1]}, r"betas \[0.9, 1.0\]: two numbers, from 0 to below 1"),
        ({"weight_decay": -0.1}, "weight_decay -0.1: must be at least 0"),
        ({"learning_rate": -1}, "learning_rate -1.0: must be above 0"),
        ({"steps": -5}, "steps -5: must be at least 0"),
        ({"batch": 0}, "batch 0: must be at least 1"),
    ],
)
def test_a_plan_without_sense_is_one_sentence(values, sentence):
    pytest.importorskip("torch")
    from qse.train.trainer import TrainConfig

    with pytest.raises(QseError, match=sentence):
        build(TrainConfig, values)


def test_a_recipe_is_read_changed_written_and_read_again(tmp_path):
    pytest.importorskip("torch")
    from qse.networks.streaming import StreamingConfig
    from qse.train.recipe import read_config, write_config

    recipe, whole = tmp_path / "recipe.toml", tmp_path / "config.toml"
    recipe.write_text('[model]\nnetwork = "streaming"\ngrowth = 2\n[train]\nsteps = 50\n[mix]\nsnr = [0, 5]\n')
    config = read_config(recipe, ["train.batch=7", "model.blocks=1"])
    assert (config.train.steps, config.train.batch, config.mix.snr) == (50, 7, (0.0, 5.0))
    write_config(whole, config)
    again = read_config(whole)
    assert (again.train, again.mix, again.loss) == (config.train, config.mix, config.loss)
    model = dict(again.model)
    assert model.pop("network") == "streaming" and build(StreamingConfig, model) == StreamingConfig(growth=2, blocks=1)


def test_a_recipe_with_a_table_that_there_is_not_names_the_tables(tmp_path):
    pytest.importorskip("torch")
    from qse.train.recipe import read_config

    recipe = tmp_path / "recipe.toml"
    recipe.write_text("[trian]\nsteps = 50\n")
    with pytest.raises(QseError, match=r"recipe.toml: unknown key 'trian' for RunConfig; known keys: model, mix, loss"):
        read_config(recipe)
