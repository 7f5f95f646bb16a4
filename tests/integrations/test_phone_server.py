"""The example server: calls on a websocket, enhanced together, each as by a stream of its own."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

pytest.importorskip("websockets")

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from qse.integrations.g711 import MU_LAW
from qse.integrations.pcm import PcmStream

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def address():
    line = [sys.executable, str(ROOT / "examples/phone_server.py"), "--port", "0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as server:
        yield re.findall("ws://.*", server.stdout.readline())[0]
        server.terminate()


async def call(address: str, payload: bytes, size: int) -> bytes:
    parts = []
    async with connect(address) as socket:
        for start in range(0, len(payload), size):
            await socket.send(payload[start : start + size])
            parts.append(await socket.recv())
            assert len(parts[-1]) == len(payload[start : start + size])
        await socket.send(b"")
        parts.append(await socket.recv())
    return b"".join(parts)


async def calls(address: str, payloads: list[bytes]) -> list[bytes]:
    sizes = range(160, 160 + len(payloads))  # so that they leave at different times
    placed = [call(address, *given) for given in zip(payloads, sizes, strict=True)]
    return await asyncio.gather(*placed)


def test_calls_are_enhanced_as_by_streams_of_their_own(address):
    noisy, _ = soundfile.read(ROOT / "assets/noisy.wav", dtype="float32")
    payloads = []
    for begin in range(5):
        payloads.append(MU_LAW.encode(noisy[16000 + 4000 * begin :][:6400:2]))
    found = asyncio.run(calls(address, payloads))
    for payload, enhanced in zip(payloads, found, strict=True):
        stream = PcmStream("live-tiny", 8000, coding="mu-law")
        wanted = stream.process(payload) + stream.finish()
        assert len(enhanced) == len(payload) + stream.latency
        samples = np.frombuffer(enhanced, np.uint8)
        # a difference of 1e-6 may lie on both sides of a limit between two codes
        assert np.mean(samples == np.frombuffer(wanted, np.uint8)) > 0.995


def test_text_is_refused(address):
    async def send_text():
        async with connect(address) as socket:
            await socket.send("hello")
            await socket.recv()

    with pytest.raises(ConnectionClosed, match="bytes of mu-law, not text"):
        asyncio.run(send_text())
