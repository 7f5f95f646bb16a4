"""Time shared-score and Hamilton attention (main paper, Table 9): d_model 64 quaternions, 8 heads,
batch 1.

Each in its fastest form and as its equations are written, in torch on the CPU and on a GPU if there
is one, and in ONNX Runtime. MACs are those of the products in the equations.
"""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from qse.bench import Request, torch_threads
from qse.bench.table import Column, Table
from qse.machine import machine
from qse.runtime.timing import Times, race

from .forms import FORMS, Attend, onnx_graph

TOKENS = (512, 1024, 2048, 4096)
# quaternion channels of a head
HEADS = 8
CHANNELS = 8
PAPER = {512: 1.27, 1024: 1.65, 2048: 1.86, 4096: 2.08}  # Hamilton / shared score on an A100
ONNX = ("shared, fused", "shared, 4 products", "hamilton, folded", "hamilton, 16 products")

COLUMNS = (
    Column("tokens", "T", ".0f"),
    Column("engine", "computed by"),
    Column("form", "attention"),
    Column("macs", "GMAC", ".2f", 1e-9),
    Column("median", "median ms", ".2f", 1e3),
    Column("p99", "p99 ms", ".2f", 1e3),
    Column("memory_bytes", "peak MB", ".1f", 1e-6),
    Column("slower", "time / shared, fused", ".2f"),
    Column("paper", "paper", ".2f"),
)


def bench(request: Request, tokens: tuple[int, ...] = TOKENS) -> Table:
    """Time all forms for every number of tokens; `request.seconds` for each form."""
    rows = []
    with torch_threads(request.threads):
        for length in tokens:
            rows += _rows(length, request)
    notes = (
        "paper: Hamilton / shared score, both as the paper computes them, "
        "on an A100 GPU (Table 9).",
        "peak MB: memory of results that exist at the same time, beside q, k and v; "
        "measured in torch only.",
    )
    return Table("attention", COLUMNS, rows, machine(request.threads), notes)


def _rows(tokens: int, request: Request) -> list[dict]:
    runners = {
        "torch": _torch_calls(tokens, "cpu"),
        "ONNX Runtime": _onnx_calls(tokens, request.threads),
    }
    if torch.cuda.is_available():
        runners["torch, CUDA"] = _torch_calls(tokens, "cuda")
    rows = []
    for engine, calls in runners.items():
        with torch.inference_mode():
            times = race(calls, request.seconds)
            peaks = {form: _peak_memory(call, engine) for form, call in calls.items()}
        best = times["shared, fused"].median
        for form in calls:
            row = _row(tokens, engine, form, times[form], best)
            rows.append(row | {"memory_bytes": peaks[form]})
    return rows


def _row(tokens: int, engine: str, form: str, times: Times, best: float) -> dict:
    return {
        "tokens": tokens,
        "engine": engine,
        "form": form,
        "macs": count_macs(form, tokens),
        "median": times.median,
        "p99": times.quantile(0.99),
        "slower": times.median / best,
        "paper": PAPER.get(tokens) if form == "hamilton, 16 products" else None,
    }


def count_macs(form: str, tokens: int) -> int:
    """Count 4 products for the scores and 4 after the softmax for shared scores; 16 and 4 for
    Hamilton attention."""
    return (8 if form.startswith("shared") else 20) * tokens**2 * HEADS * CHANNELS


def _torch_calls(tokens: int, device: str) -> dict:
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, HEADS, tokens, 4, CHANNELS, generator=generator).to(device)

    def call(attend: Attend) -> Tensor:
        y = attend(q, k, v)
        if device == "cuda":
            torch.cuda.synchronize()
        return y

    return {form: lambda attend=attend: call(attend) for form, attend in FORMS.items()}


def _onnx_calls(tokens: int, threads: int) -> dict:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    calls = {}
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    for form in ONNX:
        graph = onnx_graph(form, HEADS, tokens, CHANNELS)
        session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        rng = np.random.default_rng(0)
        feed = {}
        for node in session.get_inputs():
            feed[node.name] = rng.standard_normal(node.shape).astype(np.float32)
        calls[form] = lambda session=session, feed=feed: session.run(None, feed)
    return calls


def _peak_memory(call: Callable[[], object], engine: str) -> int | None:
    if engine == "torch":
        with PeakMemory() as memory:
            call()
        return memory.peak
    if engine == "torch, CUDA":
        gc.collect()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        return torch.cuda.max_memory_allocated() - before
    return None


class PeakMemory(TorchDispatchMode):
    """Record as `peak` the largest number of bytes that results of operators have occupied at the
    same time."""

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self._storages: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(
        self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        given = {storage._cdata for storage in _storages(args)}
        for storage in _storages(out):
            if storage._cdata not in given:
                self._storages[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
        for key, (storage_of, _) in list(self._storages.items()):
            if storage_of.expired():
                del self._storages[key]
        occupied = 0
        for _, size in self._storages.values():
            occupied += size
        self.peak = max(self.peak, occupied)
        return out


def _storages(values: Any) -> list[Any]:
    """Return the storages of the tensors in a nest of lists, tuples and dicts."""
    storages = []
    for leaf in tree_leaves(values):
        if isinstance(leaf, torch.Tensor):
            storages.append(leaf.untyped_storage())
    return storages
