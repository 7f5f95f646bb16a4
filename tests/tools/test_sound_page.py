"""The page of sounds: every file that it names is there, and holds the whole recording."""

import re

import pytest
import sound_page
import soundfile


def test_page_names_whole_sounds_and_pictures(tmp_path):
    sound_page.main(["--to", str(tmp_path), "--models", "live-tiny"])
    page = (tmp_path / "index.html").read_text()
    files = set(re.findall(r'src="([^"]+)"', page))
    assert files == {"noisy.ogg", "noisy.png", "live-tiny.ogg", "live-tiny.png"}
    seconds = soundfile.info(sound_page.NOISY).duration
    for name in files:
        if name.endswith(".ogg"):
            found = soundfile.info(tmp_path / name)
            assert found.samplerate == 48000
            assert found.duration == pytest.approx(seconds, abs=0.01)
        else:
            assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_page_of_the_checkout_shows_every_installed_model():
    folder = sound_page.NOISY.parents[1] / "examples/sounds"
    page = (folder / "index.html").read_text()
    for name in ("noisy", *sound_page.ORDER):
        assert f'src="{name}.ogg"' in page and (folder / f"{name}.ogg").is_file()
