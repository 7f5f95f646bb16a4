"""Progress bar: silent where stderr is no terminal."""

from qse_papers.progress import progress


def test_progress_writes_nothing_into_a_file(capfd):
    with progress("training", 3) as advance:
        for _ in range(3):
            advance()
    assert capfd.readouterr() == ("", "")


def test_progress_shows_title_and_steps_on_a_terminal(monkeypatch, capfd):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich's way to take any output for a terminal
    with progress("qrnn, seed 0", 3) as advance:
        for _ in range(3):
            advance()
    out, err = capfd.readouterr()
    assert out == "" and "qrnn, seed 0" in err and "3/3" in err
