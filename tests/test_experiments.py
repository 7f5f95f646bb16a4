"""The experiments: tasks solved again from their prompts, official file formats, and tiny runs through the door."""

import csv
import json
import random
import re

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse.errors import QseError
from qse.experiments import experiment
from qse.experiments.copy_task import BITS, CopyTask
from qse.experiments.networks.text import PairClassifier, TextAttention, TextClassifier, TextConfig
from qse.experiments.phm import rotation
from qse.experiments.reasoning import Reasoning, corpus, judge, loss_of
from qse.experiments.tasks import TASKS
from qse.experiments.words import Vocabulary, read_snli, read_sst2
from qse.nn.hamilton import HamiltonAttention, written_out_


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def last_of_chain(prompt: str) -> str:
    links, name = dict(re.findall(r"(\w)->(\w)", prompt)), prompt.rsplit(";", 1)[1][0]
    while name in links:
        name = links[name]
    return name


def order(prompt: str) -> str:
    facts, (a, b) = dict(re.findall(r"(\w)>(\w)", prompt)), re.findall(r"(\w)\?(\w)", prompt)[0]
    while a in facts:
        a = facts[a]
        if a == b:
            return ">"
    return "<"


def heading(prompt: str) -> str:
    at = sum({"N": 1j, "S": -1j, "E": 1, "W": -1}[step] for step in re.findall(r"go (\w)", prompt))
    north = "N" if at.imag > 0 else "S" if at.imag < 0 else ""
    return (north + ("E" if at.real > 0 else "W" if at.real < 0 else "")) or "0"


def solve_logic(prompt: str) -> str:
    true = re.findall(r"(\w)=T", prompt)
    return "FT"[{"AND": len(true) == 2, "OR": len(true) > 0, "XOR": len(true) == 1}[prompt.split()[1]]]


def solve_inverse(prompt: str) -> str:
    slope, offset, y = map(int, re.fullmatch(r"f\(x\)=(\d+)x\+(\d+);f-1\((\d+)\)", prompt).groups())
    return str((y - offset) // slope)


def solve_variables(prompt: str) -> str:
    start, step = re.fullmatch(r"(?:\w)=(\d+);(?:\w)=\w([+-]\d+);\w\?", prompt).groups()
    return str(int(start) + int(step))


SOLVERS = {
    "brackets": lambda p: str(max(p[:n].count("(") - p[:n].count(")") for n in range(len(p) + 1))),
    "variables": solve_variables,
    "logic": solve_logic,
    "arithmetic": lambda p: str(sum(map(int, p.split("+")))),
    "patterns": lambda p: next(
        p[len(p) - n] for n in range(2, 6) if all(a == b for a, b in zip(p, p[n:], strict=False))
    ),
    "relations": order,
    "spatial": heading,
    "transitivity": last_of_chain,
    "inverse": solve_inverse,
    "copy": lambda p: p,
}


@pytest.mark.parametrize("name", TASKS)
def test_an_answer_follows_from_its_prompt(name):
    source = random.Random(0)
    drawn = [TASKS[name](source) for _ in range(300)]
    assert all(SOLVERS[name](prompt) == answer for prompt, answer in drawn)
    assert len({answer for _, answer in drawn}) > 1
    if name == "brackets":
        assert all(prompt.count("(") == prompt.count(")") for prompt, _ in drawn)


def test_corpus_holds_the_lines_and_marks_the_answers():
    found = corpus(tuple(TASKS), 5, 48, seed=3)
    longest = (found.tokens != 0).sum(1).max()
    assert found.tokens.shape == (50, longest) and longest <= 48 and torch.bincount(found.task).tolist() == [5] * 10
    for tokens, answer, task in zip(found.tokens, found.answer, found.task, strict=True):
        line = bytes(tokens[tokens != 0].tolist()).decode("ascii")
        prompt, wanted = line.rsplit("=", 1)
        assert SOLVERS[found.names[task]](prompt) == wanted.rstrip("\n")
        assert bytes(tokens[answer].tolist()).decode("ascii") == wanted
    again, other = corpus(tuple(TASKS), 5, 48, seed=3), corpus(tuple(TASKS), 5, 48, seed=4)
    assert torch.equal(found.tokens, again.tokens) and not torch.equal(found.tokens, other.tokens)


class Oracle(torch.nn.Module):
    """Knows the next byte, but errs at the last byte of every answer of the first task."""

    def __init__(self, found):
        super().__init__()
        self.next = found.tokens[:, 1:].clone()
        end = found.answer[:, 1:].cumsum(1).argmax(1)
        self.next[found.task == 0, end[found.task == 0]] = 7

    def forward(self, tokens):
        return 50.0 * torch.nn.functional.one_hot(self.next, 256).float()


def test_exact_match_wants_every_byte_of_an_answer():
    found = corpus(("logic", "arithmetic"), 20, 32, seed=0)
    row = judge(Oracle(found), found)
    assert (row["logic"], row["arithmetic"], row["exact"]) == (0.0, 1.0, 0.5)


def test_loss_leaves_padding_out():
    tokens = torch.tensor([[65, 66, 67, 0, 0], [65, 66, 0, 0, 0]])
    logits = torch.randn(2, 4, 256)
    expected = -sum(logits[n, t].log_softmax(-1)[byte] for n, t, byte in ((0, 0, 66), (0, 1, 67), (1, 0, 66))) / 3
    torch.testing.assert_close(loss_of(lambda given: logits, tokens), expected)


def test_copy_task_shows_the_bits_then_waits_then_asks():
    x, bits = CopyTask(length=4, blanks=3).sequence(6, torch.Generator().manual_seed(0))
    assert x.shape == (6, 11, 12) and bits.shape == (6, 4, BITS)
    assert torch.equal(x[:, :4, :BITS], bits) and not x[:, 4:, :BITS].any()
    assert x[..., BITS].nonzero()[:, 1].tolist() == [6] * 6  # one delimiter, at the end of the blanks


def test_networks_of_the_copy_task_have_as_many_recurrent_weights():
    from qse.experiments.copy_task import Copier

    quaternion, real = Copier(256, "quaternion").rnn, Copier(128, "real").rnn
    assert quaternion.weight_hidden.numel() == real.weight_hidden.weight.numel() == 512 * 512


def test_rotation_turns_about_its_axis():
    matrix = rotation(torch.tensor([0.0, 0.0, 1.0]), torch.pi / 2)
    torch.testing.assert_close(matrix @ torch.tensor([1.0, 0.0, 5.0]), torch.tensor([0.0, 1.0, 5.0]))


@pytest.mark.parametrize("name", ["phm-rotation", "phm-hamilton"])
def test_phm_learns_what_its_paper_says(name, tmp_path):
    line = experiment(name, tmp_path, ["steps=600"])
    assert float(re.search(r"within (\S+) of", line)[1]) < 1e-2
    assert float(rows_of(tmp_path / f"{name}.csv")[-1]["loss"]) < 1e-4
    assert (tmp_path / f"{name}.png").stat().st_size > 1000


def test_copy_task_is_learned_by_both_networks(tmp_path):
    changes = ["hidden=64", "length=3", "blanks=2", "learning_rate=0.01", "steps=150", "target=0.3"]
    experiment("copy-task", tmp_path, changes)
    rows = rows_of(tmp_path / "copy-task.csv")
    for network in ("QRNN", "RNN"):
        losses = [float(row["loss"]) for row in rows if row["network"] == network]
        assert losses[0] > 0.6 and losses[-1] < 0.3


def test_reasoning_runs_every_arm(tmp_path):
    changes = ["width=0.1", "steps=2", "validations=1", "batch=2", "train_per_task=3", "valid_per_task=2"]
    experiment("reasoning", tmp_path, changes)
    rows = rows_of(tmp_path / "reasoning.csv")
    assert [row["arm"] for row in rows] == ["A0", "A1", "A2", "A3", "A4", "A5"]
    assert all(0 < float(row["loss"]) < 8 for row in rows)


def test_an_arm_that_diverges_does_not_end_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr("qse.experiments.reasoning.judge", lambda *_: {"loss": float("nan"), "exact": 0.0, "copy": 0.0})
    line = experiment("reasoning", tmp_path, ['arms=["A0","A3"]', "steps=2", "batch=2", "train_per_task=3"])
    assert line == "A0 loss nan, exact 0%; A3 loss nan, exact 0%"
    assert len(rows_of(tmp_path / "reasoning.csv")) == 2


def test_lines_longer_than_any_of_a_task_are_not_waited_for():
    with pytest.raises(QseError, match="length 16: too short for the task copy, a line of which has 22 bytes"):
        corpus(("copy",), 1, 16, 0)


def test_reasoning_full_is_the_paper_s_networks():
    full = Reasoning(**{key: value for key, value in Reasoning.FULL.items() if key != "seeds"})
    assert sum(parameter.numel() for parameter in full.network("A2").parameters()) == 812_928
    dropouts = ("scan_dropout", "gate_dropout", "feed_dropout", "embedding_dropout")  # Table 2
    assert [getattr(full.network("A2").config, name) for name in dropouts] == [0.2, 0.1, 0.1, 0.1]
    assert [getattr(Reasoning().network("A2").config, name) for name in dropouts] == [0] * 4
    assert len(full.tasks) == 9 and "copy" not in full.tasks


@pytest.fixture
def sst2(tmp_path):
    good, bad = "a fine and moving film", "dull , never funny"
    lines = ["sentence\tlabel", *(f"{text} {n}\t{label}" for n in range(12) for text, label in ((good, 1), (bad, 0)))]
    path = tmp_path / "train.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def snli(tmp_path):
    pairs = [("A man sleeps.", "A man is awake.", "contradiction"), ("A dog runs.", "An animal moves.", "entailment"),
             ("A girl sings.", "She is famous.", "neutral"), ("A boy eats.", "He likes it.", "-")]  # fmt: skip
    rows = [{"gold_label": label, "sentence1": a, "sentence2": b, "pairID": "1"} for a, b, label in pairs * 8]
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_sst2_is_read(sst2):
    texts, labels = read_sst2(sst2)
    assert (len(texts), texts[0], labels[:2]) == (24, "a fine and moving film 0", [1, 0])


def test_snli_is_read_without_pairs_that_nobody_agreed_on(snli):
    first, second, labels = read_snli(snli)
    assert (len(first), second[0], labels[:3]) == (24, "A man is awake.", [2, 0, 1])


@pytest.mark.parametrize("read, text", [(read_sst2, "text\tlabel\na\t1\n"), (read_sst2, "sentence\tlabel\na\t5\n"),
                                        (read_snli, '{"sentence1": "a"}\n'), (read_snli, "no JSON\n"),
                                        (read_sst2, ""), (read_snli, None)])  # fmt: skip
def test_another_file_is_one_sentence(read, text, tmp_path):
    path = tmp_path / "text.tsv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(QseError, match=r"text\.tsv"):
        read(path)


def test_vocabulary_keeps_the_frequent_words():
    words = Vocabulary(["the cat", "the dog sat", "The cat!"], 4)
    assert len(words) == 4
    assert words.encode(["the unknown cat", ""], 9).tolist() == [[2, 1, 3], [1, 0, 0]]


def test_sentiment_runs_on_its_format(sst2, tmp_path):
    changes = [f"train={sst2}", f"valid={sst2}", "dim=16", "feed=16", "heads=2", "layers=1", "epochs=6", "batch=8",
               "learning_rate=0.01"]  # fmt: skip
    experiment("sentiment", tmp_path, changes)
    rows = rows_of(tmp_path / "sentiment.csv")
    assert {row["arm"] for row in rows} == {"real", "partial", "full", "phm"}
    assert all(float(row["accuracy"]) == 1 for row in rows if row["epoch"] == "6")


def test_pairs_runs_on_its_format(snli, tmp_path):
    changes = [f"train={snli}", f"valid={snli}", "channels=4", "embedding=8", "epochs=12", "batch=8",
               "learning_rate=0.02"]  # fmt: skip
    experiment("pairs", tmp_path, changes)
    assert float(rows_of(tmp_path / "pairs.csv")[-1]["accuracy"]) == 1


@pytest.mark.parametrize("arm, thousands", [("real", 400), ("partial", 300), ("full", 100)])
def test_transformers_have_the_sizes_of_table_2(arm, thousands):
    with torch.device("meta"):
        layers = TextClassifier(TextConfig(arm), 8000, 2).layers
    assert sum(parameter.numel() for parameter in layers.parameters()) == pytest.approx(1000 * thousands, rel=0.03)


@pytest.mark.parametrize("n, thousands", [(2, 200), (4, 101), (8, 56)])
def test_phm_transformers_have_the_sizes_of_table_5(n, thousands):
    with torch.device("meta"):
        layers = TextClassifier(TextConfig("phm", phm_n=n), 8000, 2).layers
    assert sum(parameter.numel() for parameter in layers.parameters()) == pytest.approx(1000 * thousands, rel=0.05)


def test_attention_of_texts_is_equation_4():
    torch.manual_seed(0)
    layer, x = TextAttention(TextConfig(dim=16, heads=2)), torch.randn(3, 5, 16)
    known = written_out_(HamiltonAttention(4, 2, qk_norm=False))  # held to the equation in test_attention_parity.py
    known.out.load_state_dict(layer.out.state_dict())
    for name in ("weight", "bias"):
        joined = torch.cat([getattr(part, name) for part in layer.project], 1)
        getattr(known.project.linear, name).data.copy_(joined)
    y = known(x.unflatten(-1, (4, -1))).flatten(-2)
    torch.testing.assert_close(layer(x, torch.ones(3, 5, dtype=torch.bool)), y)


@pytest.mark.parametrize("arm", ["real", "partial", "full", "phm"])
def test_padding_does_not_change_a_class(arm):
    torch.manual_seed(0)
    network = TextClassifier(TextConfig(arm, dim=16, feed=16, heads=2), 50, 3).double().eval()
    tokens = torch.randint(1, 50, (2, 5))
    padded = torch.cat([tokens, torch.zeros(2, 3, dtype=torch.long)], 1)
    torch.testing.assert_close(network(padded), network(tokens))


def test_pair_classifier_reads_both_texts():
    torch.manual_seed(0)
    network, a, b = PairClassifier(50, 3, 8, 4).eval(), torch.randint(1, 50, (1, 5)), torch.randint(1, 50, (1, 6))
    y = network(a, b)
    assert y.shape == (1, 3)
    assert not torch.equal(y, network(a.flip(1) % 49 + 1, b)) and not torch.equal(y, network(a, b % 49 + 1))


def test_the_command_names_the_experiments(command, tmp_path):
    status, _, error = command("experiment", "copytask", "--out", tmp_path)
    assert status == 2 and "copy-task, phm-rotation, phm-hamilton, reasoning, sentiment, pairs" in error


def test_the_command_prints_a_line(command, tmp_path):
    status, line, _ = command("experiment", "phm-rotation", "--out", tmp_path, "--set", "steps=3")
    assert status == 0 and line.startswith("PHM layer, n = 3: loss")


def test_text_that_is_missing_is_asked_for(command, tmp_path):
    status, _, error = command("experiment", "sentiment", "--out", tmp_path)
    assert status == 2 and "--set train=SST-2/train.tsv" in error


@pytest.mark.parametrize("change, sentence", [
    ('arms=["real","reel"]', "arm 'reel': choose one of real, full, partial, phm"),
    ("heads=3", "dim 64: must be even and a multiple of 3 (real, 3 heads)"),
    ("dim=66", "dim 66: must be even and a multiple of 4 (real, 4 heads)"),
    ("phm_n=3", "n = 3 does not divide the 64 inputs and 64 outputs of a layer"),
    ("heads=0", "heads = 0: must be above 0"),
    ("learning_rate=-1", "learning_rate = -1.0: must be above 0"),
])  # fmt: skip
def test_settings_are_refused_before_anything_is_read(command, tmp_path, change, sentence):
    status, _, error = command("experiment", "sentiment", "--out", tmp_path / "new", "--set", change)
    assert status == 1 and sentence in error and not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made_and_a_setting_that_is_none(command, tmp_path):
    (tmp_path / "file").write_text("")
    status, _, error = command("experiment", "phm-rotation", "--out", tmp_path / "file")
    assert status == 1 and "file: cannot make this folder" in error
    status, _, error = command("experiment", "phm-rotation", "--out", tmp_path / "new", "--set", "step=3")
    assert status == 1 and "unknown key 'step'" in error and not (tmp_path / "new").exists()
    status, _, error = command("experiment", "phm-rotation", "--out", tmp_path / "new", "--set", "steps=0")
    assert status == 1 and "steps = 0: must be above 0" in error and not (tmp_path / "new").exists()
    status, _, error = command("experiment", "copy-task", "--out", tmp_path / "new", "--set", "hidden=6")
    assert status == 1 and "hidden 6: must be a multiple of 4" in error and not (tmp_path / "new").exists()


RECIPE = """
[model]
network = "live"
n_fft = 64
hop_length = 32
ranges = [[32, 2]]
channels = [2, 2, 4]
growth = 2
dilations = [1]
blocks = 1
heads = 2

[mix]
segment = 0.25
rooms = 2

[loss]
mrstft = 0.0
complex_l1 = 0.0
pesq = 0.0

[train]
batch = 2
steps = 3
"""


@pytest.fixture
def study(tmp_path):
    """Changes for `mixers`: a small recipe and some seconds of audio."""
    import soundfile
    from speech import hiss, voice

    for name, audio in {
        "speech/a/1.wav": voice(3), "noise/b/1.wav": 0.05 * hiss(32000), "valid/clean/1.wav": voice(2, 150),
        "valid/noisy/1.wav": voice(2, 150) + 0.02 * hiss(32000),
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(tmp_path / name, audio, 16000)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    folders = [f"{name}={tmp_path / name}" for name in ("speech", "noise", "valid")]
    return [f"recipe={tmp_path / 'recipe.toml'}", 'mixers=["gru"]', 'algebras=["real"]', *folders]


def test_mixers_are_trained_as_the_trainer_does_and_only_once(study, tmp_path, monkeypatch):
    from qse.experiments import time_mixers as mixers
    from qse.networks.weights import load_network
    from qse.train.recipe import read_config
    from qse.train.preflight import Job
    from qse.train.run import train
    from qse.train.validation import find_pairs, read_pairs, validate

    monkeypatch.setattr(mixers.Mixers, "_costs", lambda self, configs, out: ({"model": name} for name in configs))
    table = experiment("mixers", tmp_path / "out", study)
    rows = rows_of(tmp_path / "out" / "mixers-runs.csv")
    assert [(row["model"], row["seed"]) for row in rows] == [("gru", "0"), ("real", "0"), ("gru", "1"), ("real", "1")]
    assert len({row["si_sdr"] for row in rows}) == 4 and "| real | - |" in table

    config = read_config(tmp_path / "recipe.toml", ["train.seed=1", "model.algebra=real"])
    train(config, Job(tmp_path / "speech", tmp_path / "noise", tmp_path / "run"))
    network, _ = load_network(tmp_path / "run" / "config.toml", tmp_path / "run" / "checkpoint.safetensors")
    scores = validate(network, read_pairs(find_pairs(tmp_path / "valid", 16000)), torch.device("cpu"))
    assert float(rows[3]["si_sdr"]) == pytest.approx(scores["si_sdr"], abs=1e-4)

    monkeypatch.setattr(mixers.Mixers, "_quality", None)  # nothing is trained again
    assert experiment("mixers", tmp_path / "out", study) == experiment("mixers", tmp_path / "out", study[:3]) == table


def test_mixers_need_all_three_folders(study, tmp_path):
    with pytest.raises(QseError, match="valid=VALID"):
        experiment("mixers", tmp_path / "out", study[:-1])


def test_spread_of_seeds_stands_beside_the_mean():
    from qse.experiments.time_mixers import _summary

    runs = [{"model": "gru", "pesq_wb": p, "stoi": 0.8, "si_sdr": 5.0} for p in (1.4, 1.6)]
    assert _summary("gru", runs)["pesq_wb"] == "1.500 (1.400 to 1.600)"
    assert _summary("lstm", runs) == {}
