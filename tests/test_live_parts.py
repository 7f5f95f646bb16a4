"""The parts of the live path, each by itself: rings, converter, player, devices, recorder."""

import os
import resource
from threading import Event, Thread
from time import sleep

import numpy as np
import pytest
import soundfile
from sound import CABLE, HEADSET, MICROPHONE, Sound
from waiting import until

from qse import QseError
from qse.audio.formats import FORMATS, Layout
from qse.live.clock_drift import LIMIT, ClockDrift, Converter
from qse.live.devices import NoSound, devices, find
from qse.live.jitter_buffer import JitterBuffer
from qse.live.recorder import Recorder
from qse.live.ring_buffer import RingBuffer, WakeSignal


def sine(rate: float, seconds: float, frequency: float = 440.0, late: float = 0.0) -> np.ndarray:
    return np.sin(2 * np.pi * frequency * (np.arange(round(rate * seconds)) / rate - late)).astype(np.float32)


def test_ring_gives_back_what_went_in_whatever_the_sizes():
    rng, ring = np.random.default_rng(0), RingBuffer(100, 2)
    sent, got = [np.zeros((0, 2), np.float32)], [np.zeros((0, 2), np.float32)]
    for size in rng.integers(0, 150, 500):
        block = rng.standard_normal((size, 2)).astype(np.float32)
        sent.append(block[: ring.write(block)])
        out = np.zeros((rng.integers(0, 150), 2), np.float32)
        got.append(out[: ring.read(out)])
        assert 0 <= ring.waiting <= 100 and ring.room == 100 - ring.waiting
    sent, got = np.concatenate(sent), np.concatenate(got)
    np.testing.assert_array_equal(got, sent[: len(got)])
    assert len(sent) - len(got) == ring.waiting
    ring.skip(1000)
    assert ring.waiting == 0


def test_ring_holds_between_two_threads():
    ring, numbers, got = RingBuffer(64, 1), np.arange(5000, dtype=np.float32)[:, None], []

    def send():
        at = 0
        while at < len(numbers):
            at += ring.write(numbers[at : at + 7])
            sleep(0)

    thread = Thread(target=send)
    thread.start()
    while sum(map(len, got)) < len(numbers):
        out = np.zeros((11, 1), np.float32)
        got.append(out[: ring.read(out)])
        sleep(0)
    thread.join()
    np.testing.assert_array_equal(np.concatenate(got), numbers)


def test_bell_wakes_and_is_not_forgotten():
    bell = WakeSignal()
    bell.ring()
    bell.ring()
    assert bell.wait(60)  # it has rung: no minute passes
    thread = Thread(target=bell.wait, args=(60,))
    thread.start()
    bell.ring()
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.parametrize("source, target", [(48000, 16000), (44100, 16000), (16000, 44100), (8000, 16000)])
def test_converter_equals_the_delayed_sines_it_is_given(source, target):
    converter, block = Converter(source, target), source // 100
    tones = [110, 997, 0.4 * min(source, target)]
    audio = sum(sine(source, 0.5, tone) for tone in tones)
    parts = [converter.process(audio[start : start + block]) for start in range(0, len(audio), block)]
    assert {len(part) for part in parts} == {target // 100}
    out = np.concatenate(parts)
    expected = sum(sine(target, 0.5, tone, converter.delay) for tone in tones)
    start = target // 10
    error = np.std(out[start:] - expected[start:]) / np.std(expected)
    assert 20 * np.log10(error) < -80
    assert converter.delay < 0.0045


def test_converter_lets_nothing_fold_back():
    out = Converter(48000, 16000).process(sine(48000, 0.5, 9000))
    assert 20 * np.log10(np.abs(out[1600:]).max()) < -80


def test_converter_does_not_mind_how_the_signal_is_cut():
    audio = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    whole, cut = Converter(44100, 16000), Converter(44100, 16000)
    parts = [cut.process(part) for part in np.split(audio, [1, 1, 2, 99, 1000, 1001, 4000])]
    np.testing.assert_allclose(np.concatenate(parts), whole.process(audio), atol=2e-6)


def test_converter_stretches_by_parts_per_million():
    converter = Converter(16000, 16000)
    converter.stretch = 500e-6
    count = sum(len(converter.process(np.zeros(160, np.float32))) for _ in range(6000))
    assert abs(count - 960000 * (1 + 500e-6)) < 1


@pytest.mark.parametrize("faster", [200e-6, -200e-6])
def test_drift_learns_how_much_faster_the_other_clock_is(faster):
    drift, excess, furthest = ClockDrift(), 0.0, 0.0
    for _ in range(20_000):
        excess += (drift.update(excess, 0.1) - faster) * 0.1  # what is made less what is played
        furthest = max(furthest, abs(excess))
    assert drift.stretch == pytest.approx(faster, rel=0.02)
    assert furthest < 0.005


def test_drift_never_leaves_its_limit():
    drift = ClockDrift()
    assert {drift.update(excess, 1.0) for excess in (1.0, 10.0, 1.0)} == {-LIMIT}
    assert drift.update(-10.0, 1.0) == LIMIT


def player_with(samples: np.ndarray, cushion: float = 0.02) -> JitterBuffer:
    player = JitterBuffer(1000, cushion)
    player.ring.write(samples[:, None])
    return player


def pull(player: JitterBuffer, count: int = 10) -> np.ndarray:
    out = np.full((count, 1), np.nan, np.float32)
    player.pull(out)
    return out[:, 0]


def test_player_waits_for_its_cushion_then_plays_everything_in_order():
    player = player_with(np.ones(29, np.float32))
    np.testing.assert_array_equal(pull(player), 0)
    player.ring.write(np.ones((1, 1), np.float32))
    np.testing.assert_allclose(pull(player), [0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1, 1, 1], atol=1e-6)
    np.testing.assert_array_equal(pull(player), 1)
    assert player.late == 0 and player.ring.waiting == 10


def test_player_begins_with_what_is_new():
    player = player_with(np.arange(100, dtype=np.float32))
    np.testing.assert_array_equal(pull(player)[5:], np.arange(75, 80))


def test_player_that_runs_out_holds_fades_and_comes_back_without_a_jump():
    player = player_with(np.ones(35, np.float32))
    out = [pull(player) for _ in range(4)]
    np.testing.assert_array_equal(out[3], 1)  # five samples and the last one held
    assert player.late == 1 and not player.playing
    out.append(pull(player))
    np.testing.assert_allclose(out[4], [0.8, 0.6, 0.4, 0.2, 0, 0, 0, 0, 0, 0], atol=1e-6)
    out.append(pull(player))
    player.ring.write(np.ones((60, 1), np.float32))
    out.append(pull(player))
    assert np.abs(np.diff(np.concatenate(out))).max() < 0.21
    assert player.cushion > 30 and out[-1][-1] == 1


def test_player_skips_when_too_much_waits_and_passes_over():
    audio, at, out = sine(1000, 10, 3), 30, []
    player = player_with(audio[:at])
    for _ in range(60):
        out.append(pull(player))
        more = 10 if player.skipped else 30
        player.ring.write(audio[at : at + more, None])
        at += more
    assert player.skipped == 1 and player.late == 0
    assert player.ring.waiting < 100
    assert np.abs(np.diff(np.concatenate(out))).max() < 0.5  # 3 Hz at 1 kHz moves by 0.02; a cut could by 2


def test_player_plays_to_the_end_when_closing():
    player = player_with(np.ones(15, np.float32))
    player.closing = True
    out = np.concatenate([pull(player) for _ in range(3)])
    assert out.max() == 1 and out[-1] == 0 and player.late == 0 and not player.ring.waiting


@pytest.mark.parametrize("rate, most, cushion", [(8000, 8192, 0.02), (16000, 1 << 14, 0.5), (48000, 480, 0.02)])
def test_player_has_room_for_any_block_and_cushion(rate, most, cushion):
    player = JitterBuffer(rate, cushion + most / rate, most)
    needed = most + round((cushion + most / rate) * rate)
    assert player.ring.room >= needed + most
    player.ring.write(np.ones((needed, 1), np.float32))
    pull(player, most)
    assert player.playing and player.late == 0


def test_devices_are_found_by_id_by_name_and_by_default():
    sound = Sound(MICROPHONE, HEADSET, CABLE)
    assert [device.id for device in devices(sound)] == [0, 1, 2]
    assert find(sound, "input").name == "Desk Microphone"
    assert find(sound, "output").name == "Headset"
    assert find(sound, "output", "2").name == find(sound, "output", "cable (j").name == "Virtual Cable"


@pytest.mark.parametrize("kind, wanted", [("input", "e"), ("input", "7"), ("output", "desk"), ("input", "nothing")])
def test_a_device_that_is_unknown_or_one_of_several_is_answered_with_the_candidates(kind, wanted):
    with pytest.raises(NoSound, match=r"1 Headset \(ALSA\)") as caught:
        find(Sound(MICROPHONE, HEADSET, CABLE), kind, wanted)
    assert wanted in str(caught.value) and caught.value.status == 2


def test_a_whole_name_goes_before_a_part_and_the_default_host_before_others():
    double = {**HEADSET, "name": "Headset Pro"}
    elsewhere = {**MICROPHONE, "hostapi": 1}
    sound = Sound(MICROPHONE, HEADSET, double, elsewhere)
    assert find(sound, "input", "headset").id == 1
    assert find(sound, "input", "desk").id == 0


def test_a_machine_without_devices_says_what_to_install():
    with pytest.raises(NoSound, match=r"no microphone.*apt install.*dnf install.*brew install.*choco install"):
        find(Sound(defaults=(-1, -1)), "input")
    with pytest.raises(NoSound, match="no input device is marked as default; name one of: 0 Desk Microphone"):
        find(Sound(MICROPHONE, defaults=(-1, -1)), "input")


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_recording_that_is_written_bit_by_bit_is_read_back_whole(tmp_path, suffix):
    recorder = Recorder(tmp_path / f"both.{suffix}", 16000, 2)
    for _ in range(5):
        recorder.put(np.full((1600, 2), 0.5, np.float32))
        until(lambda: not recorder._ring.waiting)
    recorder.close()
    assert recorder.lost == 0 and recorder.error is None
    assert soundfile.read(recorder.path)[0].shape == (8000, 2)


def test_recorder_writes_everything(tmp_path):
    recorder = Recorder(tmp_path / "new" / "both.wav", 1000, 2)
    audio = np.random.default_rng(0).uniform(-1, 1, (5000, 2)).astype(np.float32)
    for start in range(0, 5000, 77):
        recorder.put(audio[start : start + 77])
    recorder.close()
    read, rate = soundfile.read(recorder.path, dtype="float32")
    assert rate == 1000 and recorder.lost == 0 and recorder.error is None
    np.testing.assert_allclose(read, audio, atol=1 / 32000)


def test_a_slow_disk_costs_samples_of_the_recording_and_no_time(tmp_path, monkeypatch):
    go, write = Event(), soundfile.SoundFile.write
    monkeypatch.setattr(soundfile.SoundFile, "write", lambda file, data: (go.wait(60), write(file, data)))
    recorder = Recorder(tmp_path / "slow.wav", 1000, 1)
    for _ in range(30):
        recorder.put(np.ones((1000, 1), np.float32))  # would wait for a minute if it waited
    go.set()
    recorder.close()
    assert recorder.lost >= 10000
    assert soundfile.info(recorder.path).frames == 30000 - recorder.lost


def test_a_recording_of_what_does_not_come_by_the_clock_waits_for_a_slow_disk(tmp_path, monkeypatch):
    write = soundfile.SoundFile.write
    monkeypatch.setattr(soundfile.SoundFile, "write", lambda file, data: (sleep(0.2), write(file, data)))
    recorder = Recorder(tmp_path / "slow.wav", 1000, 1, paced=False)
    for _ in range(30):
        recorder.put(np.ones((1000, 1), np.float32))
    recorder.close()
    assert recorder.lost == 0 and soundfile.info(recorder.path).frames == 30000


def test_a_full_disk_ends_the_recording_and_keeps_what_is_there(tmp_path):
    recorder, before = Recorder(tmp_path / "full.wav", 16000, 1), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        for _ in range(9):
            recorder.put(np.ones((9000, 1), np.float32))
        recorder.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "disk full" in recorder.error
    assert soundfile.info(recorder.path).frames == (50_000 - 44) // 2


def test_a_recording_ends_where_its_format_does_and_keeps_what_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(Layout, "longest", 250)
    recorder = Recorder(tmp_path / "long.wav", 1000, 1)
    for count in (100, 200):
        recorder.put(np.ones((count, 1), np.float32))
        until(lambda: not recorder._ring.waiting)
    recorder.close()
    assert "long.wav is not written any further (a WAV file cannot be longer)" in recorder.error
    assert soundfile.info(recorder.path).frames == 100


def test_a_recording_may_have_any_name_and_ends_with_a_sentence_whatever_fails(tmp_path, monkeypatch):
    recorder = Recorder(tmp_path / os.fsdecode(b"h\xe4.wav"), 16000, 1)
    recorder.put(np.ones((100, 1), np.float32))
    recorder.close()
    assert recorder.error is None and os.listdir(os.fsencode(tmp_path)) == [b"h\xe4.wav"]
    recorder = Recorder(tmp_path / "b.wav", 16000, 1)
    monkeypatch.setattr(recorder, "_open", lambda to: 1 / 0)
    recorder.put(np.ones((100, 1), np.float32))
    recorder.close()
    assert "b.wav is not written any further (division by zero)" in recorder.error


def test_a_recording_in_the_way_or_without_a_format_is_refused(tmp_path):
    (tmp_path / "there.wav").write_bytes(b"precious")
    with pytest.raises(QseError, match="exists already"):
        Recorder(tmp_path / "there.wav", 16000, 2)
    with pytest.raises(QseError, match="suffix"):
        Recorder(tmp_path / "there.xyz", 16000, 2)
    with pytest.raises(QseError, match="cannot be written"):
        Recorder(tmp_path / "there.wav" / "both.wav", 16000, 2)
    with pytest.raises(QseError, match="no room for 4 channels"):
        Recorder(tmp_path / "both.mp3", 16000, 4)
    (tmp_path / "link.wav").symlink_to(tmp_path / "there.wav/both.wav")  # a disk that is not there
    with pytest.raises(QseError, match="cannot be written"):
        Recorder(tmp_path / "link.wav", 16000, 2)
    Recorder(tmp_path / "there.wav", 16000, 2, overwrite=True).close()
    assert (tmp_path / "there.wav").read_bytes() == b"precious"  # there was nothing to put in its place


def test_a_recording_is_encoded_as_its_suffix_says(tmp_path):
    recorder = Recorder(tmp_path / "both.opus", 16000, 2)
    recorder.put(np.zeros((16000, 2), np.float32))
    recorder.close()
    assert soundfile.info(recorder.path).subtype == "OPUS"
