"""Parts of the paper's bottleneck."""

import pytest

torch = pytest.importorskip("torch")


from qse_papers.networks.axial_attention import ConvModule


def test_conv_module_gates_whole_quaternions():
    """Closing the gate of one quaternion channel silences its four components before the
    convolution, no others."""
    module = ConvModule(4, 3, 0.0).eval()
    seen = []
    module.local.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    with torch.no_grad():
        module.widen.bias[:, 4 + 1] = -1e4
    module(torch.randn(2, 6, 4, 4))
    silent = seen[0].abs().amax(dim=(0, 3, 4)) == 0  # 4, C
    assert silent[:, 1].all() and not silent[:, [0, 2, 3]].any()
