"""Measure whether enhancement helps a speech recogniser: its word error rate before and after.

    pip install pocketsphinx faster-whisper
    python tools/measure_wer.py MANIFEST.jsonl --noise FOLDER --snr 0 5 10 --limits 6 12 18

MANIFEST.jsonl has one JSON object a line, with `audio_filepath` and `text`, at 16 kHz. FOLDER has
one sub-folder per class of noise. Each utterance is mixed with one recording of noise at each SNR.
The recogniser is pocketsphinx with the English model that it brings, or with --whisper a Whisper
model, by name or folder. Prints a Markdown table: errors per 100 words, and for each condition the
difference to noisy speech with its 95 % interval (bootstrap over utterances, paired).
"""

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import soundfile

import qse

RATE = 16000
Recogniser = Callable[[np.ndarray], str]
Counts = dict[tuple[str, str], list[tuple[int, int]]]  # (SNR, condition): errors, words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--noise", type=Path, required=True)
    parser.add_argument("--snr", type=float, nargs="+", default=[0, 5, 10])
    parser.add_argument("--limits", type=float, nargs="*", default=[6, 12, 18])
    parser.add_argument("--model", default="live-base")
    parser.add_argument("--utterances", type=int, default=40)
    parser.add_argument("--whisper", help="a Whisper model, in place of pocketsphinx")
    options = parser.parse_args()
    engine = qse.load(options.model, flush_to_zero=True)
    recognise = whisper(options.whisper) if options.whisper else pocketsphinx()
    conditions: dict[str, float | None] = {"enhanced": None}
    for limit in options.limits:
        conditions[f"limit {limit:g} dB"] = limit

    counts: Counts = defaultdict(list)
    for speech, noise, words in utterances(options.manifest, options.noise, options.utterances):
        counts["clean", "speech"].append(errors(recognise, speech, words))
        for snr in options.snr:
            noisy = mixed(speech, noise, snr)
            counts[f"{snr:g} dB", "noisy"].append(errors(recognise, noisy, words))
            for name, limit in conditions.items():
                enhanced = qse.denoise(noisy, RATE, engine, limit)
                counts[f"{snr:g} dB", name].append(errors(recognise, enhanced, words))
        print(f"{len(counts['clean', 'speech'])} utterances", file=sys.stderr, flush=True)
    report(counts, list(conditions))


def utterances(
    manifest: Path, noises: Path, count: int
) -> Iterator[tuple[np.ndarray, np.ndarray, list[str]]]:
    """Yield (speech, noise, words) of `count` utterances, in a fixed random order."""
    rng = np.random.default_rng(0)
    entries = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]
    classes = sorted(path for path in noises.iterdir() if path.is_dir())
    for number in rng.permutation(len(entries))[:count]:
        speech = read(manifest.parent / entries[number]["audio_filepath"])
        folder = classes[rng.integers(len(classes))]
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        noise = read(files[rng.integers(len(files))])
        noise = np.resize(noise[noise.nonzero()[0][0] if noise.any() else 0 :], len(speech))
        yield speech, noise, words_of(entries[number]["text"])


def read(path: Path) -> np.ndarray:
    audio, rate = soundfile.read(path, dtype="float32", always_2d=True)
    if rate != RATE:
        import soxr

        audio = soxr.resample(audio, rate, RATE)
    return audio.mean(axis=1)


def pcm_16(audio: np.ndarray) -> bytes:
    return (32767 * audio).clip(-32768, 32767).astype(np.int16).tobytes()


def mixed(speech: np.ndarray, noise: np.ndarray, snr: float) -> np.ndarray:
    """Return speech with noise at `snr` dB, both by their mean power."""
    gain = np.sqrt(np.mean(speech**2) / (np.mean(noise**2) + 1e-12) / 10 ** (snr / 10))
    noisy = speech + gain * noise
    return (noisy * min(1.0, 0.99 / np.abs(noisy).max())).astype(np.float32)


def words_of(text: str) -> list[str]:
    return re.sub(r"[^a-z' ]", " ", text.lower()).split()


def pocketsphinx() -> Recogniser:
    from pocketsphinx import Config, Decoder

    # these limits make it three times as fast
    decoder = Decoder(Config(loglevel="FATAL", maxhmmpf=3000, maxwpf=5, topn=2))

    def recognise(audio: np.ndarray) -> str:
        decoder.start_utt()
        decoder.process_raw(pcm_16(audio), full_utt=True)
        decoder.end_utt()
        return re.sub(r"\(\d+\)", "", decoder.hyp().hypstr if decoder.hyp() else "")

    return recognise


def whisper(name: str) -> Recogniser:
    """Return Whisper with numbers spelt out.

    It decodes greedily, without loops: the same words at every run.
    """
    from faster_whisper import WhisperModel

    model = WhisperModel(name, device="cpu", compute_type="int8", cpu_threads=1)
    vocabulary = model.hf_tokenizer.get_vocab()
    end = model.hf_tokenizer.token_to_id("<|endoftext|>")
    digits = [token for text, token in vocabulary.items() if token < end and re.search(r"\d", text)]
    greedy = {
        "temperature": 0,
        "beam_size": 1,
        "no_repeat_ngram_size": 3,
        "without_timestamps": True,
    }

    def recognise(audio: np.ndarray) -> str:
        parts, _ = model.transcribe(audio, language="en", suppress_tokens=[-1, *digits], **greedy)
        return " ".join(part.text for part in parts)

    return recognise


def errors(recognise: Recogniser, audio: np.ndarray, words: list[str]) -> tuple[int, int]:
    """Return the number of substituted, deleted and inserted words, and of words."""
    return distance(words, words_of(recognise(audio))), len(words)


def distance(words: list[str], heard: list[str]) -> int:
    """Return the Levenshtein distance of two lists of words."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(words, 1):
        above = row
        row = [i]
        for j, other in enumerate(heard, 1):
            substituted = above[j - 1] + (word != other)
            row.append(min(above[j] + 1, row[j - 1] + 1, substituted))
    return row[-1]


def report(counts: Counts, names: list[str]) -> None:
    clean = np.array(counts["clean", "speech"])
    words = clean[:, 1].sum()
    print(f"\n{len(clean)} utterances, {words} words; clean speech: {rate(clean):.1f}\n")
    print("| SNR | noisy |", " | ".join(names), "|\n|---|---|" + "---|" * len(names))
    for snr in [row for row, name in counts if name == "noisy"]:
        noisy = np.array(counts[snr, "noisy"])
        cells = [cell(noisy, np.array(counts[snr, name])) for name in names]
        print(f"| {snr} | {rate(noisy):.1f} |", " | ".join(cells), "|")


def rate(table: np.ndarray) -> float:
    return 100 * table[:, 0].sum() / table[:, 1].sum()


def cell(noisy: np.ndarray, enhanced: np.ndarray) -> str:
    rng = np.random.default_rng(0)
    picks = rng.integers(len(noisy), size=(2000, len(noisy)))
    differences = [rate(enhanced[pick]) - rate(noisy[pick]) for pick in picks]
    low, high = np.percentile(differences, [2.5, 97.5])
    return f"{rate(enhanced):.1f} ({rate(enhanced) - rate(noisy):+.1f}; {low:+.1f} to {high:+.1f})"


if __name__ == "__main__":
    main()
