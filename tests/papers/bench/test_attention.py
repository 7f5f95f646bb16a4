"""Forms of attention: all compute the same; MACs; memory."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import onnxruntime as ort
from qse_papers.bench import attention, forms

from qse import bench
from qse.nn.quaternion import hamilton_product

HEADS = 2
TOKENS = 5
D = 3


def hamilton(q, k, v):
    """Eqs. 14-16 from the Hamilton product itself, (1, H, T, 4, d)."""
    # 1, H, T, T, 4
    score = hamilton_product(q[:, :, :, None], k[:, :, None], dim=-2).sum(-1) / D**0.5
    return torch.einsum("nhstc,nhtcd->nhscd", score.softmax(3), v)


def shared(q, k, v):
    """Eqs. 9-13."""
    score = torch.einsum("nhscd,nhtcd->nhst", q, k) / (4 * D) ** 0.5
    return torch.einsum("nhst,nhtcd->nhscd", score.softmax(-1), v)


@pytest.mark.parametrize("form", forms.FORMS)
def test_torch_forms_compute_their_attention(form):
    q, k, v = torch.randn(3, 1, HEADS, TOKENS, 4, D, dtype=torch.float64)
    expected = shared if form.startswith("shared") else hamilton
    torch.testing.assert_close(forms.FORMS[form](q, k, v), expected(q, k, v), rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", attention.ONNX)
def test_onnx_graph_computes_the_torch_form(form):
    q, k, v = torch.randn(3, 1, HEADS, TOKENS, 4, D)
    session = ort.InferenceSession(forms.onnx_graph(form, HEADS, TOKENS, D))
    fused = form in ("shared, fused", "hamilton, folded")
    order = (0, 2, 1, 3, 4) if fused else (0, 3, 1, 2, 4)  # 1, T, H, 4, d or 1, 4, H, T, d
    feed = {
        name: x.permute(order).reshape(session.get_inputs()[0].shape).numpy()
        for name, x in zip("qkv", (q, k, v), strict=True)
    }
    (found,) = session.run(None, feed)
    expected = forms.FORMS[form](q, k, v).permute(order).reshape(found.shape)
    np.testing.assert_allclose(found, expected.numpy(), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("tokens", "ours", "theirs"), [(512, 134e6, 336e6), (4096, 8.59e9, 21.5e9)]
)
def test_count_macs_equals_table_9(tokens, ours, theirs):
    """The paper counts d_model = 64 quaternions, 8 heads: 4 d = 32 real channels of each head."""
    assert attention.count_macs("shared, fused", tokens) == pytest.approx(ours, rel=3e-3)
    assert attention.count_macs("hamilton, folded", tokens) == pytest.approx(theirs, rel=3e-3)


def test_peak_memory_counts_simultaneous_results():
    def call():
        a = torch.zeros(1000)
        b = a + 1
        del a
        c = b + 1  # noqa: F841
        return b.view(10, 100)

    with attention.PeakMemory() as memory:
        call()
    assert memory.peak == 2 * 4000


def test_attention_bench_has_a_row_per_form():
    table = attention.bench(bench.Request(seconds=0.0), tokens=(8,))
    found = {(row["engine"], row["form"]) for row in table.rows}
    assert {("torch", form) for form in forms.FORMS} | {
        ("ONNX Runtime", form) for form in attention.ONNX
    } <= found
    literal = next(row for row in table.rows if row["form"] == "hamilton, 16 products")
    assert literal["memory_bytes"] >= 4 * attention.HEADS * 4 * 8 * 8 and all(table.cells())
