"""Messages of the library in the words of the command line."""

import pytest
from qse_cli.options import as_options


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("continue it with resume=True or not", "continue it with --resume or not"),
        ("leave sample_rate=48000 out", "leave --sample-rate 48000 out"),
        ("noise=5.wav: no such file", "noise=5.wav: no such file"),
        ("track=2.wav has 2: track=N chooses", "track=2.wav has 2: --track N chooses"),
        ("a/speech=b/x.data=1 has band=full", "a/speech=b/x.data=1 has --band full"),
    ],
)
def test_parameters_become_options(sentence, expected):
    assert as_options(sentence) == expected


def test_train_names_its_options(command, tmp_path):
    pytest.importorskip("torch")
    status, _, err = command("train", "--recipe", "live-base", "--out", tmp_path / "run")
    wanted = (
        "--speech DIR and --noise DIR, or --bundles DIR or --watch DIR with the parts of a bundle, "
        "or --data DIR with a corpus's recipe"
    )
    assert status == 2 and err == f"qse: say what to train on: {wanted}\n"
