"""Memory layouts: they change where numbers lie, and nothing else."""

import pytest

torch = pytest.importorskip("torch")

from qse.nn.conv import FrequencyUpsample
from qse.nn.layout import channels_innermost, is_channels_innermost, join, moved


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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("widths", [(8, 4), (2, 6), (3, 1), (16, 8, 8)])
def test_join_moves_many_numbers_at_once_and_changes_none(dtype, widths):
    parts = [channels_innermost(torch.randn(2, 4, width, 5, 6, dtype=dtype)).requires_grad_() for width in widths]
    parts[0].data[0, 0, 0, 0] = torch.tensor([float("nan"), float("inf"), -0.0, 1e-30, 1, 2], dtype=dtype)
    joined, expected = join(parts, -3), torch.cat(parts, 2)
    assert is_channels_innermost(joined)
    torch.testing.assert_close(joined, expected, rtol=0, atol=0, equal_nan=True)
    pull = torch.randn(2, 4, 6, 5, sum(widths), dtype=dtype).permute(0, 1, 4, 3, 2)
    got, want = (torch.autograd.grad(y, parts, pull) for y in (joined, expected))
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))


def test_what_moves_can_be_differentiated_twice():
    x, y = (torch.randn(1, 4, width, 2, 2, dtype=torch.float64, requires_grad=True) for width in (2, 4))
    assert torch.autograd.gradgradcheck(lambda *parts: join([channels_innermost(p) for p in parts], -3) ** 2, (x, y))
    assert torch.autograd.gradgradcheck(lambda part: moved(part, (2, 0, 3, 1, 4)) ** 2, (x,))


def test_join_of_two_types_is_of_the_finer_one():
    x, y = (channels_innermost(torch.randn(2, 4, 8, 5, 6, dtype=dtype)) for dtype in (torch.bfloat16, torch.float32))
    assert torch.equal(join([x, y], -3), torch.cat([x, y], 2)) and torch.equal(join([y, x], -2), torch.cat([y, x], 3))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("last", [1, 2, 3, 4, 8, 12])
@pytest.mark.parametrize("offset", [0, 1])
def test_moved_is_permute_forwards_and_backwards(dtype, last, offset):
    x = torch.randn(offset + 2 * 3 * 5 * last, dtype=dtype)[offset:].view(2, 3, 5, last).requires_grad_()
    found, expected = moved(x, (2, 0, 1, 3)), x.permute(2, 0, 1, 3)
    assert found.is_contiguous() and torch.equal(found, expected)
    pull = torch.randn(2, 3, 5, last, dtype=dtype).permute(2, 0, 1, 3)
    assert torch.equal(*(torch.autograd.grad(y, x, pull)[0] for y in (found, expected)))
    with torch.no_grad():
        assert torch.equal(moved(x, (2, 0, 1, 3)), expected)


def test_join_puts_channels_beside_each_other():
    x, y = torch.randn(2, 4, 3, 5, 6), channels_innermost(torch.randn(2, 4, 2, 5, 6))
    torch.testing.assert_close(join([x, y], -3), torch.cat([x, y], dim=2), rtol=0, atol=0)


def test_join_follows_its_last_part():
    first, last = torch.randn(2, 4, 3, 1, 6), torch.randn(2, 4, 3, 5, 6)
    assert join([first, last], -2).is_contiguous()
    joined = join([first, channels_innermost(last)], -2)
    assert is_channels_innermost(joined) and torch.equal(joined, torch.cat([first, last], 3))


def test_upsampling_keeps_the_layout():
    up, x = FrequencyUpsample(3, 2, factor=5).double(), torch.randn(2, 4, 3, 4, 6, dtype=torch.float64)
    torch.nn.init.normal_(up.conv.bias)
    y = up(channels_innermost(x))
    assert is_channels_innermost(y)
    torch.testing.assert_close(y, up(x))
    got, want = (torch.autograd.grad(z.square().sum(), list(up.parameters())) for z in (y, up(x)))
    torch.testing.assert_close(got, want)
