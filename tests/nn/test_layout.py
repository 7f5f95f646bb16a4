"""Memory layouts: they change strides and nothing else."""

import pytest

torch = pytest.importorskip("torch")


from qse.nn.layout import (
    channels_innermost,
    is_channels_innermost,
    join,
    moved,
    to_features,
    to_tokens,
)


@pytest.mark.parametrize("dim", [-3, -2, -1])
def test_join_equals_cat_with_gradients(dim):
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
def test_join_copies_words_bit_exactly(dtype, widths):
    parts = [
        channels_innermost(torch.randn(2, 4, width, 5, 6, dtype=dtype)).requires_grad_()
        for width in widths
    ]
    parts[0].data[0, 0, 0, 0] = torch.tensor(
        [float("nan"), float("inf"), -0.0, 1e-30, 1, 2], dtype=dtype
    )
    joined = join(parts, -3)
    expected = torch.cat(parts, 2)
    assert is_channels_innermost(joined)
    torch.testing.assert_close(joined, expected, rtol=0, atol=0, equal_nan=True)
    pull = torch.randn(2, 4, 6, 5, sum(widths), dtype=dtype).permute(0, 1, 4, 3, 2)
    got, want = (torch.autograd.grad(y, parts, pull) for y in (joined, expected))
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))


def test_join_and_moved_have_second_derivatives():
    x, y = (
        torch.randn(1, 4, width, 2, 2, dtype=torch.float64, requires_grad=True) for width in (2, 4)
    )
    assert torch.autograd.gradgradcheck(
        lambda *parts: join([channels_innermost(p) for p in parts], -3) ** 2, (x, y)
    )
    assert torch.autograd.gradgradcheck(lambda part: moved(part, (2, 0, 3, 1, 4)) ** 2, (x,))


def test_join_promotes_types():
    x, y = (
        channels_innermost(torch.randn(2, 4, 8, 5, 6, dtype=dtype))
        for dtype in (torch.bfloat16, torch.float32)
    )
    assert torch.equal(join([x, y], -3), torch.cat([x, y], 2)) and torch.equal(
        join([y, x], -2), torch.cat([y, x], 3)
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("last", [1, 2, 3, 4, 8, 12])
@pytest.mark.parametrize("offset", [0, 1])
def test_moved_equals_permute_with_gradients(dtype, last, offset):
    x = (
        torch.randn(offset + 2 * 3 * 5 * last, dtype=dtype)[offset:]
        .view(2, 3, 5, last)
        .requires_grad_()
    )
    found = moved(x, (2, 0, 1, 3))
    expected = x.permute(2, 0, 1, 3)
    assert found.is_contiguous() and torch.equal(found, expected)
    pull = torch.randn(2, 3, 5, last, dtype=dtype).permute(2, 0, 1, 3)
    assert torch.equal(*(torch.autograd.grad(y, x, pull)[0] for y in (found, expected)))
    with torch.no_grad():
        assert torch.equal(moved(x, (2, 0, 1, 3)), expected)


def test_join_along_channels():
    x = torch.randn(2, 4, 3, 5, 6)
    y = channels_innermost(torch.randn(2, 4, 2, 5, 6))
    torch.testing.assert_close(join([x, y], -3), torch.cat([x, y], dim=2), rtol=0, atol=0)


def test_join_keeps_the_layout_of_the_last_part():
    first = torch.randn(2, 4, 3, 1, 6)
    last = torch.randn(2, 4, 3, 5, 6)
    assert join([first, last], -2).is_contiguous()
    joined = join([first, channels_innermost(last)], -2)
    assert is_channels_innermost(joined) and torch.equal(joined, torch.cat([first, last], 3))


def test_layout_functions_on_real_features():
    """Check that layouts without a quaternion axis permute the same axes, and that join is
    torch.cat."""
    x = torch.randn(2, 12, 5, 6)
    assert torch.equal(to_tokens(x), x.permute(0, 2, 3, 1)) and torch.equal(
        to_features(to_tokens(x)), x
    )
    assert not is_channels_innermost(channels_innermost(x)) and torch.equal(
        channels_innermost(x), x
    )
    assert torch.equal(join([x, x], -3), torch.cat([x, x], 1))
