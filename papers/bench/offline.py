"""Measure the speed of the paper's networks from waveform to waveform
(main paper, Table 3, columns RTF).

Shared-score attention against Hamilton attention, the latter as one fused call and as its equations
are written.
"""

import copy
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from qse.bench import Request, torch_threads
from qse.bench.table import Column, Table
from qse.errors import UsageError
from qse.machine import machine
from qse.networks import build_network
from qse.nn.attention import SharedScoreAttention
from qse.runtime.timing import race
from qse.torch_device import torch_device

from ..nn.hamilton import HamiltonAttention, written_out_

# seconds: the mean of the paper's 448 utterances, which last 6.86 thousand seconds in all
AUDIO = 15.3
STFTS = ((512, 256), (400, 100))
RUNS = 2  # at least, of every row, after one run whose memory is measured
FORMS = {HamiltonAttention: "hamilton, folded", SharedScoreAttention: "shared, fused"}
PAPER = {
    "qconformer": 0.259,
    "qconformer-hamilton": 0.610,
    "qtransformer": 0.249,
    "qtransformer-hamilton": 0.594,
}

COLUMNS = (
    Column("model", "model"),
    Column("attention", "attention"),
    Column("stft", "n_fft/hop"),
    Column("audio", "audio s", ".2f"),
    Column("seconds", "median s", ".2f"),
    Column("rtf", "RTF", ".3f"),
    Column("slower", "time / shared", ".2f"),
    Column("paper", "paper RTF", ".3f"),
    Column("memory", "peak MiB", ".0f", 2**-20),
)


def bench(request: Request) -> Table:
    """Time qconformer and qconformer-hamilton, or the offline networks of the request.

    The literal form keeps all scores in memory, gigabytes of them: it runs at the wider STFT only.
    """
    names = request.models or ("qconformer", "qconformer-hamilton")
    device = torch_device(request.device)
    rows = []
    with torch_threads(request.threads):
        for stft in STFTS:
            rows += _rows(names, stft, request.seconds, device)
    place = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    notes = (
        f"on {place}; untrained weights; peak MiB: largest memory of the process, or on a GPU of "
        "its tensors there, while this row ran.",
        "paper: Table 3, n_fft 512, hop 256, an Intel Xeon Gold 6342; "
        "the number of threads is not given.",
    )
    return Table("offline", COLUMNS, rows, machine(request.threads), notes)


def _rows(
    names: tuple[str, ...], stft: tuple[int, int], seconds: float, device: torch.device
) -> list[dict]:
    torch.manual_seed(0)
    noisy = 0.1 * torch.randn(1, round(16000 * AUDIO)).to(device)
    calls: dict[tuple[str, str], Callable[[], Tensor]] = {}
    for key, network in _networks(names, stft, literal=stft == STFTS[0]).items():
        calls[key] = partial(_enhanced, network.to(device), noisy)
    with torch.inference_mode():
        memory = {key: _peak(call, device) for key, call in calls.items()}
        times = race(calls, seconds, warmup=0, least=RUNS)

    rows = []
    for name, form in calls:
        seconds_taken = times[name, form].median
        shared = times.get((name.removesuffix("-hamilton"), "shared, fused"))
        row = {
            "model": name,
            "attention": form,
            "stft": f"{stft[0]}/{stft[1]}",
            "audio": AUDIO,
            "seconds": seconds_taken,
            "rtf": seconds_taken / AUDIO,
            "slower": seconds_taken / shared.median if shared else None,
            "paper": PAPER.get(name) if stft == STFTS[0] else None,
            "memory": memory[name, form],
        }
        rows.append(row)
    return rows


def _enhanced(network: nn.Module, noisy: Tensor) -> Tensor:
    """Return the output on the CPU: the copy waits until the device has computed it."""
    return network(noisy).cpu()


def _networks(
    names: tuple[str, ...], stft: tuple[int, int], literal: bool
) -> dict[tuple[str, str], nn.Module]:
    """Return the networks by name and form of the attention."""
    networks: dict[tuple[str, str], nn.Module] = {}
    for name in names:
        network = build_network({"network": name, "n_fft": stft[0], "hop_length": stft[1]}).eval()
        if network.streams:
            raise UsageError(f"{name} is not an offline network: measure it with qse bench stream")
        kinds = set(map(type, network.modules()))
        form = "-"
        for kind, name_of_form in FORMS.items():
            if kind in kinds:
                form = name_of_form
                break
        networks[name, form] = network
        if literal and HamiltonAttention in kinds:
            networks[name, "hamilton, literal"] = written_out_(copy.deepcopy(network))
    return networks


def _peak(call: Callable[[], Tensor], device: torch.device) -> float | None:
    """Return the largest memory of the process, or of a GPU's tensors, during `call` in bytes;
    None if the system does not report it."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        call()
        return float(torch.cuda.max_memory_allocated(device))
    try:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    except OSError:
        call()
        return None
    call()
    status = Path("/proc/self/status").read_text()
    _, _, peak = status.partition("VmHWM:")
    return 1024.0 * int(peak.split()[0])
