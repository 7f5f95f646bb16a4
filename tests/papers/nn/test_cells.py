"""Quaternion RNN and LSTM against their equations, and Parcollet et al.'s gradients."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.nn.cells import QuaternionLSTM, QuaternionRNN
from tensors import close, draw

from qse.nn import contract
from qse.nn.quaternion import conjugate, hamilton_product


def times(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """W (x) x, a sum of Hamilton products: w (4, out, in), x (..., 4, in) -> (..., 4, out)."""
    return hamilton_product(w, x[..., None, :], -3).sum(-1)


@pytest.mark.parametrize(
    "layer",
    [
        QuaternionRNN(3, 5),
        QuaternionRNN(3, 5, "relu"),
        QuaternionRNN(3, 5, "linear"),
        QuaternionLSTM(3, 5),
    ],
    ids=["tanh", "relu", "linear", "lstm"],
)
def test_cells_stream(layer):
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(0.3 * draw(*parameter.shape))
    contract.verify_stream(layer, draw(2, 23, 4, 3), dim=1)


def test_quaternion_rnn_refuses_unknown_activations():
    with pytest.raises(ValueError, match=r"gelu.*tanh, relu, linear"):
        QuaternionRNN(1, 1, "gelu")


def test_quaternion_lstm_is_its_equations():
    torch.manual_seed(0)
    layer = QuaternionLSTM(3, 5).double()
    x = draw(2, 6, 4, 3)
    hidden = torch.zeros(2, 4, 5).double()
    cell = torch.zeros(2, 4, 5).double()
    y, state = layer(x)
    for t in range(6):
        gates = []
        for w, u, b in zip(layer.weight_input, layer.weight_hidden, layer.bias, strict=True):
            # x (x) w: conjugate what the paper's order gives for conjugates
            input_part = times(conjugate(w, 0), conjugate(x[:, t], 1))
            hidden_part = times(conjugate(u, 0), conjugate(hidden, 1))
            gates.append(conjugate(input_part + hidden_part, 1) + b)
        i, f, g, o = gates
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * cell.tanh()
        close(y[:, t], hidden)
    close(state["hidden"], hidden)
    close(state["cell"], cell)


class Paper:
    """The network of Eqs. 6-8 in the paper's order W (x) h with a linear output, and its gradients.

    E = sum over t of |p_t - y_t|^2 / 2. For the equations to hold, the derivative of the activation
    also applies to the first delta, and delta_n is already the product that Eqs. 14-15 write as
    one.
    """

    def __init__(self, layer: QuaternionRNN, output: torch.Tensor):
        self.w_hh = conjugate(layer.weight_hidden[0].detach(), 0)
        self.w_hx = conjugate(layer.weight_input[0].detach(), 0)
        self.b = conjugate(layer.bias[0].detach(), 0)
        self.w_hy = output

    def forward(self, x):
        hidden = torch.zeros(x.shape[0], *self.b.shape).double()
        self.h = []
        self.p = []
        for frame in x.unbind(1):
            # Eq. 6
            hidden = torch.tanh(times(self.w_hh, hidden) + times(self.w_hx, frame) + self.b)
            self.h.append(hidden)
            self.p.append(times(self.w_hy, hidden))  # Eq. 8
        return torch.stack(self.p, 1)

    def gradients(self, x, y):
        """Eqs. 10-17 for the sum over all t of E_t: of W_hy, W_hh, W_hx and b."""
        hidden_back = conjugate(self.w_hh, 0).transpose(1, 2)
        output_back = conjugate(self.w_hy, 0).transpose(1, 2)
        sums = list(map(torch.zeros_like, (self.w_hy, self.w_hh, self.w_hx, self.b)))
        for t in range(x.shape[1]):
            error = self.p[t] - y[:, t]  # Eq. 11
            sums[0] += outer(error, self.h[t])
            delta = times(output_back, error) * (1 - self.h[t] ** 2)  # Eq. 16, n = t
            for m in range(t, -1, -1):
                sums[1] += outer(delta, self.h[m - 1]) if m else 0  # Eq. 14
                sums[2] += outer(delta, x[:, m])  # Eq. 15
                sums[3] += delta.sum(0)  # Eq. 17
                if m:
                    delta = times(hidden_back, delta) * (1 - self.h[m - 1] ** 2)  # Eq. 16, n < t
        return sums


def outer(delta: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """delta (x) x* of all pairs, summed over the batch: (N, 4, out), (N, 4, in) -> (4, out, in)."""
    return hamilton_product(delta[..., None], conjugate(x, 1)[..., None, :], 1).sum(0)


def test_quaternion_rnn_gradients_are_the_closed_forms():
    """Conjugated weights and inputs convert the paper's order to ours.

    tanh is odd, so it commutes with conjugation.
    """
    torch.manual_seed(0)
    layer = QuaternionRNN(3, 5).double()
    output = 0.5 * draw(4, 2, 5, seed=1)
    with torch.no_grad():
        layer.bias.copy_(0.1 * draw(1, 4, 5, seed=2))
    x = draw(2, 6, 4, 3, seed=3)
    y = draw(2, 6, 4, 2, seed=4)

    paper = Paper(layer, output)
    p = paper.forward(x)
    expected = paper.gradients(x, y)

    w_hy = output.clone().requires_grad_()
    hidden, _ = layer(conjugate(x, 2))
    found = times(w_hy, conjugate(hidden, 2))
    close(found, p)
    ((found - y) ** 2).sum().div(2).backward()
    close(w_hy.grad, expected[0])
    close(conjugate(layer.weight_hidden.grad[0], 0), expected[1])
    close(conjugate(layer.weight_input.grad[0], 0), expected[2])
    close(conjugate(layer.bias.grad[0], 0), expected[3])
