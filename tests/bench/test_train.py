"""The benchmark of training takes whole steps of a trainer."""

import pytest

torch = pytest.importorskip("torch")

from qse.bench import Request, train
from qse.bench.models import network
from qse.bench.models import recipe as read

CPU = torch.device("cpu")


@pytest.fixture
def two_rates(recipe):
    """The recipe, for 48 and 16 kHz, with losses that need no package."""
    text = recipe.read_text().replace("ranges = [[32, 2]]", "ranges = [[16, 2], [16, 4], [64, 8]]")
    text = text.replace("n_fft = 64", "n_fft = 192").replace("hop_length = 32", "hop_length = 72")
    text += "sample_rate = 48000\noverlap = 48\n"
    text += "[mix]\nsample_rate = 48000\nsegment = 0.25\nrooms = 2\n"
    text += "[loss]\npesq = 0.0\nmrstft = 0.0\n[train]\nbatch = 2\nwarmup_steps = 0\n"
    recipe.write_text(text)
    return str(recipe)


@pytest.mark.parametrize("precision", train.PRECISIONS)
def test_step_mixes_and_changes_every_weight(two_rates, precision):
    config = read(two_rates)
    source = train.made_up(config, CPU)
    rates = set()

    class Watched:
        segments = source.segments

        def batch(self, *arguments):
            batch = source.batch(*arguments)
            rates.add(batch.sample_rate)
            return batch

    model = network(two_rates)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    step = train.stepper(model, config, Watched(), precision)
    for _ in range(6):
        step()
    assert rates == {16000, 48000}
    assert not [name for name, weight in model.named_parameters() if weight.equal(before[name])]


def test_table_has_a_row_per_precision(two_rates):
    table = train.bench(Request((two_rates,), seconds=0.0))
    assert [row["precision"] for row in table.rows] == list(train.PRECISIONS)
    for row in table.rows:
        assert 0 < row["mixing"] < row["median"]
        assert row["rate"] == pytest.approx(2 * 0.25 / row["median"])
