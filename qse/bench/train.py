"""Measure the speed of training: seconds of audio per second of forward and backward pass, per
network and device."""

from collections.abc import Callable

import torch

from ..machine import machine
from ..networks import Network
from ..runtime.timing import race
from . import Request, torch_threads
from .models import network
from .table import Column, Table

SEGMENT = 1.28  # seconds
BATCH = {"cpu": 3, "cuda": 64}

COLUMNS = (
    Column("model", "network"),
    Column("device", "device"),
    Column("precision", "precision"),
    Column("batch", "batch", ".0f"),
    Column("median", "step ms", ".0f", 1e3),
    Column("rate", "audio s / s", ".1f"),
)


def bench(request: Request) -> Table:
    """Time networks by name or recipe; by default the streaming network and qconformer."""
    names = request.models or ("streaming", "qconformer")
    devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    rows = []
    with torch_threads(request.threads):
        for device in devices:
            rows += _rows(names, device, request.seconds)
    notes = (f"Segments of {SEGMENT} s; squared error as the loss; no optimizer, no data.",)
    return Table("train", COLUMNS, rows, machine(request.threads), notes)


def _rows(names: tuple[str, ...], device: str, seconds: float) -> list[dict]:
    batch = BATCH[device]
    steps = {}
    for name in names:
        for precision in ("float32", "bfloat16"):
            steps[name, precision] = stepper(network(name).to(device), batch, precision)
    rows = []
    for (name, precision), times in race(steps, seconds, warmup=1).items():
        row = {
            "model": name,
            "device": device,
            "precision": precision,
            "batch": batch,
            "median": times.median,
            "rate": batch * SEGMENT / times.median,
        }
        rows.append(row)
    return rows


def stepper(model: Network, batch: int, precision: str) -> Callable[[], None]:
    """Return a call that runs one forward and one backward pass."""
    device = next(model.parameters()).device
    noisy = 0.1 * torch.randn(batch, round(model.config.sample_rate * SEGMENT), device=device)
    model.train()

    def step() -> None:
        model.zero_grad()
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16"):
            enhanced = model.enhance(noisy)
        (enhanced.float() - noisy).square().mean().backward()
        if device.type == "cuda":
            torch.cuda.synchronize()

    return step
