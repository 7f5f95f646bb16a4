"""Enroll a talker, keep the voice in a file, and begin streams with it, by a model whose entries a
test can predict; see graphs.talker."""

import copy
import json
import pickle

import graphs
import numpy as np
import pytest
import soundfile
from tagged_files import ffmpeg, needs_ffmpeg

import qse
from qse.errors import QseError
from qse.runtime.checksums import seal
from qse.runtime.enrolment import Enrolment, enroll, keeping
from qse.runtime.voice import Voice, read_voice
from qse.runtime.zoo import resolve

HOP = 160
SPEECH = np.random.default_rng(1).uniform(-0.5, 0.5, HOP).astype(np.float32)  # of a talker, a hop


def recording(path, seconds=5.0, rate=16000, speech=SPEECH):
    """Write a talker who says the same hop again and again, a pause behind it."""
    hops = np.tile(speech, round(seconds * rate / HOP))
    soundfile.write(path, np.concatenate([hops, np.zeros(50 * HOP)]), rate, "FLOAT")
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return graphs.talker(tmp_path_factory.mktemp("models") / "one")


@pytest.fixture
def me(model, tmp_path):
    """The voice of the talker in a file."""
    path = tmp_path / "me.voice"
    enroll(recording(tmp_path / "me.wav"), model).voice.save(path)
    return path


def noisy(hops=20, size=HOP):
    return np.random.default_rng(2).uniform(-0.1, 0.1, hops * size).astype(np.float32)


def enhanced_for(speech, audio, size=HOP):
    """Return what the model makes of `audio` for the talker who says `speech`."""
    gain = np.ones(size, np.float32)
    gain[:HOP] += speech
    return (audio.reshape(-1, size) * gain).ravel()


def test_a_talker_is_the_mean_state_over_speech(model, tmp_path):
    found = enroll(recording(tmp_path / "a.wav"), model)
    assert found.seconds == pytest.approx(5.0)
    assert found.likeness == pytest.approx(1.0) and not found.doubts()
    np.testing.assert_allclose(found.voice.entries["state.mixer.scale"].ravel(), SPEECH, atol=1e-6)
    assert not found.voice.entries["state.mixer.shift"].any()


@pytest.mark.parametrize("kind", ["voice", "recording", "loaded"])
def test_a_stream_keeps_the_talker_who_is_named(model, me, kind):
    named = {"voice": me, "recording": me.with_name("me.wav"), "loaded": read_voice(me)}[kind]
    audio = noisy()
    engine = qse.load(model, talker=named)
    wanted = enhanced_for(SPEECH, audio)
    np.testing.assert_allclose(qse.denoise(audio, 16000, engine), wanted, atol=1e-6)
    stream = qse.Stream(model, talker=named)
    blocks = [stream.process(block) for block in np.array_split(audio, 7)]
    blocks.append(stream.finish())
    np.testing.assert_allclose(np.concatenate(blocks)[stream.latency :], wanted, atol=1e-6)


def test_near_is_the_model_as_it_is(model):
    audio = noisy()
    kept = qse.denoise(audio, 16000, qse.load(model, talker="near"))
    assert np.array_equal(kept, qse.denoise(audio, 16000, model))


def test_entries_of_the_bands_above_8_khz_are_zero(model, me):
    audio = noisy(20, 480)
    wanted = enhanced_for(SPEECH, audio, 480)
    for engine in (
        qse.load(model, sample_rate=48000, talker=me),
        resolve(qse.load(model, talker=me), 48000),
    ):
        assert engine.sample_rate == 48000
        np.testing.assert_allclose(qse.denoise(audio, 48000, engine), wanted, atol=1e-6)


def test_sessions_begin_again_with_the_talker(model, me):
    session = qse.load(model, talker=me).session()
    hop = noisy(1)
    first = session.step(hop).copy()
    twin = copy.deepcopy(session)
    session.reset()
    np.testing.assert_array_equal(session.step(hop), first)
    np.testing.assert_array_equal(twin.step(hop), first)
    twin.reset()
    np.testing.assert_array_equal(twin.step(hop), first)


def test_engines_share_a_graph_and_keep_talkers_apart(model, me, models):
    engine = qse.load(model)
    kept = engine.keeping(read_voice(me))
    audio = noisy()
    np.testing.assert_array_equal(qse.denoise(audio, 16000, engine), audio)
    assert qse.Stream(engine, talker=me).engine.voice.model == "one"
    with pytest.raises(QseError, match="cannot keep one talker"):
        qse.Stream("live-base", talker="near")
    other = pickle.loads(pickle.dumps(kept))
    for found in (kept, other):
        wanted = enhanced_for(SPEECH, audio)
        np.testing.assert_allclose(qse.denoise(audio, 16000, found), wanted, atol=1e-6)


def test_a_model_without_talkers_is_refused(delay, me):
    for talker in ("near", me):
        with pytest.raises(QseError, match="live-base cannot keep one talker"):
            keeping(delay, talker)


def test_a_voice_is_for_its_owner_and_its_model_alone(model, me, tmp_path):
    assert me.stat().st_mode & 0o777 == 0o600
    with pytest.raises(QseError, match=r"me\.voice exists already"):
        read_voice(me).save(me)
    other = graphs.talker(tmp_path / "other")
    with pytest.raises(QseError, match=r"me.voice is a voice for one 1, and not for other 1"):
        qse.load(other, talker=me)


def changed(entries):
    """Return the content of a voice with other entries."""
    content = {"qse voice": 1, "model": "one", "version": "1", "entries": entries}
    return json.dumps(content)


SCALE, SHIFT = "state.mixer.scale", "state.mixer.shift"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"qse voice": 1}',
        changed([]),
        changed({SCALE: [[0.1] * 80]}),
        changed({SCALE: [[0.1] * 80], SHIFT: [["a"] * 80]}),
        changed({SCALE: [[0.1] * 80], SHIFT: [[0.1] * 80, [0.1]]}),
        changed({SCALE: [[0.1] * 80], SHIFT: [[float("nan")] * 80]}),
        changed({SCALE: [[0.1] * 80], SHIFT: [[1e300] * 80]}),
        changed({SCALE: [[0.1] * 80], SHIFT: [[10**400] * 80]}),
        changed({SCALE: [[0.1] * 80], SHIFT: [0.1] * 80}),
        changed({SCALE: [[0.1] * 80], SHIFT: [[0.1] * 81]}),
        changed({SCALE: [[0.1] * 80] * 3, SHIFT: [[0.1] * 80]}),
        changed({SCALE: [[0.1] * 80], "state.mixer.time": [[0.1] * 80]}),
        changed({SCALE: [[0.0] * 80], SHIFT: [[0.0] * 80]}),
    ],
)
def test_what_is_no_voice_is_refused(model, tmp_path, content):
    path = tmp_path / "me.voice"
    path.write_text(content)
    with pytest.raises(QseError, match=r"me.voice (is no voice|holds zeros).*enroll"):
        qse.load(model, talker=path)


def test_a_voice_that_is_cut_or_has_no_end_is_refused(model, me):
    whole = me.read_bytes()
    for size in range(0, len(whole), 97):
        me.write_bytes(whole[:size])
        with pytest.raises(QseError, match="is no voice"):
            read_voice(me)
    with me.open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(QseError, match="has more than"):
        read_voice(me)
    for name in ("none.voice", "folder.voice"):
        with pytest.raises(QseError, match=rf"{name} cannot be read"):
            read_voice(me.with_name(name))
        me.with_name("folder.voice").mkdir(exist_ok=True)


def test_too_little_speech_is_refused(model, tmp_path):
    with pytest.raises(QseError, match=r"a.wav holds 2.0 s of speech: 3 s are needed"):
        enroll(recording(tmp_path / "a.wav", 2.0), model)
    soundfile.write(tmp_path / "b.wav", np.zeros(80000), 16000)
    with pytest.raises(QseError, match=r"b.wav holds 0.0 s of speech"):
        enroll(tmp_path / "b.wav", model)


def test_two_voices_are_doubted(model, tmp_path):
    first, _ = soundfile.read(recording(tmp_path / "a.wav"))
    second, _ = soundfile.read(recording(tmp_path / "b.wav", speech=SPEECH[::-1]))
    soundfile.write(tmp_path / "both.wav", np.concatenate([first, second]), 16000)
    (doubt,) = enroll(tmp_path / "both.wav", model).doubts()
    assert "both.wav: its halves sound like two people" in doubt


def test_noise_is_doubted():
    voice = Voice("one", "1", {}, "me.wav")
    assert not Enrolment(voice, 6.0, 20.0, 0.9).doubts()
    (doubt,) = Enrolment(voice, 6.0, 4.2, 0.9).doubts()
    assert doubt == "me.wav: the speech is only 4 dB above the noise: enroll in a quiet room"


def test_only_the_first_minute_is_read(model, tmp_path):
    long = recording(tmp_path / "a.wav", 90.0)
    assert 60 <= enroll(long, model).seconds < 65


def test_a_model_without_the_graph_of_talkers_is_refused(zoo, tmp_path):
    with pytest.raises(QseError, match=r"live-base has no talker.onnx"):
        enroll(recording(tmp_path / "a.wav"), zoo / "live-base")


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ({"names": ("other", "scale", "shift")}, "is no graph of talkers of this model"),
        ({"names": ("time", "scale", "other")}, "is no graph of talkers of this model"),
        ({"bands": 3}, "is no graph of talkers of this model"),
        ({"operator": "Pow"}, "makes no entries of this talker"),  # of negative numbers: NaN
    ],
)
def test_another_graph_of_talkers_is_refused(tmp_path, graph, reason):
    folder = graphs.talker(tmp_path / "one")
    graphs.talkers(folder / "talker.onnx", **graph)
    with pytest.raises(QseError, match=rf"talker.onnx {reason}"):
        enroll(recording(tmp_path / "a.wav"), folder)


def test_damaged_graphs_are_refused(tmp_path):
    folder = graphs.talker(tmp_path / "one")
    seal(folder)
    me = recording(tmp_path / "a.wav")
    assert enroll(me, folder).seconds > 4
    for name in ("talker.onnx", "model.onnx"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole + b"\0")
        with pytest.raises(QseError, match=rf"{name} is damaged"):
            enroll(me, folder)
        (folder / name).write_bytes(whole)


@needs_ffmpeg
def test_the_first_of_several_tracks_is_enrolled_and_that_is_said(model, tmp_path):
    recording(tmp_path / "a.wav")
    soundfile.write(tmp_path / "b.wav", np.zeros(80000), 16000)
    tracks = ("-i", tmp_path / "a.wav", "-i", tmp_path / "b.wav", "-map", "0", "-map", "1")
    ffmpeg(*map(str, tracks), "-c:a", "flac", str(tmp_path / "two.mka"))
    found = enroll(tmp_path / "two.mka", model)
    assert found.seconds == pytest.approx(5.0)
    assert found.doubts() == [
        f"{tmp_path / 'two.mka'}: the first of its 2 sound tracks was enrolled"
    ]
