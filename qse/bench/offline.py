"""The paper's networks from waveform to waveform (main paper, Table 3, the columns of RTF): shared-score attention
against Hamilton attention, this one folded into a fused call and as its equations are written.
"""

import torch
from torch import nn

from ..networks import build_network
from ..nn.hamilton import HamiltonAttention, component_attention
from . import Request
from .clock import race
from .machine import machine
from .table import Column, Table

AUDIO = 6.86  # seconds
STFTS = ((512, 256), (400, 100))
THREADS = (1, 2)
PAPER = {"qconformer": 0.259, "qconformer-hamilton": 0.610, "qtransformer": 0.249, "qtransformer-hamilton": 0.594}

COLUMNS = (
    Column("model", "model"),
    Column("attention", "attention"),
    Column("stft", "n_fft/hop"),
    Column("threads", "threads", ".0f"),
    Column("seconds", "median s", ".2f"),
    Column("rtf", "RTF", ".3f"),
    Column("slower", "time / shared", ".2f"),
    Column("paper", "paper RTF", ".3f"),
)


def bench(request: Request, audio: float = AUDIO) -> Table:
    """qconformer and qconformer-hamilton, or the offline networks of the request, by name.

    The literal form holds all scores in memory, gigabytes of them: it runs at the wider of both STFTs only.
    """
    names = request.models or ("qconformer", "qconformer-hamilton")
    threads, rows = torch.get_num_threads(), []
    try:
        for number in THREADS:
            torch.set_num_threads(number)
            for n_fft, hop_length in STFTS:
                rows += _rows(names, n_fft, hop_length, audio, request.seconds)
    finally:
        torch.set_num_threads(threads)
    notes = (
        f"{audio:g} s of audio, untrained weights.",
        "paper: Table 3, n_fft 512, hop 256, an Intel Xeon Gold 6342; it does not say how many threads.",
    )
    return Table("offline", COLUMNS, rows, machine(max(THREADS)), notes)


def _rows(names: tuple[str, ...], n_fft: int, hop_length: int, audio: float, seconds: float) -> list[dict]:
    torch.manual_seed(0)
    noisy = 0.1 * torch.randn(1, round(16000 * audio))
    networks = {}
    for name in names:
        network = build_network({"network": name, "n_fft": n_fft, "hop_length": hop_length}).eval()
        hamilton = any(isinstance(module, HamiltonAttention) for module in network.modules())
        networks[name, "hamilton, folded" if hamilton else "shared, fused"] = network
        if hamilton and (n_fft, hop_length) == STFTS[0]:
            networks[name, "hamilton, literal"] = _literal(name, n_fft, hop_length)
    with torch.inference_mode():
        times = race({key: lambda n=network: n(noisy) for key, network in networks.items()}, seconds, warmup=1)
    shared = next((times[key].median for key in networks if key[1] == "shared, fused"), None)
    return [
        {
            "model": name,
            "attention": attention,
            "stft": f"{n_fft}/{hop_length}",
            "threads": torch.get_num_threads(),
            "seconds": times[name, attention].median,
            "rtf": times[name, attention].median / audio,
            "slower": shared and times[name, attention].median / shared,
            "paper": PAPER.get(name) if (n_fft, hop_length) == STFTS[0] else None,
        }
        for name, attention in networks
    ]


def _literal(name: str, n_fft: int, hop_length: int) -> nn.Module:
    network = build_network({"network": name, "n_fft": n_fft, "hop_length": hop_length}).eval()
    for module in network.modules():
        if isinstance(module, HamiltonAttention):
            module.attend = component_attention
    return network
