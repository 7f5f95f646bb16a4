"""Names of devices."""

import pytest

torch = pytest.importorskip("torch")

from qse.errors import UsageError
from qse.torch_device import torch_device


def test_torch_device_by_name(monkeypatch):
    assert torch_device("cpu") == torch.device("cpu")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert torch_device("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(UsageError, match="device=cuda:2: PyTorch finds 2 here, cuda:0 to cuda:1"):
        torch_device("cuda:2")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(UsageError, match="device=cuda: PyTorch finds no GPU here"):
        torch_device("cuda")
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    with pytest.raises(UsageError, match="device=mps: PyTorch finds no Apple GPU"):
        torch_device("mps")


@pytest.mark.parametrize("name", ["gpu", "cpu:1", "cuda:", "cuda:x", "mps:0"])
def test_torch_device_refuses_other_names(name):
    with pytest.raises(UsageError, match=f"device={name}: choose cpu, cuda, cuda:N or mps"):
        torch_device(name)
