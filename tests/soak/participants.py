"""Twenty participants on one event loop: how long it stands still, and how busy it is.

    python tests/soak/participants.py [--participants 20] [--seconds 10] [--model live-base]

Needs livekit and pipecat. LiveKit's processor works on the event loop, Pipecat's filter in threads.
Each participant sends a frame of 10 ms (LiveKit) or 20 ms (Pipecat) at 16 kHz when it is due.
Stalls: by how much a task that wakes every 5 ms wakes late. Processor time is that of the process;
where twenty participants need more than a second of it in a second, LiveKit's event loop falls
behind.
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


async def measured(name: str, tasks: Callable[[], Awaitable[list[float]]]) -> float:
    """Run the participants beside a watch, and print what it saw; return the processor time."""
    late: list[float] = []
    watching = asyncio.create_task(watch(late))
    before = time.process_time()
    began = time.monotonic()
    longest = max(await tasks())
    elapsed = time.monotonic() - began
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    used = time.process_time() - before
    stalls = 1000 * np.quantile(late, [0.5, 0.99, 1])
    print(f"{name}: {elapsed:.1f} s, processor time {used:.2f} s", end="; ")
    print(f"stalls in ms: median {stalls[0]:.1f}, p99 {stalls[1]:.1f}, longest {stalls[2]:.1f}")
    if longest:
        print(f"    latest answer {1000 * longest:.0f} ms after its frame was due", flush=True)
    return used


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
    for name, work in (("LiveKit", livekit), ("Pipecat", pipecat)):
        used = await measured(f"{name}, {count} participants", lambda work=work: work(wanted))
        share = used / (count * wanted.seconds)
        print(f"    {1000 * share:.0f} ms of processor time for a second of one participant")
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
