"""Telephone calls on the server of examples/phone_server.py: processor time, memory and delay.

    python tests/soak/phone_calls.py [--calls 100] [--seconds 10] [--single] [--pace 1]

Needs websockets. Each call sends 20 ms of mu-law at 8 kHz when they are due, at a time of its own
within these 20 ms, and waits for the answers. Delay: from the time when a packet is due to its
answer. The server is a process of its own; `--single` gives each call a PcmStream in place of the
group. `--pace 0.5` lets time run at half its speed, for a machine that is too slow or too busy: the
processor time of a second of a call is then still that, and the delay is that of half as many
calls.
"""

import argparse
import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from websockets.asyncio.client import connect

from qse.integrations.pcm import PcmStream

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import phone_server

PACKET = 160  # bytes


class SingleCalls:
    """Enhance the packets of each call by a stream of its own, in a thread."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "enhance")
        self.open()  # loads the model

    def open(self) -> PcmStream:
        return PcmStream("live-tiny", phone_server.RATE, coding="mu-law")

    async def enhanced(self, call: PcmStream, payload: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        work = (call.process, payload) if payload else (call.finish,)
        return await loop.run_in_executor(self._thread, *work)

    async def run(self) -> None:
        await asyncio.Event().wait()


async def call(address: str, wanted: argparse.Namespace, number: int) -> list[float]:
    """Speak for some seconds; return the delay of each answer in seconds."""
    rng = np.random.default_rng(number)
    payload = rng.integers(0, 256, PACKET, np.uint8).tobytes()
    step = PACKET / phone_server.RATE / wanted.pace
    delays = []
    async with connect(address, compression=None) as socket:
        begin = time.monotonic() + 1 + step * rng.random()
        for sent in range(round(wanted.seconds / wanted.pace / step)):
            due = begin + sent * step
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await socket.send(payload)
            answer = await socket.recv()
            assert len(answer) == PACKET
            delays.append(time.monotonic() - due)
    return delays


async def place(address: str, wanted: argparse.Namespace) -> np.ndarray:
    """Place all calls; return the delays of all packets in milliseconds."""
    numbers = range(wanted.calls)
    found = await asyncio.gather(*[call(address, wanted, number) for number in numbers])
    return 1000 * np.concatenate(found)


def processor_time(process: int) -> float:
    """Return the seconds of processor time that a process has used (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(wanted: argparse.Namespace) -> None:
    """Start the server, place the calls, and print what was used."""
    line = [sys.executable, __file__, "--serve", *(["--single"] if wanted.single else [])]
    server = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = re.findall("ws://.*", server.stdout.readline())[0]
    before = processor_time(server.pid)
    delays = asyncio.run(place(address, wanted))
    used = processor_time(server.pid) - before
    memory = re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text())[0]
    server.send_signal(signal.SIGINT)
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
    parser.add_argument("--serve", action="store_true", help="be the server")
    wanted = parser.parse_args()
    if not wanted.serve:
        return measure(wanted)
    calls = SingleCalls() if wanted.single else phone_server.Calls()
    try:
        asyncio.run(phone_server.run(calls, "127.0.0.1", 0))
    except KeyboardInterrupt:
        return None


if __name__ == "__main__":
    main()
