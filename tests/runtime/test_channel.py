"""Recordings on several cores: each grid of each channel by itself, the output that of a stream."""

import threading
from concurrent.futures import ThreadPoolExecutor

import graphs
import numpy as np
import pytest

from qse import Engine, Stream, denoise
from qse.runtime.channel import EngineChannel
from qse.runtime.denoise import AHEAD, enhance
from qse.runtime.engine import EngineSession
from qse.runtime.two_grids import GridRun

GRIDS = [None, 50, graphs.HOP // 2]  # distances of the second grid


@pytest.fixture(params=GRIDS)
def engine(tmp_path, request):
    second = {} if request.param is None else {"second_grid": request.param}
    return Engine(graphs.recurrent(tmp_path / "model.onnx", **second))


@pytest.fixture
def two_grids(tmp_path):
    return Engine(graphs.recurrent(tmp_path / "model.onnx", second_grid=50))


def signal(samples: int, channels: int = 1) -> np.ndarray:
    random = np.random.default_rng(samples)
    return (0.3 * random.standard_normal((samples, channels))).astype(np.float32)


def streamed(engine: Engine, audio: np.ndarray) -> np.ndarray:
    """Return what one stream per channel puts out, without its latency."""
    channels = []
    for noisy in audio.T:
        stream = Stream(engine)
        enhanced = [stream.process(noisy.copy()), stream.finish()]
        channels.append(np.concatenate(enhanced)[stream.latency :])
    return np.stack(channels, axis=1)


def enhanced(engine, audio: np.ndarray, threads: int, block: int = 1001) -> np.ndarray:
    blocks = [audio[start : start + block] for start in range(0, len(audio), block)]
    with ThreadPoolExecutor(max(1, threads)) as pool:
        return np.concatenate(list(enhance(blocks, 16000, engine, pool=pool if threads else None)))


@pytest.mark.parametrize("threads", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("samples, channels", [(1, 1), (159, 1), (7000, 1), (6400, 2), (5001, 3)])
def test_output_is_that_of_a_stream_on_any_number_of_threads(engine, threads, samples, channels):
    audio = signal(samples, channels)
    np.testing.assert_array_equal(enhanced(engine, audio, threads), streamed(engine, audio))


@pytest.mark.parametrize("threads", [0, 1, 4])
@pytest.mark.parametrize("shift", GRIDS)
def test_a_model_that_breaks_begins_again_as_in_a_stream(tmp_path, shift, threads):
    second = {} if shift is None else {"second_grid": shift}
    engine = Engine(graphs.fragile(tmp_path / "model.onnx", **second))
    audio = np.full((graphs.HOP * 40, 1), 0.07, np.float32)
    audio[:2000] = 0
    expected = streamed(engine, audio)
    assert not expected[4000:].all()  # silent hops, where a sum passes 1
    np.testing.assert_array_equal(enhanced(engine, audio, threads), expected)


@pytest.mark.parametrize("threads", [0, 4])
@pytest.mark.parametrize("parting", [0, 3003, 7000])
def test_channels_that_were_equal_part(engine, threads, parting):
    audio = np.repeat(signal(7000), 4, axis=1)
    audio[parting:, 1] *= 0.5
    audio[5000:, 2] = 0
    np.testing.assert_array_equal(enhanced(engine, audio, threads), streamed(engine, audio))


@pytest.mark.parametrize("threads", [0, 4])
@pytest.mark.parametrize("shift", GRIDS)
@pytest.mark.parametrize("parting", [2000, 5005])
def test_equal_channels_of_a_model_that_breaks_part(tmp_path, shift, threads, parting):
    second = {} if shift is None else {"second_grid": shift}
    engine = Engine(graphs.fragile(tmp_path / "model.onnx", **second))
    audio = np.full((graphs.HOP * 60, 2), 0.07, np.float32)
    audio[:2000] = 0
    audio[parting:, 1] = 0.03
    np.testing.assert_array_equal(enhanced(engine, audio, threads), streamed(engine, audio))


@pytest.mark.parametrize("parting, steps", [(80, 80), (40, 120), (0, 160)])
def test_equal_channels_run_the_model_once(tmp_path, monkeypatch, parting, steps):
    """`parting` in hops."""
    engine = Engine(graphs.recurrent(tmp_path / "model.onnx"))
    audio = np.repeat(signal(80 * graphs.HOP), 2, axis=1)
    audio[parting * graphs.HOP :, 1] = 0
    ran = []
    step = EngineSession.step
    monkeypatch.setattr(EngineSession, "step", lambda *words: ran.append(0) or step(*words))
    enhanced(engine, audio, 0, block=10 * graphs.HOP)
    assert len(ran) - steps in (0, 1, 2)  # and the end of each


@pytest.mark.parametrize("channels", [1, 2])
def test_all_grids_and_channels_run_at_the_same_time(two_grids, monkeypatch, channels):
    """Each run waits for all others inside the model."""
    meeting = threading.Barrier(2 * channels)
    process = GridRun.process

    def meet(run, noisy):
        meeting.wait(20)
        return process(run, noisy)

    monkeypatch.setattr(GridRun, "process", meet)
    audio = signal(400, channels)
    assert enhanced(two_grids, audio, 2 * channels).shape == audio.shape


def test_channels_of_another_model_run_at_the_same_time():
    """Both channels wait for each other inside the model."""
    meeting = threading.Barrier(2)

    class Meeting:
        sample_rate = 16000
        latency = 0

        def open_channel(self):
            return self

        def process(self, block):
            meeting.wait(20)
            return block

        def finish(self):
            meeting.wait(20)
            return np.zeros(0, np.float32)

    audio = signal(400, 2)
    np.testing.assert_array_equal(enhanced(Meeting(), audio, 2), audio)


def test_the_next_blocks_are_read_while_the_model_runs(two_grids, monkeypatch):
    """The model does not end its first block before further ones were read."""
    is_read = threading.Event()
    process = GridRun.process
    waited = set()

    def late(run, noisy):
        waited.add(is_read.wait(20))
        return process(run, noisy)

    def blocks():
        for number in range(6):
            if number == AHEAD:
                is_read.set()
            yield signal(1000)

    monkeypatch.setattr(GridRun, "process", late)
    with ThreadPoolExecutor(2) as pool:
        for _ in enhance(blocks(), 16000, two_grids, pool=pool):
            pass
    assert waited == {True}


def test_no_more_blocks_are_read_ahead_than_needed(two_grids):
    read = []

    def blocks():
        for number in range(20):
            read.append(number)
            yield signal(1000)

    with ThreadPoolExecutor(2) as pool:
        used = enhance(blocks(), 16000, two_grids, pool=pool)
        for number in range(5):
            next(used)
            assert len(read) <= number + 1 + AHEAD
        used.close()


def test_a_recording_that_is_given_up_leaves_nothing_running(two_grids, monkeypatch):
    process = GridRun.process
    called = []

    def counted(run, noisy):
        called.append(run)
        return process(run, noisy)

    monkeypatch.setattr(GridRun, "process", counted)
    blocks = (signal(1000) for _ in range(20))
    with ThreadPoolExecutor(1) as pool:
        used = enhance(blocks, 16000, two_grids, pool=pool)
        next(used)
        used.close()
        ended = len(called)
        pool.submit(int).result()  # all that was in the pool is done
    assert len(called) == ended


def test_an_error_of_the_model_reaches_the_caller(two_grids, monkeypatch):
    def fail(run, noisy):
        raise RuntimeError("in a thread")

    monkeypatch.setattr(GridRun, "process", fail)
    with pytest.raises(RuntimeError, match="in a thread"):
        enhanced(two_grids, signal(5000), 2)


def test_a_channel_in_a_pool_that_has_ended_says_so(two_grids):
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    channel = EngineChannel(two_grids, pool)
    channel.send(signal(1000)[:, 0])
    with pytest.raises(RuntimeError, match="cannot schedule"):
        channel.receive()


@pytest.mark.parametrize("threads", [2, 5, None])
def test_denoise_with_threads_equals_one(two_grids, threads):
    audio = signal(100_000, 2)
    alone = denoise(audio, 16000, two_grids, strength=12)
    before = threading.active_count()
    found = denoise(audio, 16000, two_grids, strength=12, threads=threads)
    np.testing.assert_array_equal(found, alone)
    assert threading.active_count() == before


def test_number_of_threads_is_checked(two_grids):
    with pytest.raises(ValueError, match="threads must be at least 1, not 0"):
        denoise(signal(160, 1), 16000, two_grids, threads=0)
    with pytest.raises(TypeError, match="threads must be a number or None, not str"):
        denoise(signal(160, 1), 16000, two_grids, threads="2")
