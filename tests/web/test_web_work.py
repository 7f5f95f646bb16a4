"""Check that the page loses and confuses nothing: unfinished work, equal names, the player's place,
mute."""

import numpy as np
import pytest
import soundfile
from browser import noisy_voice, wait
from speech import SAMPLE_RATE

WAITING = (
    "[...document.querySelectorAll('.file-state')].every((s) => s.textContent.includes('cleaned'))"
)


@pytest.fixture
def two(page, tmp_path):
    """The page with two recordings of one name, cleaned."""
    page.select_option("#model", "live-tiny")
    for folder in "ab":
        path = tmp_path / folder / "voice.wav"
        path.parent.mkdir()
        soundfile.write(path, noisy_voice()[:SAMPLE_RATE], SAMPLE_RATE)
        page.set_input_files("#file-input", path)
    wait(page, f"document.querySelectorAll('.file-state').length === 2 && {WAITING}")
    return page


def test_recordings_with_one_name_can_be_told_apart(two):
    assert two.locator(".file-name").all_inner_texts() == ["voice.wav", "voice (2).wav"]
    with two.expect_download() as caught:
        two.click("[aria-label='Download voice (2).wav']")
    assert caught.value.suggested_filename == "voice (2)-enhanced.wav"


def test_player_is_where_listen_was_pressed(two):
    order = (
        "[...document.querySelectorAll('#file-list > li')].map((li) => li.className.split(' ')[0])"
    )
    assert two.evaluate(order) == ["file", "player", "file"]
    two.click("[aria-label='Listen to voice (2).wav']")
    wait(two, "document.getElementById('listen-name').textContent === 'voice (2).wav'")
    assert two.evaluate(order) == ["file", "file", "player"]
    two.click("[aria-label='Remove voice (2).wav from the list']")
    wait(two, "document.getElementById('listen-name').textContent === 'voice.wav'")
    assert two.evaluate(order) == ["file", "player"]


HELD = """() => {
  const read = Blob.prototype.arrayBuffer;
  const gate = new Promise((go) => (globalThis.go = go));
  Blob.prototype.arrayBuffer = async function () {
    await gate;
    return read.call(this);
  };
}"""


def test_a_recording_is_read_after_one_was_removed_while_the_player_opened(page, tmp_path):
    path = tmp_path / "voice.wav"
    soundfile.write(path, noisy_voice()[:SAMPLE_RATE], SAMPLE_RATE)
    page.select_option("#model", "live-tiny")
    page.evaluate(HELD)
    page.set_input_files("#file-input", path)
    wait(page, WAITING + " && document.querySelectorAll('.file-state').length")
    page.click("[aria-label='Remove voice.wav from the list']")
    page.evaluate("go()")
    page.set_input_files("#file-input", path)
    wait(page, WAITING + " && document.querySelectorAll('.file-state').length")


ASKS = """() => {
  const event = new Event("beforeunload", { cancelable: true });
  dispatchEvent(event);
  return event.defaultPrevented;
}"""


def test_page_asks_before_a_recording_is_lost(page):
    page.click("#tab-live")
    page.click("#live-start")
    page.wait_for_selector("#record:enabled", timeout=60000)
    asked = [page.evaluate(ASKS)]
    page.click("#record")
    asked.append(page.evaluate(ASKS))
    page.wait_for_timeout(500)
    page.click("#record")
    page.wait_for_selector("#recordings li")
    asked.append(page.evaluate(ASKS))
    with page.expect_download():
        page.click("#recordings button")
    asked.append(page.evaluate(ASKS))
    assert asked == [False, True, True, False]


def test_reload_asks_while_a_recording_is_cleaned(page, tmp_path):
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.dismiss()))
    soundfile.write(tmp_path / "long.wav", noisy_voice(120), SAMPLE_RATE)
    page.click("#tab-files")  # a browser asks only where the user has done something
    page.set_input_files("#file-input", tmp_path / "long.wav")
    page.evaluate("setTimeout(() => location.reload())")
    wait(page, "document.querySelectorAll('#file-list .file').length === 1")
    page.wait_for_timeout(1000)
    assert dialogs == ["beforeunload"]
    assert page.locator("#file-list .file").count() == 1
    page.click("[aria-label^='Remove']")


def test_mute_silences_both_sides_of_a_recording(page, tmp_path):
    page.click("#tab-live")
    page.click("#live-start")
    page.wait_for_selector("#mute:enabled", timeout=60000)
    page.click("#mute")
    wait(page, "document.getElementById('live-status').textContent.startsWith('Muted')")
    page.click("#record")
    page.wait_for_timeout(1000)
    page.click("#record")
    page.wait_for_selector("#recordings li")
    with page.expect_download() as caught:
        page.click("#recordings button")
    caught.value.save_as(tmp_path / "both.wav")
    muted, _ = soundfile.read(tmp_path / "both.wav")
    assert len(muted) and not np.any(muted)
    assert page.inner_text("#level-noisy") != "–"  # the meter shows that the microphone works


def test_models_are_listed_with_their_delay(page):
    names = page.locator("#model option").all_inner_texts()
    assert "studio-large · delay 414 ms, best for recordings" in names
    assert "live-base · delay 20 ms" in names
