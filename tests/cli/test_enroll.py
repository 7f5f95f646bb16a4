"""qse enroll and --talker: a voice from a file and from the microphone, and what it changes."""

import hashlib
import json
import shutil
import sys
from dataclasses import replace

import graphs
import numpy as np
import pytest
import soundfile
from sound import MICROPHONE, Sound, Stream

from qse.corpus_cleaning.settings import Settings

HOP = 160
SPEECH = np.random.default_rng(1).uniform(-0.5, 0.5, HOP).astype(np.float32)


class Talking(Sound):
    """A microphone into which somebody says SPEECH as soon as it runs, for longer than is asked."""

    def InputStream(self, **wanted):
        class Running(Stream):
            def start(self) -> None:
                super().start()
                for _ in range(90):  # the ring holds a second
                    self.give(np.tile(SPEECH, 1)[:, None])

        return Running(self, **{**wanted, "device": 0})


@pytest.fixture
def model(here, monkeypatch):
    """The model that keeps one talker, under the name that --talker looks for."""
    graphs.talker(here / "models" / "live-talker")
    monkeypatch.setenv("QSE_MODELS", str(here / "models"))
    soundfile.write("me.wav", np.tile(SPEECH, 600), 16000, "FLOAT")
    noisy = np.random.default_rng(2).uniform(-0.1, 0.1, 20 * HOP)
    soundfile.write("noisy.wav", noisy.astype(np.float32), 16000, "FLOAT")
    return here / "models" / "live-talker"


def kept(path):
    """Return whether a file is noisy.wav, enhanced for the talker who says SPEECH."""
    noisy, found = (soundfile.read(name, dtype="float32")[0] for name in ("noisy.wav", path))
    wanted = noisy.reshape(-1, HOP) * (1 + SPEECH)
    return np.abs(found - wanted.ravel()).max() < 1e-5


@pytest.mark.parametrize(
    "arguments",
    [
        ("denoise", "noisy.wav", "-o", "me.wav"),
        ("denoise", "folder", "noisy.wav", "-o", "."),
        ("denoise", "-", "-o", "./me.wav"),
        ("live", "--from", "noisy.wav", "--to", "me.wav", "--as-fast-as-possible"),
        ("live", "--from", "noisy.wav", "--to", "live.wav", "--record", "me.wav"),
        ("clean", "list.jsonl", "-o", ".", "--root", "folder", "--manifest", "out.jsonl"),
    ],
)
def test_the_recording_of_the_talker_is_no_output(model, here, command, arguments):
    (here / "folder").mkdir()
    shutil.copy("noisy.wav", "folder/me.wav")
    (here / "list.jsonl").write_text('{"audio_filepath": "folder/me.wav"}\n')
    before = (here / "me.wav").read_bytes()
    status, _, err = command(*arguments, "--overwrite", "--talker", "me.wav")
    assert status == 2 and "--talker me.wav is an output, too: name another output" in err
    assert (here / "me.wav").read_bytes() == before


def test_enroll_and_keep_the_talker(model, command):
    status, out, err = command("enroll", "me.wav", "-o", "me.voice")
    assert (status, err) == (0, "")
    assert out == "me.voice: 6.0 s of speech, 60 dB above the noise; live-talker 1\n"
    for number, talker in enumerate(("me.voice", "me.wav")):
        assert command("denoise", "noisy.wav", "-o", f"{number}.wav", "--talker", talker)[0] == 0
        assert kept(f"{number}.wav")
    arguments = ("--from", "noisy.wav", "--to", "live.wav", "--as-fast-as-possible", "--plain")
    status, out, _ = command("live", *arguments, "--talker", "me.voice")
    assert status == 0 and kept("live.wav")
    assert "other voices are removed, kept is me.voice" in out
    status, out, _ = command("live", *arguments, "--overwrite", "--talker", "near")
    assert status == 0 and not kept("live.wav") and "kept is whoever is near" in out


def test_enroll_refuses(model, command):
    def refused(*arguments):
        status, _, err = command("enroll", *arguments)
        assert status == 1 or status == 2
        return err

    assert "me.txt: the name of a voice ends in .voice" in refused("me.wav", "-o", "me.txt")
    (model.parents[1] / "folder.voice").mkdir()
    line = ("me.wav", "-o", "folder.voice", "--overwrite")
    assert "folder.voice is not a regular file: name another output" in refused(*line)
    assert "none.wav" in refused("none.wav", "-o", "me.voice")
    soundfile.write("short.wav", np.tile(SPEECH, 100), 16000, "FLOAT")
    assert "short.wav holds 1.0 s of speech" in refused("short.wav", "-o", "me.voice")
    assert command("enroll", "me.wav", "-o", "me.voice")[0] == 0
    assert "me.voice exists already: name another output, or use --overwrite" in refused(
        "me.wav", "-o", "me.voice"
    )
    assert command("enroll", "me.wav", "-o", "me.voice", "--overwrite")[0] == 0
    assert "has no talker.onnx" in refused("me.wav", "-o", "b.voice", "--model", "live-base")


def test_talker_needs_a_model_that_keeps_one(here, command):
    soundfile.write("noisy.wav", np.zeros(1600), 16000)
    for arguments in (("denoise", "noisy.wav"), ("live",), ("enroll", "-o", "me.voice")):
        talker = () if arguments[0] == "enroll" else ("--talker", "near")
        status, _, err = command(*arguments, *talker)
        assert status == 2
        assert err == "qse: no installed model keeps one talker: name one with --model\n"
    status, _, err = command("denoise", "noisy.wav", "--talker", "near", "--model", "live-base")
    assert status == 1 and err == "qse: live-base cannot keep one talker: choose another model\n"
    status, _, err = command("live", "--talker", "near", "--latency", "30", "--model", "live-base")
    assert status == 2 and "--latency chooses the model" in err


def test_two_voices_are_doubted_wherever_a_recording_is_named(model, command):
    both = np.concatenate([np.tile(SPEECH, 300), np.tile(SPEECH[::-1], 300)])
    soundfile.write("both.wav", both, 16000, "FLOAT")
    for arguments in (
        ("enroll", "both.wav", "-o", "both.voice"),
        ("denoise", "noisy.wav", "--talker", "both.wav"),
    ):
        status, _, err = command(*arguments)
        assert status == 0
        assert "qse: warning: both.wav: its halves sound like two people" in err


def test_damage_is_said_wherever_a_recording_is_named(model, command):
    path = model.parents[1] / "me.wav"
    path.write_bytes(path.read_bytes()[:-10])
    for arguments in (
        ("enroll", "me.wav", "-o", "me.voice"),
        ("denoise", "noisy.wav", "--talker", "me.wav"),
    ):
        status, _, err = command(*arguments)
        assert status == 0 and err.count("qse: warning: me.wav may be cut") == 1


def test_clean_does_a_manifest_again_for_another_talker(model, command):
    line = '{"audio_filepath": "noisy.wav", "duration": 0.2}\n'
    (model.parents[1] / "in.jsonl").write_text(line)
    clean = ("clean", "in.jsonl", "-o", "out", "--manifest", "out.jsonl")
    assert command(*clean, "--talker", "me.wav")[0] == 0 and kept("out/noisy.wav")
    _, _, err = command(*clean, "--talker", "me.wav")
    assert "0 enhanced, 0 failed, 1 finished before" in err
    status, _, err = command(*clean, "--talker", "near")
    assert status == 2 and "talker near" in err


def test_enroll_from_the_microphone(model, command, monkeypatch):
    monkeypatch.setitem(sys.modules, "sounddevice", Talking(MICROPHONE))
    monkeypatch.setattr("qse_cli.enroll.SECONDS", 0.85)
    status, out, err = command("enroll", "-o", "me.voice")
    assert "Read this aloud" in err and "Recording 0 Desk Microphone" in err
    assert status == 1 and "Desk Microphone (ALSA) holds 0.8 s of speech" in err
    monkeypatch.setattr("qse.runtime.enrolment.LEAST", 0.5)
    status, out, err = command("enroll", "-o", "me.voice")
    assert status == 0 and out.startswith("me.voice: 0.8 s of speech")
    assert command("denoise", "noisy.wav", "-o", "a.wav", "--talker", "me.voice")[0] == 0
    assert kept("a.wav")


def test_clean_continues_what_began_before_there_were_talkers():
    """A setting that is not used changes nothing, as in manifests of earlier versions."""
    settings = Settings("m", "0" * 64, None, None)
    values = {"model_sha256": "0" * 64, "strength": None, "format": None, "fast": False}
    text = json.dumps({**values, "version": settings.version}, sort_keys=True)
    assert settings.fingerprint == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert replace(settings, talker="near").fingerprint != settings.fingerprint
