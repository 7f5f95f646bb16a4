"""The plan of a batch: which files, and where their results go."""

import os

import pytest
from noisy_files import make, samples, tree

from qse.runtime.batch_plan import plan


def test_plan_skips_earlier_results(here, command):
    make(here / "in" / "a.wav")
    assert command("denoise", "in")[0] == 0
    assert command("denoise", "in", "--overwrite")[0] == 0
    assert command("denoise", "in", "-o", "in/out")[0] == 0
    assert command("denoise", "in", "-o", "in/out", "--overwrite")[0] == 0
    assert tree(here / "in") == ["a-enhanced.wav", "a.wav", "out/a.wav"]
    for path in ("a.wav", "a-enhanced.wav"):
        (here / "in" / path).unlink()
    status, _, err = command("denoise", "in", "-o", "in/out")
    assert status == 1 and err.startswith("qse: in: nothing to do")


def test_plan_skips_an_output_folder_among_inputs(here, command):
    make(here / "in/a.wav")
    for _ in range(2):  # as a shell writes in/*, before the first time without in/out
        inputs = sorted(map(str, (here / "in").iterdir()))
        assert command("denoise", *inputs, "-o", "in/out", "--overwrite")[0] == 0
    assert tree(here / "in") == ["a.wav", "out/a.wav"]
    assert command("denoise", "in/**/*.wav", "-o", "in/out", "--overwrite")[0] == 0
    assert tree(here / "in") == ["a.wav", "out/a.wav"]
    make(here / "in/out/b.wav")
    _, _, err = command("denoise", "in/a.wav", "in/out/b.wav", "-o", "in/out", "--overwrite")
    assert "b.wav -> in/out/b.wav" in err.replace("\\", "/")


def test_plan_knows_results_by_any_spelling(here, command):
    make(here / "in/a.wav")
    assert command("denoise", "in/a.wav")[0] == 0
    assert command("denoise", here / "in/a.wav", "in", "--overwrite")[0] == 0
    status, _, err = command("denoise", "in", "-o", "in")  # onto itself
    assert status == 1 and "in/a.wav exists already" in err
    assert tree(here) == ["in/a-enhanced.wav", "in/a.wav"]


@pytest.mark.parametrize("inputs", [("y", "x"), ("x", "y"), ("x/a.wav", "y/a.wav")])
def test_plan_refuses_to_replace_an_input(here, command, inputs):
    make(here / "y/a.wav", 1000)
    make(here / "x/a.wav", 2000)
    status, _, err = command("denoise", *inputs, "-o", "y", "--overwrite")
    assert status == 1 and "x/a.wav would be written to y/a.wav, which is an input, too" in err
    assert len(samples(here / "y/a.wav")) == 1000


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_in_place_of_a_result_leads_nowhere(here, command):
    """As an archive may hold it."""
    make(here / "pack/a.wav")
    link = here / "pack/a-enhanced.wav"
    link.symlink_to("../home.wav")
    assert command("denoise", "pack")[0] == 1 and link.is_symlink()
    (here / "home.wav").write_text("precious")
    assert command("denoise", "pack/a.wav")[0] == 1
    assert command("denoise", "pack/a.wav", "--overwrite")[0] == 0 and not link.is_symlink()
    assert (here / "home.wav").read_text() == "precious"
    (here / "out").mkdir()
    (here / "out/sub").symlink_to(here)
    make(here / "pack/sub/b.wav")
    status, _, err = command("denoise", "pack", "-o", "out", "--overwrite")
    assert status == 1 and "pack/sub/b.wav would be written through the link out/sub" in err
    assert not (here / "b.wav").exists()
    (here / "named.wav").symlink_to(here / "other.wav")
    assert command("denoise", "pack/a.wav", "-o", "named.wav", "--overwrite")[0] == 0
    assert (here / "named.wav").is_symlink() and (here / "other.wav").is_file()


def test_plan_counts_files_once_and_skips_hidden_ones(here, command):
    make(here / "a.wav")
    (here / "._a.wav").write_bytes(b"what macOS lays beside a file")
    make(here / ".Trash-1000/files/b.wav")
    status, _, err = command("denoise", "a.wav", here / "a.wav", ".")
    assert status == 0 and err.splitlines()[-1].startswith("1 file, ")
    assert command("denoise", "a.wav", "a-enhanced.wav", "-o", "out")[0] == 0
    assert tree(here / "out") == ["a-enhanced.wav", "a.wav"]  # which was asked for by name


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_plan_prefers_a_file_to_a_link(here, command):
    make(here / "in/b.wav")
    (here / "in/a.wav").symlink_to("b.wav")
    assert command("denoise", "in", "-o", "out")[0] == 0
    assert tree(here / "out") == ["b.wav"]
    (here / "loop.wav").symlink_to("loop.wav")
    status, _, err = command("denoise", "loop.wav")
    assert status == 1 and err.startswith("qse: loop.wav")


def test_plan_reports_two_inputs_for_one_output(here, command):
    make(here / "one" / "a.wav")
    make(here / "two" / "a.wav")
    status, _, err = command("denoise", "one", "two", "-o", "out")
    assert (
        status == 1
        and "two/a.wav would be written to out/a.wav, as one/a.wav is" in err.replace("\\", "/")
    )
    assert tree(here / "out") == ["a.wav"]


def test_plan_keeps_suffixes_of_files_with_one_stem(tmp_path):
    """Each file of a folder that would become the same .wav file gets its own; alone it has the
    plain name."""
    for name in ("a.wav", "a.amr", "a.wma", "a.flac", "b.amr"):
        (tmp_path / name).write_bytes(b"sound")
    jobs, errors = plan([str(tmp_path)], str(tmp_path / "out"))
    assert not errors
    assert {job.source.name: job.target.name for job in jobs} == {
        **{
            "a.wav": "a.wav",
            "a.amr": "a.amr.wav",
            "a.wma": "a.wma.wav",
            "a.flac": "a.flac",
            "b.amr": "b.wav",
        }
    }
    jobs, errors = plan([str(tmp_path)])
    targets = {job.target.name for job in jobs}
    assert (
        not errors
        and {"a-enhanced.wav", "a-enhanced.amr.wav", "a-enhanced.wma.wav", "b-enhanced.wav"}
        < targets
    )
    for name in targets:
        (tmp_path / name).write_bytes(b"sound")
    again, _ = plan([str(tmp_path)])
    assert {job.target.name for job in again} == targets
