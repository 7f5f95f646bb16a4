"""State trees and the delay line."""

import pytest

torch = pytest.importorskip("torch")


from qse.nn.state import delay, flatten_state, unflatten_state


def test_flatten_state_and_back():
    a = torch.zeros(1)
    b = torch.ones(2)
    c = torch.ones(3)
    tree = {"encoder": {"dense": {"layer0": a, "layer1": b}}, "tail": c}
    flat = flatten_state(tree)
    assert list(flat) == ["encoder.dense.layer0", "encoder.dense.layer1", "tail"]
    back = unflatten_state(flat)
    assert back["encoder"]["dense"]["layer1"] is b and back["tail"] is c
    assert list(flatten_state(back)) == list(flat)


@pytest.mark.parametrize("kept", [1, 2, 5])
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8])
def test_delay_equals_splitting_the_line(steps, kept):
    x = torch.randn(2, steps, 3)
    past = torch.randn(2, kept, 3)
    line = torch.cat([past, x], 1)
    due, waiting = delay(x, past, 1)
    assert torch.equal(due, line[:, :steps]) and torch.equal(waiting, line[:, steps:])
