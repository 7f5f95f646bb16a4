"""The Triton kernel of the GRU through the compiler for NVIDIA cards, which needs no card.

test_gru_kernel.py starts these tests in a process of their own.
"""

import re
import subprocess

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from qse.nn import gru_kernel

SHARED = {80: 163 * 1024, 90: 227 * 1024}  # bytes for a program: A100, H100
HALF = {"gates", "weight", "kept", "of_gates"}  # in the type of the products


def compiled(kernel, product: str, units: int, card: int, **flags: bool):
    options = gru_kernel.options(units)
    constants = {"UNITS": options.pop("UNITS"), "WIDTH": options.pop("WIDTH"), **flags}
    signature = {}
    for name in kernel.arg_names:
        if name in constants:
            signature[name] = "constexpr"
        elif name in ("count", "frames"):
            signature[name] = "i32"
        else:
            signature[name] = f"*{product}" if name in HALF else "*fp32"
    aligned = {}
    for place, kind in enumerate(signature.values()):
        if kind.startswith("*"):
            aligned[place,] = [["tt.divisibility", 16]]
    source = ASTSource(kernel, signature, constants, aligned)
    return triton.compile(source, target=GPUTarget("cuda", card, 32), options=options)


@pytest.mark.parametrize(
    ("card", "product", "units"),
    [
        (80, "bf16", 128),
        (80, "fp32", 64),
        (90, "bf16", 32),
        (90, "bf16", 80),
        (90, "bf16", 128),
        (90, "fp16", 128),
        (90, "fp32", 64),
    ],
)
def test_kernels_compile_and_stay_on_the_chip(tmp_path, card, product, units):
    kernels = (
        compiled(gru_kernel._forward, product, units, card, KEEP=True),
        compiled(gru_kernel._forward, product, units, card, KEEP=False),
        compiled(gru_kernel._backward, product, units, card),
    )
    for kernel in kernels:
        assert kernel.metadata.shared <= SHARED[card]
        assert ("mma.sync" in kernel.asm["ptx"]) == (product != "fp32")
        assert stack(kernel, tmp_path / "kernel.cubin") == 0


def stack(kernel, path) -> int:
    """Return the bytes per thread that do not fit in registers."""
    path.write_bytes(kernel.asm["cubin"])
    tool = triton.knobs.nvidia.cuobjdump.path
    command = [tool, "--dump-resource-usage", str(path)]
    usage = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(re.search(r"STACK:(\d+)", usage)[1])
