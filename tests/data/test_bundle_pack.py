"""Packing speech and noise as parts of limited size."""

import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import soundfile
from made_bundles import SMALL, bundle, folders

from qse.audio.held_folder import HeldFolder
from qse.data import bundle_pack
from qse.data.bandwidth import bandwidth
from qse.data.bundle_pack import pack
from qse.data.bundle_part import BundlePart
from qse.errors import QseError, UsageError
from qse.export.streaming import speech_like


@pytest.fixture(scope="module")
def audio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audio")
    folders(folder)
    return folder


def recordings(parts: list[Path]) -> dict[tuple[str, str], tuple[str, np.ndarray, float]]:
    """Return group, samples and bandwidth of every recording, by kind and name."""
    found = {}
    for path in parts:
        with BundlePart(path) as part:
            for number, shard in enumerate(part.index.shards):
                samples = part.audio(number)
                for one in shard.recordings:
                    key = (shard.kind, one.name)
                    assert key not in found
                    cut = samples[one.start : one.start + one.samples]
                    found[key] = (one.group, cut, one.bandwidth, shard.sample_rate)
    return found


def test_parts_hold_every_recording_once(audio, tmp_path):
    parts = bundle(audio, tmp_path)
    assert len(parts) > 2
    assert [path.name for path in parts] == [f"part-{n:03d}.zip" for n in range(len(parts))]
    assert all(path.stat().st_size <= SMALL.size for path in parts)
    found = recordings(parts)
    assert len(found) == 72
    for (kind, name), (group, coded, _, rate) in found.items():
        place = Path(name)
        assert place.parts[0] == kind and group == str(place.parent)
        clean, _ = soundfile.read(audio / name, dtype="int16")
        assert coded.shape == clean.shape and rate == 16000
        error = clean.astype(float) - coded
        assert kind == "noise" or 10 * np.log10(np.var(clean) / np.var(error)) > 8


def test_each_part_is_useful_alone(audio, tmp_path):
    for path in bundle(audio, tmp_path):
        with BundlePart(path) as part:
            assert {shard.kind for shard in part.index.shards} == {"speech", "noise"}
            assert part.index.hours("speech") > 0 and part.index.hours("noise") > 0


def test_order_is_random_and_by_the_seed(audio, tmp_path):
    def first(name, seed):
        parts = bundle(audio, tmp_path / name, replace(SMALL, seed=seed))
        return list(recordings(parts[:1]))

    assert first("a", 0) == first("b", 0)
    assert first("a", 0) != first("c", 1)


def test_long_recordings_come_in_pieces(tmp_path):
    folders(tmp_path, count=2)
    long = speech_like(16000 * 20 + 5, 16000, 0)
    soundfile.write(tmp_path / "speech/long.wav", long, 16000)
    parts = bundle(tmp_path, tmp_path / "parts")
    found = recordings(parts)
    pieces = sorted(key for key in found if "long" in key[1])
    pieces.sort(key=lambda key: int(key[1].partition("#")[2]))
    assert len(pieces) == 33  # of 30,000 / 8 bytes at 48 kbit/s at most
    joined = np.concatenate([found[key][1] for key in pieces])
    assert joined.shape == long.shape
    assert np.corrcoef(joined, long)[0, 1] > 0.9


def test_full_band_recordings_keep_their_rate_and_bandwidth(tmp_path):
    """Of three at 44.1 kHz, one reaches 18.5 kHz."""
    rng = np.random.default_rng(0)
    white = 0.1 * rng.standard_normal(44100)
    spectrum = np.fft.rfft(white)
    spectrum[10000:] = 0  # of 1 s: 10 kHz
    low = np.fft.irfft(spectrum, 44100)
    for name, samples in (("wide", low), ("full", white)):
        for kind in ("speech", "noise"):
            (tmp_path / kind).mkdir(exist_ok=True)
            soundfile.write(tmp_path / kind / f"{name}.wav", samples, 44100)
    found = recordings(bundle(tmp_path, tmp_path / "parts", replace(SMALL, size=100_000)))
    _, coded, reach, rate = found["speech", "speech/full.wav"]
    assert rate == 48000 and len(coded) == 48000 and reach > 20000
    assert bandwidth(coded, 48000) > 18500
    _, coded, reach, rate = found["noise", "noise/wide.wav"]
    assert rate == 16000 and len(coded) == 16000 and reach == pytest.approx(10000, abs=600)


def test_folders_of_one_name_stay_apart(tmp_path):
    for name in ("a", "b"):
        folders(tmp_path / name, count=1)
    speech = [tmp_path / name / "speech" for name in ("a", "b")]
    pack(speech, [tmp_path / "a/noise"], tmp_path / "parts", SMALL)
    found = recordings(sorted((tmp_path / "parts").glob("*.zip")))
    groups = {group for (kind, _), (group, *_) in found.items() if kind == "speech"}
    assert groups == {"speech/p0", "speech-2/p0"}


class Interrupted(Exception):
    pass


def test_interrupted_packing_continues(audio, tmp_path, monkeypatch):
    whole = bundle(audio, tmp_path / "whole")
    write = bundle_pack.bundle_part.write

    def third_fails(path, *arguments, **source):
        if path.name == "part-002.zip":
            raise Interrupted
        write(path, *arguments, **source)

    with monkeypatch.context() as patch:
        patch.setattr(bundle_pack.bundle_part, "write", third_fails)
        with pytest.raises(Interrupted):
            bundle(audio, tmp_path / "parts")
    there = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").glob("*")}
    assert len(there) == 2
    parts = bundle(audio, tmp_path / "parts")
    assert [path.stat().st_mtime_ns for path in parts[:2]] == [there[path] for path in parts[:2]]
    for one, other in zip(parts, whole, strict=True):  # but for the serial numbers of Ogg
        assert list(recordings([one])) == list(recordings([other]))
    packed = pack([audio / "speech"], [audio / "noise"], tmp_path / "parts", SMALL)
    assert packed.written == []


def test_parts_of_another_bundle_are_kept(audio, tmp_path):
    parts = bundle(audio, tmp_path)
    before = [path.read_bytes() for path in parts]
    other = replace(SMALL, seed=1)
    with pytest.raises(UsageError, match="holds parts of other recordings"):
        bundle(audio, tmp_path, other)
    assert [path.read_bytes() for path in parts] == before
    bundle(audio, tmp_path, other, overwrite=True)
    assert parts[0].read_bytes() != before[0]


@pytest.mark.parametrize("failing", ["part-000.zip", "part-002.zip"])
def test_interrupted_replacement_keeps_the_former_parts(audio, tmp_path, monkeypatch, failing):
    parts = bundle(audio, tmp_path)
    before = {path: path.read_bytes() for path in parts}
    write = bundle_pack.bundle_part.write

    def interrupted(path, *arguments, **source):
        if path.name.endswith(failing):
            raise Interrupted
        write(path, *arguments, **source)

    with monkeypatch.context() as patch:
        patch.setattr(bundle_pack.bundle_part, "write", interrupted)
        with pytest.raises(Interrupted):
            bundle(audio, tmp_path, replace(SMALL, seed=1), overwrite=True)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert bundle(audio, tmp_path) == parts


def same_parts(parts, others):
    for one, other in zip(parts, others, strict=True):
        assert list(recordings([one])) == list(recordings([other]))


def test_replacement_that_has_begun_is_finished(audio, tmp_path, monkeypatch):
    """Half of the parts would be of no use."""
    bundle(audio, tmp_path / "parts")
    wanted = bundle(audio, tmp_path / "whole", replace(SMALL, seed=1))
    move = HeldFolder.replace
    moved = []

    def interrupted(self, name, to):
        move(self, name, to)
        if name.startswith(bundle_pack.NEW + "part-"):
            moved.append(to)
        if len(moved) == 2:
            raise Interrupted

    monkeypatch.setattr(HeldFolder, "replace", interrupted)
    with pytest.raises(Interrupted):
        bundle(audio, tmp_path / "parts", replace(SMALL, seed=1), overwrite=True)
    same_parts(sorted((tmp_path / "parts").iterdir()), wanted)
    assert len(moved) > 2


@pytest.mark.skipif(os.name == "nt", reason="a process of Windows cannot send itself Ctrl-C")
def test_replacement_is_finished_after_two_signals(audio, tmp_path, monkeypatch):
    bundle(audio, tmp_path / "parts")
    wanted = bundle(audio, tmp_path / "whole", replace(SMALL, seed=1))
    move = HeldFolder.replace
    sent = []

    def interrupted(self, name, to):
        move(self, name, to)
        if name.startswith(bundle_pack.NEW + "part-") and len(sent) < 2:
            sent.append(to)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(HeldFolder, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bundle(audio, tmp_path / "parts", replace(SMALL, seed=1), overwrite=True)
    same_parts(sorted((tmp_path / "parts").iterdir()), wanted)


def test_replacement_leaves_the_new_parts_alone(audio, tmp_path):
    """Neither former ones with higher numbers, nor what a killed packing left."""
    there = tmp_path / "parts"
    former = bundle(audio, there)
    (there / ".qse-part-001.zip").write_text("of a killed packing")
    large = replace(SMALL, size=2 * SMALL.size)
    packed = pack([audio / "speech"], [audio / "noise"], there, large, overwrite=True)
    parts = sorted(there.iterdir())
    assert [path for path, _ in packed.written] == parts == former[: len(parts)]
    assert len(parts) < len(former)
    whole = bundle(audio, tmp_path / "whole", large)
    same_parts(parts, whole)


def test_replacement_with_unreadable_recordings_keeps_the_former_parts(tmp_path):
    folders(tmp_path, count=2)
    parts = bundle(tmp_path, tmp_path / "parts")
    before = [path.read_bytes() for path in parts]
    for path in tmp_path.rglob("*.wav"):
        path.write_text("no audio")
    with pytest.raises(QseError, match="skip_unreadable=True"):
        bundle(tmp_path, tmp_path / "parts", overwrite=True)
    assert bundle(tmp_path, tmp_path / "parts", overwrite=True, skip=True) == parts
    assert [path.read_bytes() for path in parts] == before


def test_foreign_file_is_never_removed(audio, tmp_path):
    (tmp_path / "part-000.zip").write_text("mine")
    with pytest.raises(UsageError, match="no part of a bundle"):
        bundle(audio, tmp_path, overwrite=True)
    assert (tmp_path / "part-000.zip").read_text() == "mine"


def test_unreadable_recordings_are_named(audio, tmp_path):
    folders(tmp_path, count=2)
    (tmp_path / "speech/bad.wav").write_text("no audio")
    with pytest.raises(QseError, match=r"bad.wav.*skip_unreadable=True"):
        bundle(tmp_path, tmp_path / "parts")
    arguments = ([tmp_path / "speech"], [tmp_path / "noise"], tmp_path / "parts", SMALL)
    packed = pack(*arguments, skip=True)
    assert len(packed.faults) == 1 and "bad.wav" in packed.faults[0]
    assert len(recordings(sorted((tmp_path / "parts").glob("*.zip")))) == 4


@pytest.mark.skipif(sys.platform != "linux", reason="names are Unicode elsewhere")
def test_names_that_no_part_can_store_are_named(audio, tmp_path):
    folders(tmp_path, count=2)
    other = os.fsencode(tmp_path / "speech") + b"/n\xff.wav"
    shutil.copy(next((tmp_path / "speech").rglob("*.wav")), other)
    arguments = ([tmp_path / "speech"], [tmp_path / "noise"], tmp_path / "parts", SMALL)
    packed = pack(*arguments, skip=True)
    assert len(packed.faults) == 1 and "its name is not UTF-8: rename it" in packed.faults[0]


def test_parts_may_not_be_too_small(audio, tmp_path):
    with pytest.raises(UsageError, match="too small"):
        bundle(audio, tmp_path, replace(SMALL, size=1000))
