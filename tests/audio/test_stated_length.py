"""Sound that is missing from files of other containers, of which ffmpeg calls nothing an error."""

import pytest
from tagged_files import ffmpeg, needs_ffmpeg, wav

from qse.audio.reader import open_audio
from qse.errors import QseError

pytestmark = needs_ffmpeg
FORMS = {
    "avi": ("-c:a", "pcm_s16le"),
    "flv": ("-ar", 44100, "-c:a", "mp3"),
    "sox": (),
    "ts": ("-c:a", "mp2"),
}


def outcome(path) -> tuple[int, str]:
    """Return the samples that are read, and what is said of damage or the reason of a refusal."""
    try:
        with open_audio(path) as file:
            samples = sum(map(len, file.blocks()))
            return samples, file.damage or ""
    except QseError as error:
        return 0, str(error)


@pytest.fixture(params=FORMS)
def path(here, request):
    ffmpeg("-i", wav(here / "s.wav"), *FORMS[request.param], f"a.{request.param}")
    return here / f"a.{request.param}"


def test_whole_file_is_read_without_a_word(path):
    samples, said = outcome(path)
    assert samples and not said


@pytest.mark.parametrize("path", ["avi", "flv", "sox"], indirect=True)
def test_cut_file(path):
    whole = outcome(path)[0]
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    samples, said = outcome(path)
    assert samples < whole and said


@pytest.mark.parametrize("path", ["avi", "sox"], indirect=True)
def test_file_without_some_bytes(path):
    whole = outcome(path)[0]
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + data[len(data) // 2 + 6000 :])
    samples, said = outcome(path)
    assert samples < whole and said
