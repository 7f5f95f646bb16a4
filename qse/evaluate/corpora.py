"""Read the test sets of the official corpora."""

from pathlib import Path

from ..data.datasets import TEST_SETS, Pair
from ..errors import UsageError

# utterances of the whole test sets (Yamauchi, Nitta and Tamori 2026, section 4.1)
TEST_SET_SIZES = {"voicebank": 824}


def test_pairs(dataset: str, folder: Path) -> list[Pair]:
    """Return the test utterances of a corpus in its folder: "voicebank" or "dns3".

    They are the files of the corpus as it comes, which nothing copies or changes: an evaluation
    converts what it reads. Raises UsageError for another corpus.
    """
    if dataset not in TEST_SETS:
        raise UsageError(f"no data set called {dataset}: there are {', '.join(TEST_SETS)}")
    return TEST_SETS[dataset](folder)
