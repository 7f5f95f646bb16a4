"""Twenty participants on one event loop: how long it stands still, and how busy it is.

    python tests/soak/participants.py [--participants 20] [--seconds 10] [--model live-base]

Needs livekit and pipecat. LiveKit's processor works on the event loop, Pipecat's filter in threads.
Each participant sends a frame of 10 ms (LiveKit) or 20 ms (Pipecat) at 16 kHz when it is due.
`stalls`: by how much a task that wakes every 5 ms wakes late; busy: share of the time of one core.
"""

import argparse
import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import numpy as np
from livekit.rtc import AudioFrame

from qse.integrations.livekit import QseProcessor
from qse.integrations.pipecat import QseFilter

RATE = 16000
TICK = 0.005
Enhance = Callable[[bytes], Awaitable[bytes]]


async def watch(late: list[float]) -> None:
    """Note by how many seconds this wakes late."""
    while True:
        due = time.monotonic() + TICK
        await asyncio.sleep(TICK)
        late.append(time.monotonic() - due)


async def speak(enhance: Enhance, length: int, seconds: float, number: int) -> float:
    """Send frames of `length` samples when they are due; return the longest delay in seconds of an
    answer."""
    rng = np.random.default_rng(number)
    frame = rng.integers(-9000, 9000, length).astype(np.int16).tobytes()
    begin = time.monotonic()
    longest = 0.0
    for sent in range(int(seconds * RATE / length)):
        due = begin + sent * length / RATE
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await enhance(frame)
        longest = max(longest, time.monotonic() - due)
    return longest


async def measured(name: str, tasks: Callable[[], Awaitable[list[float]]]) -> None:
    """Run the participants beside a watch, and print what it saw."""
    late: list[float] = []
    watching = asyncio.create_task(watch(late))
    before = time.process_time()
    began = time.monotonic()
    longest = max(await tasks())
    elapsed = time.monotonic() - began
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    busy = (time.process_time() - before) / elapsed
    stalls = 1000 * np.quantile(late, [0.5, 0.99, 1])
    print(f"{name}: {elapsed:.1f} s, busy {100 * busy:.0f} %", end="; ")
    print(f"stalls in ms: median {stalls[0]:.1f}, p99 {stalls[1]:.1f}, longest {stalls[2]:.1f}")
    print(f"    latest answer {1000 * longest:.0f} ms after its frame was due", flush=True)


async def create(wanted: argparse.Namespace) -> list[float]:
    """Create all sessions at once, as when a meeting begins."""
    made: list[QseProcessor | QseFilter] = []
    for _ in range(wanted.participants):
        made.append(QseProcessor(wanted.model))
        made.append(QseFilter(wanted.model))
    await made[0].loaded()
    return [0.0]


async def livekit(wanted: argparse.Namespace) -> list[float]:
    """One processor for all."""
    processor = QseProcessor(wanted.model)
    await processor.loaded()

    async def enhance(pcm: bytes) -> bytes:
        frame = processor._process(AudioFrame(pcm, RATE, 1, len(pcm) // 2))
        return bytes(frame.data.cast("B"))

    numbers = range(wanted.participants)
    speaking = [speak(enhance, RATE // 100, wanted.seconds, number) for number in numbers]
    return await asyncio.gather(*speaking)


async def pipecat(wanted: argparse.Namespace) -> list[float]:
    """A filter for each."""

    async def participant(number: int) -> float:
        filter = QseFilter(wanted.model)
        await filter.start(RATE)
        longest = await speak(filter.filter, RATE // 50, wanted.seconds, number)
        await filter.stop()
        return longest

    return await asyncio.gather(*map(participant, range(wanted.participants)))


async def run(wanted: argparse.Namespace) -> None:
    """Measure the creation and both kinds of participants."""
    count = wanted.participants
    await measured(f"creating {2 * count} sessions", lambda: create(wanted))
    await measured(f"LiveKit, {count} participants", lambda: livekit(wanted))
    await measured(f"Pipecat, {count} participants", lambda: pipecat(wanted))
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--participants", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--model", default="live-base")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
