"""Telephone calls on the server of examples/phone_server.py: processor time, memory and delay.

    python tests/soak/phone_calls.py [--calls 100] [--seconds 10] [--single] [--pace 1]

Needs websockets. Each call sends 20 ms of mu-law at 8 kHz when they are due, at a time of its own
within these 20 ms, and waits for the answers. Delay: from the time when a packet is due to its
answer. The server is a process of its own; `--single` gives each call a PcmStream in place of the
group. `--pace 0.5` lets time run at half its speed, for a machine that is too slow or too busy: the
processor time for a second of sound is then still that, since as many packets are enhanced
together. `--direct` measures the processor time of both ways in this process, without websockets.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import soundfile
from websockets.asyncio.client import ClientConnection, connect

from qse.integrations.g711 import MU_LAW
from qse.integrations.pcm import PcmStream
from qse.integrations.stream_group import StreamGroup

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples"))
import phone_server
from phone_server import RATE

PACKET = 160  # bytes


class SingleCalls:
    """Enhance the packets of each call by a stream of its own, in a thread."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "enhance")
        self.open()  # loads the model

    def open(self) -> PcmStream:
        return PcmStream("live-tiny", RATE, coding="mu-law")

    async def enhanced(self, call: PcmStream, payload: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        work = (call.process, payload) if payload else (call.finish,)
        return await loop.run_in_executor(self._thread, *work)

    async def run(self) -> None:
        await asyncio.Event().wait()


async def call(socket: ClientConnection, wanted: argparse.Namespace, number: int) -> list[float]:
    """Speak for some seconds; return the delay of each answer in seconds."""
    rng = np.random.default_rng(number)
    payload = rng.integers(0, 256, PACKET, np.uint8).tobytes()
    step = PACKET / RATE / wanted.pace
    delays = []
    begin = time.monotonic() + 1 + step * rng.random()
    for sent in range(round(wanted.seconds / wanted.pace / step)):
        due = begin + sent * step
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await socket.send(payload)
        answer = await socket.recv()
        assert len(answer) == PACKET
        delays.append(time.monotonic() - due)
    await socket.close()
    return delays


async def place(address: str, wanted: argparse.Namespace, process: int) -> tuple[np.ndarray, float]:
    """Place all calls; return the delays of all packets in milliseconds, and the processor time
    that the server took for them in seconds."""
    sockets = []
    for _ in range(wanted.calls):
        socket = await connect(address, compression=None, open_timeout=60, ping_interval=None)
        sockets.append(socket)
    before = processor_time(process)
    numbers = range(wanted.calls)
    found = await asyncio.gather(*[call(sockets[number], wanted, number) for number in numbers])
    return 1000 * np.concatenate(found), processor_time(process) - before


def directly(wanted: argparse.Namespace) -> None:
    """Print the processor time of both ways without websockets, in turn, for sound of speech and
    noise that all calls send at once."""
    noisy, _ = soundfile.read(ROOT / "assets/noisy.wav", dtype="float32")
    sound = [MU_LAW.encode(noisy[2 * RATE + 37 * n :][: 2 * RATE : 2]) for n in range(wanted.calls)]
    rounds = round(wanted.seconds * RATE / PACKET)
    used: dict[str, list[float]] = {"single streams": [], "a group": []}
    memory = {}
    for _ in range(3):
        for way, times in used.items():
            before = resident()
            enhance = of_single(wanted.calls) if way == "single streams" else of_group(wanted.calls)
            enhance([payload[:PACKET] for payload in sound])
            began = time.process_time()
            for number in range(1, rounds + 1):
                start = number * PACKET % RATE
                enhance([payload[start : start + PACKET] for payload in sound])
            times.append(time.process_time() - began)
            memory.setdefault(way, resident() - before)
    for way, times in used.items():
        shares = sorted(100 * seconds / (wanted.calls * wanted.seconds) for seconds in times)
        shown = ", ".join(f"{share:.2f}" for share in shares)
        print(f"{wanted.calls} calls, {way}: {shown} % of a core for each, {memory[way]:.0f} MiB")
    print(f"    load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)


def of_single(calls: int) -> Callable[[list[bytes]], object]:
    """Return a function of the packets of all calls, with a stream for each."""
    streams = [PcmStream("live-tiny", RATE, coding="mu-law") for _ in range(calls)]

    def enhance(packets: list[bytes]) -> list[bytes]:
        return [stream.process(packet) for stream, packet in zip(streams, packets, strict=True)]

    return enhance


def of_group(calls: int) -> Callable[[list[bytes]], object]:
    """Return a function of the packets of all calls, with a group of streams."""
    group = StreamGroup("live-tiny")
    streams = [group.open(RATE) for _ in range(calls)]

    def enhance(packets: list[bytes]) -> list[bytes]:
        blocks = dict(zip(streams, map(MU_LAW.decode, packets), strict=True))
        return list(map(MU_LAW.encode, group.process(blocks).values()))

    return enhance


def resident() -> float:
    """Return the memory of this process in MiB (Linux)."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[0]) / 1024


def processor_time(process: int) -> float:
    """Return the seconds of processor time that a process has used (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(wanted: argparse.Namespace) -> None:
    """Start the server, place the calls, and print what was used."""
    line = [sys.executable, __file__, "--serve", "--pace", str(wanted.pace)]
    line += ["--single"] if wanted.single else []
    server = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = re.findall("ws://.*", server.stdout.readline())[0]
    try:
        delays, used = asyncio.run(place(address, wanted, server.pid))
        memory = re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text())[0]
    finally:
        server.terminate()  # SIGINT is ignored by what a shell starts in the background
        server.wait(30)
    share = 100 * used / (wanted.calls * wanted.seconds)
    median, late, latest = np.quantile(delays, [0.5, 0.99, 1])
    kind = "single streams" if wanted.single else "a group"
    print(
        f"{wanted.calls} calls, {kind}: {share:.2f} % of a core for each, {int(memory) >> 10} MiB;"
    )
    print(f"    delay in ms: median {median:.1f}, p99 {late:.1f}, longest {latest:.1f};")
    print(f"    load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10.0, help="of sound of each call")
    parser.add_argument("--pace", type=float, default=1.0)
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--direct", action="store_true", help="both ways, without websockets")
    parser.add_argument("--serve", action="store_true", help="be the server")
    wanted = parser.parse_args()
    if wanted.direct:
        return directly(wanted)
    if not wanted.serve:
        return measure(wanted)
    phone_server.COLLECT /= wanted.pace
    calls = SingleCalls() if wanted.single else phone_server.Calls()
    try:
        asyncio.run(phone_server.run(calls, "127.0.0.1", 0))
    except KeyboardInterrupt:
        return None


if __name__ == "__main__":
    main()
