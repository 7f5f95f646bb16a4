"""Enhance the frames of a recording with QseProcessor, as a LiveKit audio stream does with those of a participant.

    pip install "qse-speech[livekit]"
    python examples/livekit_file.py assets/noisy.wav enhanced.wav

In a room, give the processor to the stream; LiveKit then calls it for each frame:

    stream = rtc.AudioStream(track, sample_rate=16000, noise_cancellation=QseProcessor(strength=20))
"""

import sys

import numpy as np
import soundfile
from livekit.rtc import AudioFrame

from qse.integrations.livekit import QseProcessor


def main(source, target):
    pcm, rate = soundfile.read(source, dtype="int16")
    processor, size, enhanced = QseProcessor(strength=20), rate // 100, []
    for start in range(0, len(pcm), size):
        block = pcm[start : start + size]
        frame = AudioFrame(block.tobytes(), rate, num_channels=1, samples_per_channel=len(block))
        enhanced.append(processor._process(frame).data)  # LiveKit's own call
    print(f"{len(pcm) / rate:.1f} s of sound, {1000 * processor.latency / rate:.1f} ms later than the input")
    soundfile.write(target, np.concatenate(enhanced), rate)


if __name__ == "__main__":
    main(*sys.argv[1:])
