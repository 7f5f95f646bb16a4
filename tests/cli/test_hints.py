"""Answer calls as other programs are called, and complete the names of models in a shell."""

import os

import graphs
import pytest
from qse_cli.completion import models_that_begin
from tagged_files import wav


def test_second_file_that_is_missing_is_taken_for_the_output(command, here):
    wav(here / "my call.wav")
    status, _, err = command("denoise", "my call.wav", "out.wav", "--model", "live-base")
    assert status == 2 and [path.name for path in here.iterdir()] == ["my call.wav"]
    assert err.endswith("if it is the output, write qse denoise 'my call.wav' -o out.wav\n")
    status, _, err = command("denoise", "my call.wav", "cleaned/", "--model", "live-base")
    assert status == 2 and "-o cleaned/" in err
    assert command("denoise", "my call.wav", "-o", "out.wav", "--model", "live-base")[0] == 0


def test_two_files_that_exist_are_two_inputs(command, here):
    wav(here / "a.wav")
    wav(here / "b.wav")
    assert command("denoise", "a.wav", "b.wav", "--model", "live-base")[0] == 0
    assert (here / "b-enhanced.wav").is_file()


@pytest.mark.parametrize("name", ["*.mp3", "nowhere/x.wav"])
def test_what_cannot_be_an_output_is_an_input(command, here, name):
    wav(here / "a.wav")
    _, _, err = command("denoise", "a.wav", name, "--model", "live-base")
    assert name in err and "if it is the output" not in err


@pytest.mark.parametrize(
    "line, said",
    [
        (("denoise", "-y", "a.wav"), "to replace files that exist, use --overwrite"),
        (("denoise", "-i", "a.wav"), "name inputs without an option, and the output with -o"),
        (("denoise", "a.wav", "-m", "live-tiny"), "to choose a model, use --model NAME"),
        (("live", "-m", "live-tiny"), "to choose a model, use --model NAME"),
        (("live", "-i", "usb"), "to choose the microphone, use --input NAME"),
        (("live", "-y"), "to replace files that exist, use --overwrite"),
    ],
)
def test_option_of_another_program_is_answered_with_the_own_one(command, here, line, said):
    status, _, err = command(*line)
    (option,) = [word for word in line if word.startswith("-")]
    assert status == 2 and err == f"qse: there is no option {option}: {said}\n"


def test_other_unknown_options_are_reported_as_before(command, here):
    status, _, err = command("denoise", "-z", "a.wav")
    assert status == 2 and "No such option" in err and "-z" in err
    status, _, err = command("info", "-m")
    assert status == 2 and "No such option" in err and "-m" in err


def test_shell_completes_names_of_models(models, monkeypatch, capsys):
    assert models_that_begin("live-b") == ["live-base"]
    assert "recurrent" in models_that_begin("")
    for words in ("qse denoise --model frag", "qse live --model frag", "qse evaluate frag"):
        assert completed(words, monkeypatch, capsys) == ["fragile"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_completion_offers_no_name_that_a_shell_could_run(tmp_path, monkeypatch):
    monkeypatch.setenv("QSE_MODELS", str(tmp_path))
    for name in ("ours", "ours\\$(touch a)", "ours`touch a`", "ours\n"):
        graphs.delay(tmp_path / name / "model.onnx")
    assert models_that_begin("ours") == ["ours"]


def test_shell_completes_names_of_recipes(monkeypatch, capsys):
    for command in ("train", "mix", "prepare"):
        found = completed(f"qse {command} --recipe live-base", monkeypatch, capsys)
        assert found == ["live-base", "live-base-48k"]


def completed(words, monkeypatch, capsys) -> list[str]:
    """Return what bash offers at the end of a line."""
    from qse_cli.main import app

    monkeypatch.setenv("_QSE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with pytest.raises(SystemExit):
        app(prog_name="qse")
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    "line",
    [
        ("denoise", "a.wav", "--bit-rate"),
        ("denoise", "a.wav", "--loudness"),
        ("denoise", "a.wav", "--split"),
        ("live", "--latency"),
        ("live", "--buffer"),
        ("mix", "--speech", "s", "--noise", "n", "--out", "o", "--seconds"),
    ],
)
def test_what_is_no_number_is_below_no_limit(command, here, line):
    """NaN is neither below the lowest value nor above the highest."""
    status, _, err = command(*line, "nan")
    assert status == 2 and f"Invalid value for '{line[-1]}'" in err
