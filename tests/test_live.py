"""The live path as a whole: equal to qse denoise, steady for an hour between two clocks, harmless when things break."""

import os
import resource
import select
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import graphs
import numpy as np
import pytest
import soundfile
from qse_cli import screen
from sound import CABLE, HEADSET, MICROPHONE, Sound
from waiting import until

import qse
from qse import QseError
from qse.audio.formats import Layout
from qse.live import file_source as files
from qse.live import ports
from qse.live import reconnect as watch
from qse.live import speed_check as warmup
from qse.live.file_source import FileSource
from qse.live.ports import Loudspeaker, Microphone
from qse.live.reconnect import Reconnector, Worker
from qse.live.recorder import Recorder
from qse.live.session import LiveSession


def noise(samples: int, channels: int = 1, seed: int = 0) -> np.ndarray:
    return (0.1 * np.random.default_rng(seed).standard_normal((samples, channels))).astype(np.float32)


def start(engine, rate: int = 16000, blocksize: int | None = None, cushion: float = 0.01, **options):
    """A session between a microphone and a headset of `rate`: session, run, and the two streams to play with."""
    sound = Sound(MICROPHONE, HEADSET, rate=rate)
    source = Microphone(sound, None, blocksize, cushion)
    session = LiveSession(engine, source, [Loudspeaker(sound, None, blocksize, cushion)], **options)
    session.start()
    speaker, microphone = sound.streams
    return session, session.run(), microphone, speaker


def feed(run, microphone, blocks) -> np.ndarray:
    """Enhanced samples that the blocks (samples, channels) lead to."""
    enhanced = []
    for block in blocks:
        microphone.give(block)
        enhanced.append(next(run))
    return np.concatenate(enhanced)


@pytest.mark.parametrize("blocksize", [1, 64, 160, 441, 1000])
@pytest.mark.parametrize("rate, channels", [(16000, 1), (44100, 2)])
def test_live_from_file_to_file_is_denoise_bit_for_bit(tmp_path, recurrent, blocksize, rate, channels):
    audio = noise(rate // (10 if blocksize == 1 else 1) + 7, channels)
    soundfile.write(tmp_path / "noisy.wav", audio, rate, "FLOAT")
    session = LiveSession(recurrent, FileSource(tmp_path / "noisy.wav", blocksize, paced=False))
    session.start()
    worker = Worker(session, tmp_path / "enhanced.wav")
    worker.run()
    assert worker.error is None
    enhanced, _ = soundfile.read(tmp_path / "enhanced.wav", dtype="float32", always_2d=True)
    np.testing.assert_array_equal(enhanced, qse.denoise(audio, rate, recurrent))


def test_a_full_disk_ends_the_session_and_keeps_what_the_microphone_gave(tmp_path, recurrent, monkeypatch):
    def write(file, block):
        if file.tell() > 1000:
            raise soundfile.LibsndfileError(2)
        real(file, block)

    real = soundfile.SoundFile.write
    monkeypatch.setattr(soundfile.SoundFile, "write", write)
    sound = Sound(MICROPHONE, HEADSET)
    session = LiveSession(recurrent, Microphone(sound, None, 160, 0.01))
    session.start()
    for _ in range(20):
        sound.streams[0].give(noise(160))
    worker = Worker(session, tmp_path / "a.wav")
    worker.run()
    assert str(worker.error).endswith("a.wav ends early: is the disk full? What was written so far is kept")
    assert soundfile.info(tmp_path / "a.wav").frames > 1000


def test_a_file_that_can_hold_no_more_ends_the_session_and_is_kept(tmp_path, recurrent, monkeypatch):
    source, target = tmp_path / "a.wav", tmp_path / "b.wav"
    soundfile.write(source, noise(4000), 16000)
    monkeypatch.setattr(Layout, "longest", 2500)
    session = LiveSession(recurrent, FileSource(source, 160, paced=False))
    session.start()
    worker = Worker(session, target)
    worker.run()
    assert "b.wav: the session ended, for a WAV file cannot be longer" in str(worker.error)
    expected = qse.denoise(soundfile.read(source, dtype="float32")[0], 16000, recurrent)[:2500]
    np.testing.assert_allclose(soundfile.read(target)[0], expected, atol=1 / 32000)


def test_live_from_a_microphone_is_denoise_bit_for_bit(recurrent):
    audio = noise(16000)
    session, run, microphone, _ = start(recurrent, blocksize=100)
    enhanced = feed(run, microphone, np.split(audio, 160))
    np.testing.assert_array_equal(enhanced[: 16000 // 160 * 160, 0], qse.denoise(audio[:, 0], 16000, recurrent))
    session.stop()


def test_what_is_played_is_the_input_as_late_as_announced(delay):
    rate, block, heard = 48000, 480, []
    audio = noise(2 * rate)
    session, run, microphone, speaker = start(delay, rate)
    for part in np.split(audio, len(audio) // block):
        feed(run, microphone, [part])
        heard.append(speaker.take())
    heard = np.concatenate(heard)
    assert heard.shape == (len(audio), 2) and session.dropouts == 0
    np.testing.assert_array_equal(heard[:, 0], heard[:, 1])
    spectra = np.fft.rfft(heard[:, 0], 2 * len(audio)) * np.fft.rfft(audio[:, 0], 2 * len(audio)).conj()
    late = np.argmax(np.fft.irfft(spectra)) + block  # the first sample of a block is a block old when it is given
    parts = session.latency
    announced = parts.blocks + parts.model - block / 2 / rate  # given and taken at once: no half block between them
    assert late / rate == pytest.approx(announced, abs=5e-4)
    assert (parts.device_in, parts.device_out) == pytest.approx((0.02, 0.02))


@pytest.mark.parametrize("rate, samples", [(16000, 200), (48000, 600), (44100, 441), (1000, 10)])
def test_a_block_is_a_hop_of_the_model_if_that_is_whole_or_ten_milliseconds(tmp_path, rate, samples):
    soundfile.write(tmp_path / "noisy.wav", noise(rate), rate)
    sound, hop = Sound(MICROPHONE, HEADSET, rate=rate), Fraction(200, 16000)
    ports = Microphone(sound, None, hop, 0.01), Loudspeaker(sound, None, hop, 0.01)
    for port in (*ports, FileSource(tmp_path / "noisy.wav", hop)):
        assert port.blocksize == samples
    assert Microphone(sound, None, 64, 0.01).blocksize == 64


def test_two_loudspeakers_play_the_same_and_the_default_one_joins_when_asked(delay):
    from qse_cli.live import _outputs

    assert _outputs(None, None, None) == _outputs(None, None, True) == _outputs(None, "a.wav", True) == [None]
    assert _outputs("cable", None, None) == ["cable"] and _outputs("cable", None, True) == ["cable", None]
    assert _outputs(None, "a.wav", None) == _outputs(None, None, False) == []
    sound = Sound(MICROPHONE, HEADSET, CABLE)
    speakers = [Loudspeaker(sound, wanted, None, 0.01) for wanted in ("cable", None)]
    session = LiveSession(delay, Microphone(sound, None, None, 0.01), speakers)
    session.start()
    *streams, microphone = sound.streams
    run, heard = session.run(), []
    for block in np.split(noise(16000), 100):
        feed(run, microphone, [block])
        heard.append([stream.take() for stream in streams])
    assert sound.started == [2, 1, 0] and np.std(heard) > 0.05
    np.testing.assert_array_equal(*np.swapaxes(heard, 0, 1))


def resident() -> int:
    """KiB of memory that this process holds now; 0 where the system does not tell."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * resource.getpagesize() // 1024 if statm.exists() else 0


def minutes(engine, drift: float, count: int, block: float = 0.2, cushion: float = 0.05):
    """Sound from a microphone to a headset whose clock runs faster by `drift`: a sine, checked minute by minute.

    Returns the session, and per minute: the largest residual of a recursion that only that sine fulfils, the most that
    waited after a pull in seconds, and the memory of the process in KiB.
    """
    rate, frequency = engine.sample_rate, 20.0
    size, turn = round(block * rate), 2 * np.cos(2 * np.pi * frequency / rate)
    session, run, microphone, speaker = start(engine, rate, size, cushion)
    ring, rows, tail = session.speakers[0].player.ring, [], np.zeros(2, np.float32)
    given = taken = 0
    for minute in range(count):
        residual = waited = 0.0
        while given < (minute + 1) * 60 * rate:
            if given <= taken / (1 + drift):
                at = np.arange(given, given + size)
                feed(run, microphone, [0.5 * np.sin(2 * np.pi * frequency / rate * at)[:, None]])
                given += size
                continue
            heard = np.concatenate([tail, speaker.take()[:, 0]])
            taken, tail = taken + size, heard[-2:]
            waited = max(waited, ring.waiting / rate)
            if taken > 2 * rate:
                residual = max(residual, np.abs(heard[2:] + heard[:-2] - turn * heard[1:-1]).max())
        rows.append((residual, waited, resident()))
    return session, np.array(rows)


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """A model for long runs: 500 Hz, hops of 200 ms."""
    path = tmp_path_factory.mktemp("slow") / "model.onnx"
    return qse.load(graphs.delay(path, 100, hop_length=100, sample_rate=500))


@pytest.mark.parametrize("drift, count", [(200e-6, 60), (-1000e-6, 6)])
def test_an_hour_between_two_clocks_has_no_dropout_no_click_and_no_growing_latency(slow, drift, count):
    session, rows = minutes(slow, drift, count)
    residual, waited, memory = rows.T
    assert session.dropouts == 0
    assert residual.max() < 1e-3  # a jump by 1 / 500 of the amplitude would show
    assert waited.max() < 0.05 + 3 * 0.2
    assert memory[-1] - memory[1] < 4 * 1024


def test_without_the_controller_the_same_clocks_do_click(slow, monkeypatch):
    monkeypatch.setattr("qse.live.clock_drift.LIMIT", 0.0)
    session, rows = minutes(slow, 1000e-6, 10)
    assert session.dropouts > 0 and rows[:, 0].max() > 1e-2


@pytest.mark.parametrize("name, level", [("silence", 0.0), ("full scale", 1.0), ("constant", 0.5)])
def test_extreme_input_comes_out_finite_and_within_full_scale(recurrent, name, level):
    block = np.full((160, 1), level, np.float32)
    if name == "full scale":
        block[::2] = -1
    session, run, microphone, speaker = start(recurrent)
    heard = []
    for _ in range(300):
        feed(run, microphone, [block])
        heard.append(speaker.take())
    heard = np.concatenate(heard)
    assert np.isfinite(heard).all() and np.abs(heard).max() <= 1
    assert session.dropouts == session.resets == session.source.bad == 0
    assert (heard == 0).all() if name == "silence" else np.abs(heard[1600:]).max() > 0.4


def test_a_driver_that_sends_nan_is_counted_and_heard_as_silence(recurrent):
    good, bad = noise(1600), np.full((160, 1), np.nan, np.float32)
    session, run, microphone, _ = start(recurrent, 16000)
    enhanced = feed(run, microphone, [*np.split(good, 10), bad, *np.split(good, 10)])
    silent = np.concatenate([good, np.zeros_like(bad), good])[:, 0]
    np.testing.assert_array_equal(enhanced[:, 0], qse.denoise(silent, 16000, recurrent))
    assert session.source.bad == 1 and session.resets == 0


def test_a_model_that_breaks_is_silent_for_a_hop_and_begins_anew(fragile):
    session, run, microphone, _ = start(fragile)
    enhanced = feed(run, microphone, np.full((20, 160, 1), 0.25, np.float32))
    assert np.isfinite(enhanced).all() and session.resets > 0


def test_late_blocks_are_counted_and_heard_as_a_short_silence(delay):
    session, run, microphone, speaker = start(delay)
    block, heard = np.full((160, 1), 0.5, np.float32), []
    for _ in range(20):
        feed(run, microphone, [block])
        heard.append(speaker.take())
    heard += [speaker.take() for _ in range(10)]  # 100 ms in which nothing comes
    for _ in range(20):
        feed(run, microphone, [block])
        heard.append(speaker.take())
    heard = np.concatenate(heard[10:])[:, 0]
    assert session.dropouts == 1
    assert np.abs(np.diff(heard)).max() < 0.01  # 0.5 within 5 ms
    assert heard.min() >= 0 and heard.max() < 0.51 and heard[-1] == pytest.approx(0.5, abs=1e-3)


def test_lost_input_is_a_dropout_until_the_end(delay):
    session, _, microphone, _ = start(delay, blocksize=8000)
    for _ in range(3):  # a second and a half, where a second has room
        microphone.give(noise(8000))
    assert session.dropouts == 1
    microphone.give(noise(1), SimpleNamespace(input_overflow=True))
    assert session.dropouts == 2
    session.stop()
    microphone.give(noise(8000))
    assert session.reasons == {"input lost": 2}  # nobody misses what comes after the end


def test_a_sound_card_that_starves_again_and_again_is_opened_anew_with_a_thicker_buffer(delay):
    session, run, microphone, speaker = start(delay)
    sound, times = session.source._sound, 16
    eye = Reconnector(session, sound)
    for _ in range(times):
        speaker = [stream for stream in sound.streams if stream is not microphone][-1]
        feed(run, microphone, np.split(noise(960), 6))
        for underflow in (False, True, True, False):  # two complaints on end are about one gap
            speaker.take(SimpleNamespace(output_underflow=underflow))
        eye.look()
    speakers = [stream for stream in sound.streams if stream is not microphone]
    assert [stream.wanted["latency"] for stream in speakers] == [0.01, 0.02, 0.04, 0.08, 0.15]
    assert [stream.open for stream in speakers] == [False] * 4 + [True]
    assert session.reasons["sound card starved"] == times and eye.losses == 0


def test_bypass_passes_over_to_the_noisy_signal_and_back(recurrent):
    audio = noise(16000)
    session, run, microphone, _ = start(recurrent)
    hops = np.split(audio, 100)
    feed(run, microphone, hops[:20])
    session.bypass = True
    enhanced = feed(run, microphone, hops[20:50])
    np.testing.assert_array_equal(enhanced[8 * 160 :], audio[28 * 160 : 50 * 160])
    session.bypass = False
    enhanced = feed(run, microphone, hops[50:])
    np.testing.assert_array_equal(enhanced[8 * 160 :, 0], qse.denoise(audio[:, 0], 16000, recurrent)[58 * 160 :])


def test_strength_and_levels(delay, recurrent):
    audio = noise(16000)
    session, run, microphone, _ = start(recurrent, strength=6.0)
    enhanced = feed(run, microphone, np.split(audio, 100))
    np.testing.assert_array_equal(enhanced[:, 0], qse.denoise(audio[:, 0], 16000, recurrent, strength=6.0))
    assert session.noisy.dbfs == pytest.approx(-20, abs=0.5)
    assert session.enhanced.dbfs == pytest.approx(20 * np.log10(enhanced[8000:].std()), abs=0.5)


def test_a_recording_holds_both_sides_in_step(tmp_path, delay):
    recorder = Recorder(tmp_path / "both.flac", 16000, 2)
    session, run, microphone, _ = start(delay, recorder=recorder)
    audio = noise(16000)
    feed(run, microphone, np.split(audio, 100))
    session.close()
    both, _ = soundfile.read(tmp_path / "both.flac", dtype="float32")
    np.testing.assert_array_equal(both[:, 0], both[:, 1])
    np.testing.assert_allclose(both[160:, 0], audio[:-160, 0], atol=1 / 32000)


def test_a_paced_file_comes_when_it_is_due_and_counts_what_is_late(tmp_path, monkeypatch):
    soundfile.write(tmp_path / "noisy.wav", noise(16000), 16000)
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(files, "monotonic", lambda: clock.now)
    source, came = FileSource(tmp_path / "noisy.wav", cushion=0.01), []
    source._stopped.wait = lambda seconds: setattr(clock, "now", clock.now + seconds)
    for k, _ in enumerate(source.blocks()):
        came.append(clock.now - 100)
        clock.now += {10: 0.019, 30: 0.021, 31: 0.5}.get(k, 0.002)
    due = 0.01 * np.arange(1, 101)
    np.testing.assert_allclose(came[:11], due[:11], atol=1e-9)
    np.testing.assert_allclose(np.array(came[32:]) - due[32:], 0.011 + 0.49, atol=1e-9)
    assert source.dropouts == 2


def test_a_vanished_device_is_waited_for_and_taken_up_again(delay, monkeypatch):
    monkeypatch.setattr(watch, "RETRY", 0.001)
    session, run, microphone, speaker = start(delay)
    sound, go = session.source._sound, Event()
    failures = [sound.PortAudioError("cannot start"), sound.PortAudioError("not yet")]

    def initialize():
        go.wait(30)
        if failures:
            raise failures.pop()

    sound._initialize = initialize
    eye = Reconnector(session, sound)
    eye.look()
    assert eye.message is None
    feed(run, microphone, [noise(160)])
    gone, sound.entries[0] = sound.entries[0], {**MICROPHONE, "max_input_channels": 0}
    microphone.wanted["finished_callback"]()
    eye.look()
    assert "Desk Microphone" in eye.message and "waiting" in eye.message
    go.set()
    until(lambda: sound.scans > 3)
    assert "no input device" in eye.message
    assert not (microphone.open or speaker.open)
    sound.entries[0] = gone
    until(lambda: eye.message is None)
    assert eye.losses == 1 and 0 < eye.away < 60
    speaker, microphone = sound.streams[-2:]
    assert feed(run, microphone, [noise(160)]).shape == (160, 1)
    eye.look()
    assert eye.message is None and speaker.open


def test_a_device_chosen_by_id_is_that_one_and_is_found_again_under_another_id():
    twins = [MICROPHONE, {**MICROPHONE, "hostapi": 1}, MICROPHONE]
    sound = Sound(*twins, defaults=(0, -1))
    port = Microphone(sound, "2", None, 0.01)
    port.open()
    assert sound.started == [2]
    sound.entries = [HEADSET, *twins]
    port.open()
    sound.entries = [HEADSET, MICROPHONE]
    port.open()
    assert sound.started == [2, 1, 1]
    sound.entries = [HEADSET]
    with pytest.raises(QseError, match="not there"):
        port.open()


@pytest.mark.parametrize(
    "change, words",
    [
        ({"default_samplerate": 8000.0}, "at 8000 Hz, it was 16000 Hz"),
        ({"max_input_channels": 1}, "with 1 channels, it had 2"),
    ],
)
def test_a_headset_that_returns_with_another_profile_says_so(change, words):
    sound = Sound(HEADSET, defaults=(0, 0))
    port = Microphone(sound, None, None, 0.01)
    port.open()
    sound.entries = [{**HEADSET, **change}]
    with pytest.raises(QseError, match=f"Headset .* came back {words}: start again"):
        port.open()


def test_a_device_that_falls_silent_is_gone_and_without_reconnect_that_is_the_end(delay, monkeypatch):
    session, *_ = start(delay)
    eye = Reconnector(session, session.source._sound, reconnect=False)
    monkeypatch.setattr(ports, "PATIENCE", -1.0)
    with pytest.raises(QseError, match=r"device gone: 1 Headset \(ALSA\), 0 Desk Microphone"):
        eye.look()


def test_a_device_that_does_not_start_says_so(delay):
    sound = Sound(MICROPHONE, HEADSET)
    sound.InputStream = lambda **_: (_ for _ in ()).throw(sound.PortAudioError("busy"))
    with pytest.raises(QseError, match=r"Desk Microphone.*busy.*another program") as caught:
        Microphone(sound, None, None, 0.01).open()
    assert caught.value.status == 2


def test_a_slow_model_is_named_with_one_that_fits(models, monkeypatch):
    speeds = {"live-base": 1.3, "recurrent": 0.2, "fragile": 0.4}
    monkeypatch.setattr(warmup, "speed", lambda engine: speeds.get(engine.name, 2.0))  # others are installed as well
    advice = warmup.advice(qse.load("live-base"))
    assert "live-base is too slow" in advice and "--model fragile would fit" in advice
    speeds["fragile"] = speeds["recurrent"] = 0.9
    assert "no installed model" in warmup.advice(qse.load("live-base"))
    assert warmup.advice(qse.load("recurrent")) is not None
    speeds["live-base"] = 0.6
    assert warmup.advice(qse.load("live-base")) is None


def test_speed_is_processing_time_per_second_of_sound(recurrent, monkeypatch):
    ticks = iter(np.arange(0, 10, 0.001))
    monkeypatch.setattr(warmup, "perf_counter", lambda: float(next(ticks)))
    assert warmup.speed(recurrent) == pytest.approx(0.001 / 0.01, rel=0.01)


@pytest.fixture
def noisy(tmp_path):
    soundfile.write(tmp_path / "noisy.wav", noise(8000, 2), 16000)
    return tmp_path / "noisy.wav"


def test_command_from_file_to_file(command, models, noisy):
    assert command("denoise", noisy, "-o", noisy.with_name("a.wav"))[0] == 0
    status, out, err = command("live", "--from", noisy, "--to", noisy.with_name("b.wav"), "--as-fast-as-possible")
    assert (status, err) == (0, "")
    assert "live-base: 0.5 s of audio" in out and "dropouts: 0" in out and "model 10," in out
    assert noisy.with_name("a.wav").read_bytes() == noisy.with_name("b.wav").read_bytes()


def test_command_paced_by_the_clock_records_and_says_so(command, models, noisy):
    begin = time.monotonic()
    target = noisy.with_name("both.wav")
    status, out, _ = command("live", "--from", noisy, "--no-monitor", "--record", target, "--plain", "--strength", "6")
    assert status == 0 and f"recording: {target}" in out
    assert time.monotonic() - begin > 0.5
    assert soundfile.info(target).channels == 4


def test_command_does_not_record_into_what_it_reads_or_writes(command, models, noisy):
    before, other = noisy.read_bytes(), noisy.with_name("b.wav")
    for arguments in (
        ("--from", noisy, "--no-monitor", "--record", noisy),
        ("--from", noisy, "--to", other, "--record", other),
    ):
        status, _, err = command("live", *arguments, "--overwrite")
        assert status == 2 and "name another recording" in err
    assert noisy.read_bytes() == before and not other.exists()


def test_command_says_by_its_status_that_a_recording_broke_off(command, models, noisy, monkeypatch):
    monkeypatch.setattr("qse.live.recorder.Recorder._open", lambda self, to: 1 / 0 if isinstance(to, bytes) else to)
    status, out, err = command("live", "--from", noisy, "--no-monitor", "--record", noisy.with_name("c.wav"), "--plain")
    assert status == 1 and "not recorded: " in out and "is not written any further" in err


def test_a_second_has_one_line_even_behind_one_that_came_late(capsys, monkeypatch):
    monkeypatch.setattr(screen, "_state", lambda *_: [])
    level = SimpleNamespace(dbfs=-20.0)
    plain = screen.Plain(SimpleNamespace(noisy=level, enhanced=level), None)
    for seconds in (0.5, 1.0, 1.1, 3.7, 3.8, 4.0, 5.2):
        plain.show(seconds)
    assert [line[:8] for line in capsys.readouterr().out.splitlines()] == [f"00:00:0{n}" for n in (1, 3, 4, 5)]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_log_that_cannot_be_written_does_not_end_the_session(models, tmp_path):
    soundfile.write(tmp_path / "noisy.wav", noise(20000), 16000)
    code = "from qse_cli.main import main; main()"
    words = [sys.executable, "-c", code, "live", "--plain", "--from", "noisy.wav", "--to", "out.wav"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"") and soundfile.info(tmp_path / "out.wav").frames == 20000


def test_a_terminal_that_cannot_be_drawn_on_gets_lines(command, models, noisy, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    status, out, _ = command("live", "--from", noisy, "--to", noisy.with_name("b.wav"))
    assert status == 0 and "removed" not in out and "live-base: 0.5 s of audio" in out


def test_what_is_not_recorded_while_a_device_is_gone_is_said_of_a_microphone_alone():
    recorder, watch = SimpleNamespace(error=None, lost=0, path="a.wav"), SimpleNamespace(message="gone")
    said = [screen._recording(recorder, 16000, source, watch)[0] for source in (SimpleNamespace(lost=True), object())]
    assert said == ["not recorded", "recording"]


def test_command_draws_a_screen_on_a_terminal(command, models, noisy, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    status, out, _ = command("live", "--from", noisy, "--to", noisy.with_name("b.wav"))
    assert status == 0 and "removed" in out and "qse live: live-base" in out


@pytest.mark.parametrize(
    "options, words",
    [
        (["--as-fast-as-possible"], "--from FILE --to FILE"),
        (["--from", "x.wav", "--input", "1"], "name one"),
        (["--from", "nowhere.wav", "--to", "y.wav"], "no such file"),
        (["--input", "attic"], "'attic' matches no input device; name one of: 0 Desk Microphone (ALSA)"),
        (["--model", "live-huge", "--list"], "Desk Microphone"),
        (["--model", "live-huge"], "no model called live-huge"),
    ],
)
def test_command_answers_a_wrong_request_in_a_sentence(command, models, monkeypatch, options, words):
    monkeypatch.setitem(sys.modules, "sounddevice", Sound(MICROPHONE, HEADSET))
    status, out, err = command("live", *options)
    assert words in out + err
    assert status == (0 if "--list" in options else 1 if "no such file" in words or "no model" in words else 2)
    assert err.count("\n") == (0 if "--list" in options else 1)


def test_list_shows_names_to_the_letter(command, models, monkeypatch):
    monkeypatch.setitem(sys.modules, "sounddevice", Sound({**MICROPHONE, "name": "Mic [red]"}, HEADSET))
    status, out, _ = command("live", "--list")
    assert status == 0 and "Mic [red]" in out


def test_command_without_portaudio_or_devices_says_what_to_install(command, models, monkeypatch):
    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name == "sounddevice":
                raise OSError("PortAudio library not found")

    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    for options in ([], ["--list"]):
        status, _, err = command("live", *options)
        assert status == 2 and err.count("\n") == 1
        for how in ("PortAudio", "apt install libportaudio2", "dnf install portaudio", "brew install portaudio", "pip"):
            assert how in err
    monkeypatch.setitem(sys.modules, "sounddevice", Sound(defaults=(-1, -1)))
    for options in ([], ["--list"]):
        status, _, err = command("live", *options)
        assert status == 2 and err.count("\n") == 1 and "apt install pulseaudio" in err


@pytest.mark.parametrize("terminal", [True, False])
def test_command_ends_when_a_device_is_gone_and_shall_not_be_waited_for(command, models, monkeypatch, terminal):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setitem(sys.modules, "sounddevice", Sound(MICROPHONE, HEADSET))
    monkeypatch.setattr(ports, "PATIENCE", -1.0)
    status, _, err = command("live", "--no-reconnect")
    assert status == 1 and "device gone" in err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a pseudo-terminal")
def test_in_the_background_it_leaves_the_terminal_alone(models, tmp_path):
    import pty

    soundfile.write(tmp_path / "short.wav", noise(16000), 16000)
    main, terminal = pty.openpty()
    line = [sys.executable, "-c", "from qse_cli.main import main; main()", "live"]
    line += ["--from", "short.wav", "--to", "x.wav", "--plain", "--as-fast-as-possible"]
    shell = (
        "import os, subprocess, sys; os.login_tty(int(sys.argv[1]));"
        "child = subprocess.Popen(sys.argv[2:], process_group=0);"
        "sys.exit(os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", shell, str(terminal), *line], cwd=tmp_path, pass_fds=[terminal], start_new_session=False
    )
    expect(main, b"latency: ")
    assert process.wait(30) == 0
    assert soundfile.info(tmp_path / "x.wav").frames == 16000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a pseudo-terminal")
def test_keys_and_ctrl_c_on_a_terminal(models, tmp_path):
    import pty
    import termios

    soundfile.write(tmp_path / "long.wav", noise(16000 * 60), 16000)
    main, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)

    def enter():
        os.login_tty(terminal)

    line = [sys.executable, "-c", "from qse_cli.main import main; main()", "live"]
    line += ["--from", "long.wav", "--to", "x.wav"]
    process = subprocess.Popen(line, cwd=tmp_path, stdin=terminal, stdout=terminal, stderr=terminal, preexec_fn=enter)
    try:
        expect(main, b"dropouts")
        expect(main, b"bypass", key=b"b")
        os.write(main, b"\x03")
        expect(main, b"latency: ")
        assert process.wait(30) == 0
    finally:
        process.kill()
    assert termios.tcgetattr(terminal) == before
    assert 0 < soundfile.info(tmp_path / "x.wav").frames < 16000 * 60


def expect(terminal: int, text: bytes, key: bytes = b"", seconds: float = 50.0) -> None:
    """Reads the screen until `text` is there; presses `key` again and again, as it may come before anyone listens."""
    seen, end, pressed = b"", time.monotonic() + seconds, 0.0
    while text not in seen:
        assert time.monotonic() < end, f"{text} did not appear in {seen[-2000:]}"
        if key and time.monotonic() > pressed + 1.0:
            os.write(terminal, key)
            pressed = time.monotonic()
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 4096)
