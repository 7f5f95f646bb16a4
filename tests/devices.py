"""Notice tensors of two devices in one operator, on a machine without a second device."""

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class OneDevice(TorchDispatchMode):
    """Run operators, and raise AssertionError for one that mixes devices as a GPU would refuse to:
    tensors of another device with one number may meet."""

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        devices = set()
        for leaf in tree_leaves((args, kwargs)):
            if isinstance(leaf, Tensor) and leaf.ndim:
                devices.add(leaf.device.type)
        copies = operator.overloadpacket.__name__ in ("copy_", "_to_copy")
        assert copies or len(devices) < 2, f"{operator}: {sorted(devices)}"
        return operator(*args, **(kwargs or {}))
