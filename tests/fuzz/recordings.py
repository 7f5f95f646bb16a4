"""Recordings of every format whose losses must be said: with tags before and behind the sound, as
recorders and programs write them."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import soundfile
from audio_files import CONTAINER
from tagged_files import with_chunks

SAMPLE_RATE = 16_000
SECONDS = 4.0
OF_LIBSNDFILE = {  # suffix: codings
    "wav": ("PCM_16", "FLOAT", "ULAW", "IMA_ADPCM", "MS_ADPCM", "GSM610"),
    "w64": ("PCM_16", "MS_ADPCM"),
    "rf64": ("PCM_16",),
    "aiff": ("PCM_16",),
    "aifc": ("ULAW", "IMA_ADPCM", "GSM610"),
    "au": ("PCM_16",),
    "caf": ("PCM_16", "ALAC_16"),
    "flac": ("PCM_16",),
    "ogg": ("VORBIS",),
    "opus": ("OPUS",),
    "mp3": ("MPEG_LAYER_III",),
}
VIDEO = ("-f", "lavfi", "-i", f"color=s=16x16:r=5:d={SECONDS}")
OF_FFMPEG = {  # name: options
    "info.mp3": ("-b:a", "64k"),
    "without-info.mp3": ("-b:a", "64k", "-write_xing", "0"),
    "frames.aac": ("-c:a", "aac"),
    "frames.mp2": ("-c:a", "mp2"),
    "padded.flac": (),
    "tables-behind.m4a": ("-c:a", "aac"),
    "tables-in-front.m4a": ("-c:a", "aac", "-movflags", "+faststart"),
    "fragments.m4a": ("-c:a", "aac", "-movflags", "frag_keyframe+empty_moov"),
    "lossless.m4a": ("-c:a", "alac"),
    "lossless.mka": ("-c:a", "flac"),
    "opus.webm": ("-c:a", "libopus"),
    "picture.mp4": (*VIDEO, "-c:a", "aac"),
    "picture.mkv": (*VIDEO, "-c:a", "aac"),
}
TAG = b"ID3\4" + bytes(4) + b"\x3f\x76" + bytes(0x3F << 7 | 0x76)  # ID3 without frames, padded
TAGGED = ("frames.aac", "frames.mp2")  # of which ffmpeg writes no tags


def recordings(folder: Path) -> list[Path]:
    """Write noise, of which no part resembles another, in all formats; those of ffmpeg only where
    it is installed."""
    sound = _noise()
    made = []
    for suffix, codings in OF_LIBSNDFILE.items():
        for coding in codings:
            path = folder / f"{coding}.{suffix}"
            soundfile.write(path, sound, SAMPLE_RATE, coding, format=CONTAINER.get(suffix))
            made.append(path)
    for suffix in ("wav", "aiff"):
        path = folder / f"tagged.{suffix}"
        soundfile.write(path, sound, SAMPLE_RATE)
        made.append(with_chunks(path, [(b"bext", bytes(602))], [(b"ID3 ", TAG)]))
    if shutil.which("ffmpeg"):
        for name, options in OF_FFMPEG.items():
            made.append(_encoded(folder / "PCM_16.wav", folder / name, options))
    return made


def _noise() -> np.ndarray:
    """Return noise between 0.2 and 3 kHz, which every coding keeps."""
    samples = round(SECONDS * SAMPLE_RATE)
    bins = np.fft.rfft(np.random.default_rng(0).standard_normal(samples))
    frequencies = np.fft.rfftfreq(samples, 1 / SAMPLE_RATE)
    bins[(frequencies < 200) | (frequencies > 3000)] = 0
    sound = np.fft.irfft(bins, samples)
    return (0.3 / np.abs(sound).max() * sound).astype(np.float32)


def _encoded(wav: Path, path: Path, options: tuple[str, ...]) -> Path:
    picture = options[: len(VIDEO)] if options[:1] == VIDEO[:1] else ()
    coding = (*options[len(picture) :], "-metadata", "title=a title", "-metadata", "artist=someone")
    line = ["ffmpeg", "-v", "error", "-i", wav, *picture, *coding, "-y", path]
    subprocess.run(list(map(str, line)), check=True, stdin=subprocess.DEVNULL)
    if path.name in TAGGED:
        path.write_bytes(TAG + path.read_bytes())
    return path
