"""Recordings in the browser: the samples of `qse.denoise` at every rate, one sentence for what is
no sound."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from browser import from_wav, full_band_voice, noisy_voice, to_wav, wait
from speech import SAMPLE_RATE
from tagged_files import ffmpeg, needs_ffmpeg

import qse

FULL_BAND = 48000
STEREO = np.stack([noisy_voice(), 0.5 * noisy_voice()[::-1]], axis=1)
MODELS = ("live-tiny", "live-base", "studio-base", "live-large", "studio-large")


def snr(found: np.ndarray, wanted: np.ndarray) -> float:
    return 10 * np.log10((wanted**2).sum() / ((found - wanted) ** 2).sum())


@pytest.mark.parametrize("rate", [SAMPLE_RATE, FULL_BAND])
@pytest.mark.parametrize("name", MODELS)
def test_file_output_equals_python(enhance_in_page, name, rate):
    """At the rates of the two graphs of a model nothing is resampled."""
    wav = to_wav(full_band_voice() if rate == FULL_BAND else noisy_voice(), rate)
    enhanced, found_rate = enhance_in_page(wav, name)
    wanted = qse.denoise(from_wav(wav)[0], rate, name)
    assert found_rate == rate and enhanced.shape == wanted.shape
    np.testing.assert_allclose(enhanced, wanted, rtol=0, atol=1e-6)


def test_file_band_wide_takes_the_other_graph(enhance_in_page):
    wav = to_wav(full_band_voice(), FULL_BAND, "FLOAT")
    wide_band = Path(__file__).parents[2] / "models" / "live-base" / "model.onnx"
    wanted = qse.denoise(from_wav(wav)[0], FULL_BAND, wide_band)
    assert snr(enhance_in_page(wav, "live-base", band="wide")[0], wanted) > 50
    assert snr(enhance_in_page(wav, "live-base")[0], wanted) < 40


@pytest.mark.parametrize(
    "rate, least", [(44100, 50), (48000, 50), (8000, 40), (11025, 40), (44101, 50)]
)
def test_file_output_is_aligned_at_other_rates(enhance_in_page, rate, least):
    """Two resamplers agree in all but the last few per cent of their band."""
    wav = to_wav(soxr.resample(STEREO, SAMPLE_RATE, rate), rate, "FLOAT")
    enhanced, found_rate = enhance_in_page(wav, "live-tiny")
    wanted = qse.denoise(from_wav(wav)[0], rate, "live-tiny")
    assert found_rate == rate and enhanced.shape == wanted.shape
    assert snr(enhanced, wanted) > least
    assert snr(enhanced[1:], wanted[:-1]) < snr(enhanced, wanted) - 10


@pytest.mark.parametrize("strength", [0.0, 6.0, 20.0])
def test_file_strength_mixes_as_python(enhance_in_page, strength):
    wav = to_wav(STEREO, SAMPLE_RATE, "FLOAT")
    wanted = qse.denoise(STEREO, SAMPLE_RATE, "live-tiny", strength)
    np.testing.assert_allclose(
        enhance_in_page(wav, "live-tiny", strength)[0], wanted, rtol=0, atol=1e-6
    )


@pytest.mark.parametrize(
    "form, subtype, step", [("pcm16", "PCM_16", 2**-15), ("pcm24", "PCM_24", 2**-23)]
)
def test_file_download_formats(enhance_in_page, form, subtype, step):
    wav = to_wav(STEREO, SAMPLE_RATE, subtype)
    wanted, _ = enhance_in_page(wav, "live-tiny")
    found, _ = enhance_in_page(wav, "live-tiny", None, form)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=0.51 * step)


@pytest.mark.parametrize("seconds", [0.001, 0.0125, 0.5])
def test_file_output_of_short_recordings(enhance_in_page, seconds):
    noisy = noisy_voice()[: int(seconds * SAMPLE_RATE)]
    enhanced, _ = enhance_in_page(to_wav(noisy, SAMPLE_RATE, "FLOAT"), "live-tiny")
    np.testing.assert_allclose(
        enhanced, qse.denoise(noisy, SAMPLE_RATE, "live-tiny"), rtol=0, atol=1e-6
    )


def all_done(page) -> None:
    wait(page, "[...document.querySelectorAll('.file progress')].every((bar) => bar.hidden)")


def test_page_enhances_dropped_files(page, tmp_path):
    """Two files at once: progress, playback, the switch, a limit, and a download in the original's
    format."""
    for number, audio in enumerate((noisy_voice(), STEREO)):
        soundfile.write(tmp_path / f"voice {number}.wav", audio, SAMPLE_RATE, subtype="PCM_16")
    page.set_input_files("#file-input", sorted(tmp_path.glob("*.wav")))
    all_done(page)
    assert "stereo" in page.locator(".file-state").nth(1).inner_text()
    assert page.locator("#listen-name").inner_text() == "voice 0.wav"
    page.click("#play")
    wait(page, "Number(document.getElementById('seek').value) > 0.3")
    page.get_by_text("Original", exact=True).first.click()
    assert page.locator("#picture-noisy").get_attribute("class") == "playing"
    page.click("#play")
    page.locator("#strength").fill("12")
    assert page.locator("#strength-text").inner_text() == "12 dB"
    with page.expect_download() as download:
        page.locator(".file").nth(1).get_by_text("Download").click()
    assert download.value.suggested_filename == "voice 1-enhanced.wav"
    found = soundfile.read(download.value.path(), dtype="float32")[0]
    assert soundfile.info(download.value.path()).subtype == "PCM_16"
    noisy = soundfile.read(tmp_path / "voice 1.wav", dtype="float32")[0]
    np.testing.assert_allclose(
        found, qse.denoise(noisy, SAMPLE_RATE, "studio-base", 12), rtol=0, atol=0.51 / 32768
    )


def test_page_enhances_again_with_another_model(page, tmp_path):
    soundfile.write(tmp_path / "voice.wav", noisy_voice(), SAMPLE_RATE)
    page.set_input_files("#file-input", tmp_path / "voice.wav")
    page.select_option("#model", "live-tiny")
    wait(
        page, "document.querySelector('.file-state').textContent.includes('cleaned with live-tiny')"
    )


WRONG = {
    "empty.wav": (b"", "is empty"),
    "notes.txt": (b"no sound at all", "is no sound file that this browser can decode"),
    "cut.wav": (to_wav(noisy_voice(), SAMPLE_RATE)[:-1000], "is cut short"),
    "silent.wav": (to_wav(noisy_voice()[:0], SAMPLE_RATE), "holds no samples"),
    "header.wav": (b"RIFF\x24\0\0\0WAVE", "is a damaged WAV file"),
    "nan.wav": (
        to_wav(np.full(100, np.nan, np.float32), SAMPLE_RATE, "FLOAT"),
        "samples that are not numbers",
    ),
    "integers.wav": (
        to_wav(np.full(100, 20000, np.float32), SAMPLE_RATE, "FLOAT"),
        "far above full scale",
    ),
}


def test_page_enhances_again_with_another_bandwidth(page, tmp_path):
    """Only what has more than 8 kHz is cleaned again."""
    soundfile.write(tmp_path / "a.wav", full_band_voice(), FULL_BAND)
    soundfile.write(tmp_path / "b.wav", noisy_voice(), SAMPLE_RATE)
    page.select_option("#model", "live-tiny")
    page.set_input_files("#file-input", [tmp_path / "a.wav", tmp_path / "b.wav"])
    states = page.locator(".file-state")
    all_done(page)
    before = states.all_inner_texts()
    assert "cleaned with live-tiny, " in before[0] and "cleaned with live-tiny, " in before[1]
    page.select_option("#band", "wide")
    state = "document.querySelector('.file-state').textContent"
    wait(page, f"{state}.includes('cleaned with live-tiny up to 8 kHz')")
    assert states.nth(1).inner_text() == before[1]


def test_page_says_what_is_wrong_with_files(page, tmp_path):
    for name, (content, _) in WRONG.items():
        (tmp_path / name).write_bytes(content)
    page.set_input_files("#file-input", [tmp_path / name for name in WRONG])
    all_done(page)
    for place, (name, (_, words)) in enumerate(WRONG.items()):
        said = page.locator(".file.failed .file-state").nth(place).inner_text()
        assert said.startswith(name) and words in said
        assert page.locator(".file").nth(place).get_by_text("Download").is_hidden()


def test_page_says_that_a_file_is_damaged(page, tmp_path):
    """Clean what can be decoded, and say how much is missing."""
    content = to_wav(noisy_voice(3), SAMPLE_RATE, "PCM_16", "FLAC")
    (tmp_path / "cut.flac").write_bytes(content[: len(content) * 2 // 3])
    page.select_option("#model", "live-tiny")
    page.set_input_files("#file-input", tmp_path / "cut.flac")
    all_done(page)
    said = page.locator(".file-state").inner_text()
    assert "cleaned" in said and "the file is damaged, 1" in said and "s of it are missing" in said


def test_page_reads_files_with_names_of_javascript(page, tmp_path):
    for name in ("__proto__", "toString"):
        (tmp_path / name).write_bytes(to_wav(noisy_voice(1), SAMPLE_RATE))
    page.select_option("#model", "live-tiny")
    page.set_input_files("#file-input", [tmp_path / "__proto__", tmp_path / "toString"])
    all_done(page)
    for said in page.locator(".file-state").all_inner_texts():
        assert said.startswith("0:01") and "cleaned with live-tiny" in said


@needs_ffmpeg
def test_page_says_what_it_does_not_read(page, tmp_path):
    """A file that was joined to another one, and the other sound tracks."""
    content = to_wav(noisy_voice(1), SAMPLE_RATE, "VORBIS", "OGG")
    (tmp_path / "joined.ogg").write_bytes(2 * content)
    (tmp_path / "one.ogg").write_bytes(content)
    one = str(tmp_path / "one.ogg")
    ffmpeg("-i", one, "-i", one, "-map", "0", "-map", "1", str(tmp_path / "two.mka"))
    page.select_option("#model", "live-tiny")
    names = ("one.ogg", "joined.ogg", "two.mka")
    page.set_input_files("#file-input", [tmp_path / name for name in names])
    all_done(page)
    plain, joined, tracks = page.locator(".file-state").all_inner_texts()
    assert "several files" not in plain and "tracks" not in plain
    assert "of several files that were joined to this one, only the first" in joined
    assert "one of its 2 sound tracks" in tracks


def test_page_downloads_although_the_original_is_gone(page, tmp_path):
    """The cleaned sound does not need it, and a message goes when its reason has gone."""
    path = tmp_path / "voice.wav"
    soundfile.write(path, noisy_voice(1), SAMPLE_RATE)
    page.select_option("#model", "live-tiny")
    page.set_input_files("#file-input", path)
    all_done(page)
    said = page.locator(".file-state").inner_text()
    wait(page, "!document.getElementById('listen').hidden")
    path.rename(tmp_path / "moved.wav")
    with page.expect_download():
        page.click(".file-actions .soft")
    page.locator("#strength").fill("12")
    page.click(".file-actions .soft")
    wait(page, "document.querySelector('.file-state').textContent.includes('has failed')")
    assert "voice.wav cannot be read: it was moved" in page.locator(".file-state").inner_text()
    page.locator("#strength").fill("41")
    with page.expect_download():
        page.click(".file-actions .soft")
    assert page.locator(".file-state").inner_text() == said


def test_page_says_that_a_recording_cannot_be_read(page, tmp_path):
    """As where the file has changed, or where a private window has no room left."""
    page.evaluate("""async () => {
      const { RemoteWorker } = await import("/rpc.js");
      const { call } = RemoteWorker.prototype;
      const broken = new Error("The requested file could not be read");
      broken.kind = "NotReadableError";
      RemoteWorker.prototype.call = function (method, ...rest) {
        return method === "enhanceFile" ? Promise.reject(broken) : call.call(this, method, ...rest);
      };
    }""")
    soundfile.write(tmp_path / "voice.wav", noisy_voice(1), SAMPLE_RATE)
    page.set_input_files("#file-input", tmp_path / "voice.wav")
    wait(page, "document.querySelector('.file.failed') !== null")
    assert (
        page.locator(".file-state")
        .inner_text()
        .startswith("voice.wav cannot be read: it was moved or changed")
    )
