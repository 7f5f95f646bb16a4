"""qse live through PulseAudio: a minute (30 s in a selection) from one virtual sound card to
another.

    player -> [sink noisy] -> monitor -> qse live -> [sink enhanced] -> monitor -> recorder

Both sinks run at 44.1 kHz in stereo. A model called live-base is used if one is installed, and must
improve the sound; otherwise a pure delay, which must leave it as it is. The output buffer is large,
so that a busy machine can do it; there must be no dropout. If there is one and the machine stalled
idle processes for half of that buffer or longer, the test is skipped with that reason.
`tests/sound_server.sh` runs this.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import graphs
import numpy as np
import pytest
import soundfile
from pulse import SELECTED, needs_sound_server
from pulse_audio import FIRST, RATE, TOOLS, Ear, pulse_audio, until

import qse

SAID = (r"live-base: ([\d.]+) s of audio", r"latency: (\d+) ms", r"dropouts: (\d+)")
SECONDS = 60 if SELECTED == "all" else 30
SETTLE = 5
BUFFER = 0.25
ASSETS = Path(__file__).parent.parent / "assets"
MISSING = [tool for tool in TOOLS if not shutil.which(tool)]

pytestmark = [
    needs_sound_server,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

WITNESS = """
import select, sys, time
longest = 0.0
while not select.select([sys.stdin], [], [], 0)[0]:
    begin = time.monotonic()
    time.sleep(0.005)
    longest = max(longest, time.monotonic() - begin)
print(longest)
"""


@pytest.fixture
def server():
    """The environment in which the sound server is the only one there is."""
    with pulse_audio() as environment:
        yield environment


@pytest.fixture
def live(server, tmp_path):
    """qse live at work, from one sink's monitor to the other: the process and the file it writes
    to."""
    if "live-base" not in qse.available():
        graphs.delay(tmp_path / "models" / "live-base" / "model.onnx")
        server["QSE_MODELS"] = str(tmp_path / "models")
    line = [sys.executable, "-c", "from qse_cli.main import main; main()", "live", "--plain"]
    line += ["--input", "noisy.monitor", "--output", "enhanced", "--buffer", str(1000 * BUFFER)]
    with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        process = subprocess.Popen(line, env=server, stdout=out, stderr=err)
    try:
        until(lambda: process.poll() is not None or "dropouts" in (tmp_path / "out").read_text())
        assert process.poll() is None, (tmp_path / "err").read_text()
        yield process, tmp_path / "out", "QSE_MODELS" not in server
    finally:
        process.kill()


def qualities(clean, pairs):
    """Return the median SI-SDR and PESQ of noisy and enhanced, and of enhanced against noisy."""
    rows = []
    for heard, enhanced in pairs:
        rows.append((quality(clean, heard), quality(clean, enhanced), quality(heard, enhanced)))
    return np.median(rows, axis=0)


def test_sound_through_a_sound_server(server, live, tmp_path):
    process, out, trained = live
    line = [*FIRST, sys.executable, "-c", WITNESS]
    witnesses = [
        subprocess.Popen(line, stdin=PIPE, stdout=PIPE, text=True) for _ in range(os.cpu_count())
    ]
    noisy, _ = soundfile.read(ASSETS / "noisy.wav", dtype="float32")
    clean, _ = soundfile.read(ASSETS / "clean.wav", dtype="float32")
    rounds = SECONDS * RATE // len(noisy)
    time.sleep(SETTLE)
    ears = [Ear(f"{sink}.monitor", server) for sink in ("noisy", "enhanced")]
    # or one of them would miss the beginning
    until(lambda: all(ear.begin < np.inf for ear in ears))
    play(np.tile(noisy, rounds), tmp_path / "noisy.raw", server)
    time.sleep(2)
    before, after = (ear.stop() for ear in ears)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    stall = max(float(witness.communicate("\n")[0]) for witness in witnesses)
    said = out.read_text()
    print(said[said.rindex("live-base: ") :])

    # no more, or where the second round begins may match better than a first one that drifts
    once = len(noisy)
    starts = [
        ear.begin + last(noisy, heard) / RATE
        for ear, heard in zip(ears, (before, after), strict=True)
    ]
    delay = starts[1] - starts[0]
    print(f"end-to-end delay, measured from monitor to monitor: {1000 * delay:.0f} ms")
    print(f"longest that the machine kept somebody waiting who only slept: {1000 * stall:.0f} ms")
    seconds, shown, dropouts = (
        float(re.search(rf"^{text}", said, re.MULTILINE)[1]) for text in SAID
    )
    if dropouts and stall > BUFFER / 2:
        pytest.skip(
            f"{dropouts:.0f} dropouts, where the machine stood still for {1000 * stall:.0f} ms"
        )
    assert dropouts == 0
    assert seconds >= SECONDS
    assert shown / 1000 == pytest.approx(delay, abs=0.1 + stall)

    aligned = []
    for heard in (before, after):
        aligned.append(heard[round(lag(noisy, heard[:once])) :][: rounds * len(noisy)])
    assert jump(*aligned) < 0.008
    pairs = zip(pieces(noisy, before, rounds), pieces(noisy, after, rounds), strict=True)
    (si_sdr, pesq), (si_sdr_after, pesq_after), (si_sdr_kept, pesq_kept) = qualities(clean, pairs)
    print(
        f"against clean: SI-SDR {si_sdr:.2f} -> {si_sdr_after:.2f} dB, "
        f"PESQ-WB {pesq:.2f} -> {pesq_after:.2f}"
    )
    print(f"against noisy: SI-SDR {si_sdr_kept:.2f} dB, PESQ-WB {pesq_kept:.2f}")
    if trained:
        assert pesq_after > pesq or si_sdr_after > si_sdr
    else:
        assert si_sdr_kept > 10 and pesq_kept > 4


def test_portaudio_reaches_the_sound_server_too(server, tmp_path):
    """Go through ALSA's device `pulse`, whose source and sink two variables name."""
    graphs.delay(tmp_path / "models" / "live-base" / "model.onnx")
    names = {
        "QSE_MODELS": str(tmp_path / "models"),
        "PULSE_SOURCE": "noisy.monitor",
        "PULSE_SINK": "enhanced",
    }
    line = [
        sys.executable,
        "-c",
        "from qse_cli.main import main; main()",
        "live",
        "--plain",
        "--portaudio",
    ]
    line += ["--input", "pulse", "--output", "pulse", "--buffer", "200"]
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(line, env={**server, **names}, stdout=out, stderr=out)
    try:
        until(lambda: process.poll() is not None or "dropouts" in (tmp_path / "out").read_text())
        play(
            np.random.default_rng(0).uniform(-0.1, 0.1, 4 * RATE).astype(np.float32),
            tmp_path / "noisy.raw",
            server,
        )
        until(
            lambda: (
                process.poll() is not None
                or re.search(r"out -[1-4]", (tmp_path / "out").read_text())
            ),
            30,
        )
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()


def play(audio: np.ndarray, path: Path, environment: dict) -> None:
    audio.tofile(path)
    line = [
        *FIRST,
        "pacat",
        "--playback",
        "--device=noisy",
        f"--rate={RATE}",
        "--channels=1",
        "--format=float32le",
    ]
    subprocess.run([*line, "--latency-msec=500", "--raw", str(path)], env=environment, check=True)


def lag(audio: np.ndarray, heard: np.ndarray) -> float:
    """Samples, to a fraction of one, from the beginning of `heard` to that of `audio` in it, where
    it first occurs."""
    size = 1 << (len(heard) + len(audio)).bit_length()
    match = np.fft.irfft(np.fft.rfft(heard, size) * np.fft.rfft(audio, size).conj())[: len(heard)]
    top = min(max(1, int(np.argmax(match))), len(match) - 2)
    left, peak, right = match[top - 1 : top + 2]
    return top + 0.5 * (left - right) / (left - 2 * peak + right)


def last(audio: np.ndarray, heard: np.ndarray) -> float:
    """Return the samples to the beginning of the last `audio` in `heard`, after which a few seconds
    follow."""
    tail = max(0, len(heard) - len(audio) - 4 * RATE)
    return tail + lag(audio, heard[tail:])


def jump(before: np.ndarray, after: np.ndarray) -> float:
    """Seconds by which the delay between the two, which begin together, differs at most from two
    seconds to the next.

    What is lost on the way stays in it. Drift control may move it by 2 ms per second, which makes 6
    ms at most.
    """
    half = RATE // 2
    reach = RATE // 20
    late = [0.0]
    for start in range(RATE, len(before) - 2 * RATE, half // 2):
        near = start - reach + round(np.median(late[-8:]))
        late.append(
            near - start + lag(before[start : start + half], after[near : near + half + 2 * reach])
        )
    # drift blurs single half seconds
    middle = np.median(np.lib.stride_tricks.sliding_window_view(late[1:], 8), axis=1)
    return np.abs(middle[8:] - middle[:-8]).max() / RATE


def pieces(audio: np.ndarray, heard: np.ndarray, rounds: int) -> list[np.ndarray]:
    """Return what was heard of each second round but the first and the last,
    aligned with `audio`."""
    found = []
    start = round(lag(audio, heard[: len(audio) * 5 // 4]))
    for number in range(1, rounds - 1):
        start += len(audio) - RATE // 4
        window = heard[start : start + len(audio) + RATE // 2]
        late = lag(audio, window)
        start += round(late)
        if number % 2:
            found.append(shifted(window, late)[: len(audio)])
    return found


def shifted(audio: np.ndarray, early: float) -> np.ndarray:
    """The signal, earlier by that many samples, which need not be whole."""
    turn = np.exp(2j * np.pi * np.fft.rfftfreq(len(audio)) * early)
    return np.fft.irfft(np.fft.rfft(audio) * turn, len(audio)).astype(np.float32)


def quality(clean: np.ndarray, enhanced: np.ndarray) -> tuple[float, float]:
    """SI-SDR in dB, the median over half seconds, each aligned by itself; PESQ-WB, which aligns by
    itself."""
    from qse.evaluate.metrics import pesq_wb, si_sdr

    half = RATE // 2
    rows = []
    for start in range(RATE // 10, len(clean) - half - RATE // 10, half):
        part = clean[start : start + half]
        near = enhanced[start - RATE // 100 : start + half + RATE // 100]
        rows.append(si_sdr(clean=part, enhanced=shifted(near, lag(part, near))[:half]))
    return float(np.median(rows)), pesq_wb(clean=clean, enhanced=enhanced)
