"""Memory layouts: they change where numbers lie, and nothing else."""

import pytest

torch = pytest.importorskip("torch")

from qse.nn.conv import FrequencyUpsample  # noqa: E402
from qse.nn.layout import channels_innermost, is_channels_innermost, join  # noqa: E402


@pytest.mark.parametrize("dim", [-3, -2, -1])
def test_join_is_cat_forwards_and_backwards(dim):
    shapes = [[2, 4, 3, 5, 6], [2, 4, 3, 5, 6]]
    shapes[0][dim] = 2
    parts = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    joined = join([channels_innermost(part) for part in parts], dim)
    expected = torch.cat(parts, dim)
    assert is_channels_innermost(joined) and torch.equal(joined, expected)
    pull = torch.randn_like(expected)
    got, want = (torch.autograd.grad(y, parts, pull, retain_graph=True) for y in (joined, expected))
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))


def test_join_puts_channels_beside_each_other():
    x, y = torch.randn(2, 4, 3, 5, 6), channels_innermost(torch.randn(2, 4, 2, 5, 6))
    torch.testing.assert_close(join([x, y], -3), torch.cat([x, y], dim=2), rtol=0, atol=0)


def test_join_follows_its_last_part():
    first, last = torch.randn(2, 4, 3, 1, 6), torch.randn(2, 4, 3, 5, 6)
    assert join([first, last], -2).is_contiguous()
    joined = join([first, channels_innermost(last)], -2)
    assert is_channels_innermost(joined) and torch.equal(joined, torch.cat([first, last], 3))


def test_upsampling_keeps_the_layout():
    up, x = FrequencyUpsample(3, 2, factor=5), torch.randn(2, 4, 3, 4, 6)
    y = up(channels_innermost(x))
    assert is_channels_innermost(y)
    torch.testing.assert_close(y, up(x))
