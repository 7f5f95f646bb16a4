"""The page itself: usable with the keyboard, by a screen reader and on a phone."""

import json
from pathlib import Path

import pytest
import soundfile
from browser import noisy_voice, open_page, wait
from speech import SAMPLE_RATE

from qse.web.site import build_site

ROOT = Path(__file__).parents[2]
UNNAMED = """() => {
  const kinds = "button, select, input, canvas, progress, [role=meter], [role=radiogroup]";
  const isNamed = (node) => node.labels?.length
    || node.getAttribute("aria-label")
    || node.getAttribute("aria-labelledby")
    || (node.tagName === "BUTTON" && node.textContent.trim());
  return [...document.querySelectorAll(kinds)]
    .filter((node) => !node.closest("[hidden]") && !isNamed(node))
    .map((node) => node.outerHTML);
}"""


@pytest.fixture
def done(page, tmp_path):
    """The page with one recording that is cleaned."""
    soundfile.write(tmp_path / "voice.wav", noisy_voice(), SAMPLE_RATE)
    page.select_option("#model", "live-tiny")
    page.set_input_files("#file-input", tmp_path / "voice.wav")
    wait(page, "!document.getElementById('listen').hidden")  # it can be played
    return page


def test_visitor_without_a_file_tries_the_sample(page):
    """It is the beginning of assets/noisy.wav."""
    page.select_option("#model", "live-tiny")
    page.click("#sample")
    wait(page, "!document.getElementById('listen').hidden")
    assert page.inner_text("#listen-name") == "sample.flac"
    sample, rate = soundfile.read(ROOT / "qse/web/sample.flac", dtype="int16")
    noisy, noisy_rate = soundfile.read(ROOT / "assets/noisy.wav", dtype="int16")
    assert rate == noisy_rate and len(sample) == 5 * rate
    assert (sample == noisy[: len(sample)]).all()


def test_sample_that_is_missing_is_said(page):
    page.route("**/sample.flac", lambda route: route.abort())
    page.click("#sample")
    wait(page, "document.querySelector('#file-list').textContent.includes('could not be loaded')")


def test_page_controls_have_names(done):
    assert done.evaluate(UNNAMED) == []
    done.click("#tab-live")
    assert done.evaluate(UNNAMED) == []


def test_page_tabs_follow_the_arrow_keys(page):
    page.focus("#tab-files")
    page.keyboard.press("ArrowRight")
    assert page.locator("#panel-live").is_visible() and page.locator("#panel-files").is_hidden()
    assert page.evaluate("document.activeElement.id") == "tab-live"
    page.keyboard.press("ArrowLeft")
    assert page.locator("#panel-files").is_visible()


def test_page_playback_keys(done):
    done.evaluate("document.activeElement.blur()")
    done.keyboard.press("b")
    assert done.locator("[name=side][value=noisy]").is_checked()
    done.keyboard.press("ArrowRight")
    assert float(done.input_value("#seek")) == pytest.approx(3, abs=0.01)  # of 3 seconds
    done.keyboard.press("ArrowLeft")
    done.keyboard.press("Space")
    wait(done, "document.getElementById('play').getAttribute('aria-label') === 'Pause'")
    # at the end
    wait(done, "document.getElementById('play').getAttribute('aria-label') === 'Play'")


def test_page_spectrograms_show_what_was_removed(done):
    """The picture of the cleaned recording is darker, with 0 dB as bright as the original."""
    script = """(side) => {
      const canvas = document.querySelector(`#picture-${side} canvas`);
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.reduce((sum, value) => sum + value, 0) / data.length;
    }"""
    wait(done, "document.querySelectorAll('figure[aria-busy=false]').length === 2")
    noisy, enhanced = (done.evaluate(script, side) for side in ("noisy", "enhanced"))
    assert enhanced < noisy - 5
    done.locator("#strength").fill("0")
    wait(done, f"Math.abs(({script})('enhanced') - {noisy}) < 0.01")


def test_page_loads_the_model_while_a_recording_is_chosen(page):
    entries = json.loads(build_site()["manifest.json"])["models"]
    studio = next(entry for entry in entries if entry["name"] == "studio-base")
    with page.expect_request(f"**/{studio['full']['url']}"):
        page.hover("#choose")
    assert page.locator("#results").is_hidden()


def test_page_tries_again_where_the_model_could_not_be_loaded(page, tmp_path):
    page.route("**/models/*", lambda route: route.abort())
    with page.expect_event("requestfailed"):
        page.hover("#choose")
    page.unroute("**/models/*")
    soundfile.write(tmp_path / "voice.wav", noisy_voice(1), SAMPLE_RATE)
    page.set_input_files("#file-input", tmp_path / "voice.wav")
    wait(page, "document.querySelector('.file-state').textContent.includes('cleaned')")


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_page_fits_its_width(chromium, address, width):
    context = chromium.new_context(viewport={"width": width, "height": 700})
    page = open_page(context, address)
    for tab in ("#tab-files", "#tab-live"):
        page.click(tab)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_page_on_a_narrow_screen_has_mute_near_start(chromium, address):
    """Levels, mute and recording come before the lists of devices."""
    context = chromium.new_context(viewport={"width": 375, "height": 667})
    page = open_page(context, address)
    page.click("#tab-live")
    start = page.locator("#live-start").bounding_box()
    for name in ("#meter-enhanced", "#mute", "#record"):
        box = page.locator(name).bounding_box()
        assert 0 < box["y"] + box["height"] - start["y"] < 667
    context.close()


def test_page_shows_names_of_models_whole(chromium, address):
    context = chromium.new_context(viewport={"width": 1200, "height": 700})
    page = open_page(context, address)
    select = page.locator("#model")
    room = select.evaluate("""(select) => {
      const text = document.createElement("span");
      text.style.font = getComputedStyle(select).font;
      text.style.whiteSpace = "pre";
      document.body.append(text);
      const style = getComputedStyle(select);
      const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
      const inner = select.clientWidth - padding;
      const widths = [...select.options].map((option) => {
        text.textContent = option.text;
        return text.getBoundingClientRect().width;
      });
      return inner - Math.max(...widths);
    }""")
    assert room >= 0
    context.close()


def test_page_offers_a_model_that_looks_ahead_for_recordings_alone(page):
    """A model that the user chose serves both modes."""
    chosen = page.locator("#model")
    assert chosen.input_value() == "studio-base"
    page.click("#tab-live")
    assert chosen.input_value() == "live-base"
    page.click("#tab-files")
    assert chosen.input_value() == "studio-base"
    page.select_option("#model", "live-tiny")
    page.click("#tab-live")
    assert chosen.input_value() == "live-tiny"
