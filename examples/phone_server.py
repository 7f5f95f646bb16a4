"""Enhance telephone calls on a websocket: messages of G.711 mu-law at 8 kHz in, as many bytes out.

    pip install websockets
    python examples/phone_server.py --port 8765

Each connection is a call. An empty message asks for the end of its sound, which is the latency
long. Packets of all calls that come within some milliseconds are enhanced in one call of the model,
in a thread, so that the event loop stays free.
"""

import argparse
import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from qse.integrations.g711 import MU_LAW
from qse.integrations.stream_group import GroupStream, StreamGroup

RATE = 8000
COLLECT = 0.005  # seconds for which the first packet waits for those of other calls

Packet = tuple[np.ndarray, asyncio.Future[np.ndarray]]


class Calls:
    """Enhance the packets of all calls together."""

    def __init__(self, model: str = "live-tiny"):
        self._group = StreamGroup(model)
        self._thread = ThreadPoolExecutor(1, "enhance")
        self._packets: dict[GroupStream, Packet] = {}
        self._some = asyncio.Event()

    def open(self) -> GroupStream:
        """Return the stream of a new call."""
        return self._group.open(RATE)

    async def enhanced(self, call: GroupStream, payload: bytes) -> bytes:
        """Return as much enhanced sound as `payload` holds; of an empty one the end of the
        sound."""
        samples = MU_LAW.decode(payload) if payload else np.zeros(call.latency, np.float32)
        answer = asyncio.get_running_loop().create_future()
        self._packets[call] = (samples, answer)
        self._some.set()
        return MU_LAW.encode(await answer)

    async def run(self) -> None:
        """Enhance what comes, until this task is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._some.wait()
            await asyncio.sleep(COLLECT)
            self._some.clear()
            packets = self._packets
            self._packets = {}
            blocks = {call: samples for call, (samples, _) in packets.items()}
            enhanced = await loop.run_in_executor(self._thread, self._group.process, blocks)
            for call, (_, answer) in packets.items():
                if not answer.done():  # its connection may be closed
                    answer.set_result(enhanced[call])


async def answer_call(calls: Calls, socket: ServerConnection) -> None:
    """Answer every message of a call."""
    call = calls.open()
    try:
        async for payload in socket:
            if isinstance(payload, str):
                await socket.close(1003, "send bytes of mu-law, not text")
                return
            await socket.send(await calls.enhanced(call, payload))
    except ConnectionClosed:
        return


async def run(calls: Calls, host: str, port: int) -> None:
    """Serve until the program is ended."""
    async with serve(lambda socket: answer_call(calls, socket), host, port) as server:
        address = server.sockets[0].getsockname()
        print(f"calls are taken at ws://{address[0]}:{address[1]}", flush=True)
        await calls.run()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8765, help="0: any free one")
    options = parser.parse_args()
    try:
        asyncio.run(run(Calls(), options.host, options.port))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
