"""Networks over other algebras: real and PHM layers in place of quaternion ones."""

import pytest

torch = pytest.importorskip("torch")


from qse_papers.nn.cells import QuaternionLSTM

from qse.networks import build_network
from qse.networks.algebra import convert_
from qse.nn.conv import QuaternionConv2d
from qse.nn.linear import QuaternionLinear
from qse.nn.quaternion import hamilton_matrix
from qse.nn.recurrent import QuaternionGRU, gate_matrix


@pytest.mark.parametrize("layer, shape, names", [
    (QuaternionLinear(3, 5), (2, 4, 3), ["weight"]),
    (QuaternionConv2d(3, 5, (2, 3)), (2, 4, 3, 7, 6), ["weight"]),
    (QuaternionGRU(3, 5), (2, 7, 4, 3), ["weight_input", "weight_hidden"]),
    (QuaternionLSTM(3, 5), (2, 7, 4, 3), ["weight_input", "weight_hidden"]),
], ids=lambda value: type(value).__name__)  # fmt: skip
def test_convert_real_with_the_quaternion_matrix(layer, shape, names):
    torch.manual_seed(0)
    x = torch.randn(shape)
    before = layer(x)
    matrices = {}
    for name in names:
        weight = getattr(layer, name).detach()
        matrices[name] = gate_matrix(weight) if len(names) == 2 else hamilton_matrix(weight)
    convert_(layer, "real")
    for name in names:
        parameter = getattr(layer, name).weight  # gates, 1, out, in
        assert parameter.numel() == matrices[name].numel()
        parameter.data.copy_(matrices[name].view(parameter.shape))
    after = layer(x)
    if isinstance(after, tuple):
        before = before[0]
        after = after[0]
    torch.testing.assert_close(after, before)


def test_convert_counts_of_weights():
    def weights(**changes):
        network = build_network({"network": "streaming", **changes})
        return sum(
            parameter.numel() for name, parameter in network.named_parameters() if "weight" in name
        )

    assert weights(algebra="real") == pytest.approx(4 * weights(), rel=0.05)
    assert weights(algebra="phm") == pytest.approx(weights(), rel=0.05)  # n = 4
