"""Send a recording through a LiveKit audio stream with QseProcessor, and write what it delivers.

    pip install "qse-speech[livekit]"
    python examples/livekit_file.py assets/noisy.wav enhanced.wav

The track is local, so there is no room and no account. In a room, the track is that of a
participant; nothing else changes. LiveKit delivers sound at the pace of the clock, about 0.15 s
after it was captured.
"""

import asyncio
import sys

import numpy as np
import soundfile
from livekit import rtc

from qse.integrations.livekit import QseProcessor


async def enhanced(pcm, rate):
    """Yield what an audio stream with the processor delivers while `pcm` (samples,) is captured."""
    source = rtc.AudioSource(rate, num_channels=1)
    track = rtc.LocalAudioTrack.create_audio_track("recording", source)
    processor = QseProcessor(strength=20)
    await processor.loaded()
    stream = rtc.AudioStream.from_track(
        track=track,
        sample_rate=rate,
        num_channels=1,
        frame_size_ms=10,
        noise_cancellation=processor,
    )
    capturing = asyncio.create_task(capture(source, pcm, rate))
    async for event in stream:
        yield np.array(event.frame.data)
        if capturing.done():
            break
    milliseconds = 1000 * processor.latency / rate
    print(f"{len(pcm) / rate:.1f} s of sound; the processor delays it by {milliseconds:.1f} ms")
    await stream.aclose()
    await source.aclose()


async def capture(source, pcm, rate):
    """Send `pcm` and half a second of silence in frames of 10 ms."""
    pcm = np.pad(pcm, (0, rate // 2))
    size = rate // 100
    for start in range(0, len(pcm) - size + 1, size):
        audio = pcm[start : start + size].tobytes()
        await source.capture_frame(rtc.AudioFrame(audio, rate, 1, size))
    await source.wait_for_playout()


async def main(from_, to):
    pcm, rate = soundfile.read(from_, dtype="int16")
    blocks = [block async for block in enhanced(pcm, rate)]
    soundfile.write(to, np.concatenate(blocks), rate)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
