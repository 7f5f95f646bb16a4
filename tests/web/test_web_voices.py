"""One voice on the page: chosen by its file or by a recording, by a model whose output a test can
predict; see graphs.talker."""

import json
from dataclasses import replace

import graphs
import numpy as np
import pytest
import soundfile
from browser import open_page, serve, wait

from qse.runtime.enrolment import enroll
from qse.web.site import build_site

HOP = 160
SPEECH = np.random.default_rng(1).uniform(-0.5, 0.5, HOP).astype(np.float32)
NOISY = np.random.default_rng(2).uniform(-0.1, 0.1, 20 * HOP).astype(np.float32)
DONE = "document.querySelector('#file-list .file-state')?.textContent.includes('cleaned with')"


@pytest.fixture
def talkers(tmp_path, monkeypatch):
    """A folder with a model that keeps one talker and a recording of the talker."""
    graphs.talker(tmp_path / "models" / "live-talker")
    monkeypatch.setenv("QSE_MODELS", str(tmp_path / "models"))
    soundfile.write(tmp_path / "me.wav", np.tile(SPEECH, 600), 16000, "FLOAT")
    soundfile.write(tmp_path / "noisy.wav", NOISY, 16000, "FLOAT")
    return tmp_path


@pytest.fixture
def page(talkers, chromium):
    server = serve(build_site())
    page = open_page(chromium, f"http://127.0.0.1:{server.server_port}/")
    yield page
    page.close()
    server.shutdown()
    server.server_close()
    assert page.errors == []


def choose(page, path, shown, place="voice-note"):
    """Choose the voice in a file, and wait until the page shows `shown`."""
    page.set_input_files("#voice-input", path)
    wait(page, f"document.getElementById('{place}').innerText.includes({json.dumps(shown)})")


def cleaned(page, folder):
    """Return what the page makes of the noisy recording."""
    wait(page, DONE)
    with page.expect_download() as download:
        page.click("#file-list .soft")
    download.value.save_as(folder / "cleaned.wav")
    return soundfile.read(folder / "cleaned.wav", dtype="float32")[0]


def test_page_keeps_the_voice_that_is_chosen(page, talkers):
    """Of a file, of a recording, and the nearest again."""
    enroll(talkers / "me.wav", talkers / "models/live-talker").voice.save(talkers / "me.voice")
    assert page.locator("#voice-field").is_hidden()
    page.select_option("#model", "live-talker")
    assert page.inner_text("#voice-name") == "the nearest"
    page.set_input_files("#file-input", talkers / "noisy.wav")
    np.testing.assert_allclose(cleaned(page, talkers), NOISY, atol=1e-6)
    wanted = (NOISY.reshape(-1, HOP) * (1 + SPEECH)).ravel()
    for name in ("me.voice", "me.wav"):
        choose(page, talkers / name, name, "voice-name")
        np.testing.assert_allclose(cleaned(page, talkers), wanted, atol=1e-5)
        assert page.locator("#voice-note").is_hidden()
        page.click("#voice-clear")
        assert page.inner_text("#voice-name") == "the nearest"
        np.testing.assert_allclose(cleaned(page, talkers), NOISY, atol=1e-6)


def test_page_keeps_the_voice_of_a_microphone(page, talkers):
    """A voice that makes everything a tenth as loud."""
    voice = enroll(talkers / "me.wav", talkers / "models/live-talker").voice
    entries = {name: np.zeros_like(rows) for name, rows in voice.entries.items()}
    entries["state.mixer.scale"] -= 0.9
    replace(voice, entries=entries).save(talkers / "soft.voice")
    page.select_option("#model", "live-talker")
    page.select_option("#band", "wide")  # the voice has no entries above
    choose(page, talkers / "soft.voice", "soft.voice", "voice-name")
    page.click("#tab-live")
    page.click("#live-start")
    removed = "document.getElementById('figure-removed').textContent"
    wait(page, f"{removed}.startsWith('20.')")
    page.click("#voice-clear")
    wait(page, f"{removed}.startsWith('0.0 dB')")
    page.click("#live-start")


def test_page_says_what_is_wrong_with_a_voice(page, talkers):
    page.select_option("#model", "live-talker")
    enroll(talkers / "me.wav", talkers / "models/live-talker").voice.save(talkers / "me.voice")
    text = (talkers / "me.voice").read_text()
    others = {
        "other.voice": (text.replace('"live-talker"', '"else"'), "is a voice for else 1, and not"),
        "cut.voice": (text[: len(text) // 2], "is no voice that qse enroll wrote, or is damaged"),
        "far.voice": (text.replace("mixer", "proto"), "is no voice that qse enroll wrote"),
        "list.voice": ("[]", "is no voice that qse enroll wrote"),
        "no.wav": ("no sound", "is no sound file"),
    }
    for name, (content, sentence) in others.items():
        (talkers / name).write_text(content)
        choose(page, talkers / name, f"{name} {sentence}")
        assert page.inner_text("#voice-name") == "the nearest"
    zeros = json.loads(text)
    zeros["entries"] = {n: np.zeros_like(rows).tolist() for n, rows in zeros["entries"].items()}
    (talkers / "zeros.voice").write_text(json.dumps(zeros))
    choose(page, talkers / "zeros.voice", "zeros.voice holds zeros")
    soundfile.write(talkers / "short.wav", np.tile(SPEECH, 200), 16000, "FLOAT")
    choose(page, talkers / "short.wav", "short.wav holds 2.0 s of speech: 3 s are needed")
    two = np.concatenate([np.tile(SPEECH, 400), np.tile(SPEECH[::-1], 400)])
    soundfile.write(talkers / "two.wav", two, 16000, "FLOAT")
    choose(page, talkers / "two.wav", "sound like two people")
    assert page.inner_text("#voice-name") == "two.wav"
