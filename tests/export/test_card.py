"""The card of a model: rows and paragraphs by what is known of it."""

import shutil
import subprocess
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from qse.export.card import Card, CardOptions
from qse.export.cost import HopCost, ModelCost
from qse.printable import printable
from qse.train.recipe import RunConfig

HEADER = {"step": "400", "heard": str(16000 * 7200), "seconds": "5400"}
COST = ModelCost(0.05, 12345, 2.5e9, HopCost(0.0002, 0.0004, 2048, length=0.002, delay=0.004))


@pytest.fixture
def card(network):
    return Card("tiny", network, RunConfig(), HEADER, {16000: COST}, CardOptions())


def test_card_of_a_streaming_model(card):
    text = card.text()
    assert text.startswith("# tiny\n\nStreaming speech enhancement: one channel")
    assert "| algorithmic latency | 4 ms (hop 2 ms) |" in text and "| parameters | 12,345 |" in text
    assert (
        "| multiply-accumulates | 2.50 G per second of audio |" in text
        and "| state | 2 KiB |" in text
    )
    assert (
        "| time per hop, one thread | p50 200 µs, p99 400 µs |" in text
        and "| RTF, one thread | 0.050 (" in text
    )
    assert (
        "| training | 400 steps, 1.5 h for 2.0 h of audio, seed " in text
        and "| licence | Apache-2.0 |" in text
    )
    assert not any(words in text for words in ("Validation pairs", "Trained on", "Known faults"))
    assert text.endswith(
        "\n\nTo train it again (`config.toml` lies beside this card):\n\n"
        "    qse train --recipe config.toml --speech SPEECH --noise NOISE --valid VALID --out RUN\n"
    )


def test_card_shows_texts_of_a_foreign_run_escaped(card):
    header = {**HEADER, "origin": "a\x1b", "options": "b\n\x07", "mean_with": "c\x9b\n# d\u202e"}
    text = replace(card, header=header).text()
    assert not set(text) & set("\x1b\x07\x9b\u202e")
    assert "b '\\x07' --out RUN" in text
    assert "; mean with the weights of c\\x9b\\n# d\\u202e |" in text


HARM = [
    "; touch harmed #",
    "$(touch harmed)",
    "`touch harmed`",
    "'; touch harmed '",
    "a\n touch harmed",
]


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
@pytest.mark.parametrize("text", [*HARM, '" & touch harmed', "> harmed", "\\\n; touch harmed"])
@pytest.mark.parametrize("key", ["origin", "options"])
def test_the_command_of_a_foreign_run_is_one_command(card, tmp_path, key, text):
    """A shell runs it with a function in the place of qse."""
    line = replace(card, header={**HEADER, key: f"--speech {text}"}).text().splitlines()[-1]
    arguments = 'qse() { for word in "$@"; do printf "%s\\0" "$word"; done; }\n'
    done = subprocess.run(["sh", "-c", arguments + line], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0 and not done.stderr and not list(tmp_path.iterdir())
    words = done.stdout.decode().split("\0")
    assert words[:3] == ["train", "--recipe", "config.toml"] and "--out" in words
    if key == "origin":
        assert words[-2] == printable(f"--speech {text}")


def test_options_of_any_length_are_not_in_the_card(card):
    text = replace(
        card, header={key: "a b " * 10000 for key in ("origin", "options")} | HEADER
    ).text()
    assert len(text) < 20000 and " --speech SPEECH --noise NOISE --valid VALID --out RUN" in text


def test_card_of_an_offline_model(card, offline_network):
    text = replace(card, network=offline_network, costs={16000: ModelCost(0.5, 1, 1e9)}).text()
    assert (
        "\n\nSpeech enhancement: " in text and "| algorithmic latency | whole recordings |" in text
    )
    assert "| state |" not in text and "time per hop" not in text


def test_card_names_skipped_steps_origin_and_mean(card):
    header = {
        **HEADER,
        "skipped": "3",
        "origin": "tiny",
        "mean_with": "run2",
        "options": "--noise N",
    }
    text = replace(card, header=header).text()
    assert "400 steps (3 left out) after those of tiny, in all 1.5 h" in text
    assert "; mean with the weights of run2 |" in text
    assert "Its last run, which began with the release before this one (" in text
    assert "    qse train --recipe config.toml --noise N --out RUN --from tiny\n" in text


def test_card_gives_scores_data_and_faults(card):
    scores = {"pesq_wb": "2.3456", "stoi": 0.91234, "si_sdr": 12.345}
    options = CardOptions("7 h of speech.", "It cuts whispers.", "CC0-1.0")
    text = replace(card, scores=scores, options=options).text()
    assert "Validation pairs, mean: WB-PESQ 2.346, STOI 0.9123, SI-SDR dB 12.35" in text.replace(
        "12.34", "12.35"
    )
    assert "\n\nTrained on 7 h of speech.\n\nKnown faults: It cuts whispers.\n\n" in text
    assert "| licence | CC0-1.0 |" in text
