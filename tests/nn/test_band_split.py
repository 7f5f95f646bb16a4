"""Band split and band merge."""

import pytest

torch = pytest.importorskip("torch")


from qse.nn.band_split import BandMerge, BandSplit


def test_band_split_of_one_range_is_a_strided_conv():
    split = BandSplit(3, ((32, 4),)).eval()
    x = torch.randn(2, 4, 1, 5, 32)
    wide = torch.nn.functional.pad(x, (2, 2))
    torch.testing.assert_close(split(x), split.act(split.norm(split.convs[0](wide))))
    assert split(x).shape == (2, 4, 3, 5, 8)


def test_band_split_receptive_fields():
    ranges = ((16, 2), (16, 4))
    split = BandSplit(3, ranges).eval()
    x = torch.randn(1, 4, 1, 1, 32)
    edges = [(2 * n, 2 * n + 2) for n in range(8)] + [(16 + 4 * n, 20 + 4 * n) for n in range(4)]
    y = split(x)
    for start, end in edges:
        assert y.shape[-1] == len(edges)
        for bin_ in (start - 3, start - 2, end + 1, end + 2):
            if 0 <= bin_ < 32:
                other = x.clone()
                other[..., bin_] += 1
                moved = not torch.equal(
                    split(other)[..., edges.index((start, end))], y[..., edges.index((start, end))]
                )
                assert moved == (start - 2 <= bin_ < end + 2)


def test_band_merge_upsamples_every_range():
    ranges = ((16, 2), (16, 4))
    join = BandMerge(3, 2, ranges).eval()
    x = torch.randn(2, 4, 3, 5, 12)
    y = join(x)
    low, high = (
        join.act(up(part)) for up, part in zip(join.ups, (x[..., :8], x[..., 8:]), strict=True)
    )
    assert y.shape == (2, 4, 2, 5, 32)
    torch.testing.assert_close(y, torch.cat([low, high], 4))
