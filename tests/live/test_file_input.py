"""A file in place of the microphone, paced by the clock."""

from types import SimpleNamespace

import numpy as np
import pytest
import soundfile
from live_streams import noise

from qse.errors import QseError
from qse.live import file_input as files
from qse.live.file_input import FileInput


def test_file_input_paces_blocks(tmp_path, monkeypatch):
    soundfile.write(tmp_path / "noisy.wav", noise(16000), 16000)
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(files, "monotonic", lambda: clock.now)
    source = FileInput(tmp_path / "noisy.wav", buffer=0.01)
    came = []
    source._stopped.wait = lambda seconds: setattr(clock, "now", clock.now + seconds)
    for k, _ in enumerate(source.blocks()):
        came.append(clock.now - 100)
        clock.now += {10: 0.019, 30: 0.021, 31: 0.5}.get(k, 0.002)
    due = 0.01 * np.arange(1, 101)
    np.testing.assert_allclose(came[:11], due[:11], atol=1e-9)
    np.testing.assert_allclose(np.array(came[32:]) - due[32:], 0.011 + 0.49, atol=1e-9)
    assert source.dropouts == 2


def test_a_file_that_was_exchanged_before_it_is_read_is_refused(tmp_path):
    """Its samples would be written at the sample rate of the former one."""
    path = tmp_path / "noisy.wav"
    soundfile.write(path, noise(16000), 16000)
    source = FileInput(path, paced=False)
    soundfile.write(tmp_path / "other.wav", noise(48000), 48000)
    (tmp_path / "other.wav").replace(path)
    with pytest.raises(QseError, match="was written by another program while it was read"):
        next(source.blocks())


def test_a_file_that_is_stopped_before_its_end_is_said(tmp_path):
    soundfile.write(tmp_path / "noisy.wav", noise(16000), 16000)
    source = FileInput(tmp_path / "noisy.wav", 1600, paced=False)
    blocks = source.blocks()
    next(blocks)
    source.stop()
    assert not list(blocks)
    assert source.damage.endswith("noisy.wav was read up to 0.10 s, where it was stopped")


@pytest.mark.parametrize("then", ["stays", "moved", "removed"])
def test_a_file_that_grows_meanwhile_is_said(tmp_path, then):
    path = tmp_path / "noisy.wav"
    soundfile.write(path, noise(16000), 16000)
    source = FileInput(path, paced=False)
    blocks = source.blocks()
    next(blocks)
    with path.open("ab") as file:
        file.write(bytes(1000))
    if then == "moved":
        path.rename(tmp_path / "done.wav")
    if then == "removed":
        path.unlink()
    assert sum(map(len, blocks)) > 15000
    assert "noisy.wav was written by another program while it was read" in source.damage
