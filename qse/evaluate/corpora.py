"""Read the test sets of the official corpora."""

from pathlib import Path

from ..data.datasets import SAMPLE_RATE, TEST_SETS, Pair, Progress, voicebank_files
from ..errors import UsageError


def test_pairs(
    dataset: str, folder: Path, sample_rate: int | None = None, progress: Progress | None = None
) -> list[Pair]:
    """Return the test utterances of a corpus in its folder: "voicebank" or "dns3".

    They are read as 16 kHz copies unless `sample_rate` is higher: voicebank comes at 48 kHz. progress is called with
    (copies made, all). Raises UsageError for another corpus, and for a rate that it does not have.
    """
    if dataset not in TEST_SETS:
        raise UsageError(f"no data set called {dataset}: there are {', '.join(TEST_SETS)}")
    if not sample_rate or sample_rate <= SAMPLE_RATE:
        return TEST_SETS[dataset](folder, progress)
    if dataset != "voicebank":
        raise UsageError(f"{dataset} has {SAMPLE_RATE} Hz: leave out the sample rate")
    return voicebank_files(folder, "test")
