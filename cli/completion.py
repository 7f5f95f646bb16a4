"""Complete the names of models and recipes in a shell."""

import re
from collections.abc import Iterable

PLAIN = re.compile(r"[\w.-]+")  # names without a meaning for a shell


def models_that_begin(incomplete: str) -> list[str]:
    """Return the names of installed models that begin so, for the completion of a shell."""
    from qse.runtime.zoo import available

    return _completed(available(), incomplete)


def recipes_that_begin(incomplete: str) -> list[str]:
    """Return the names of installed recipes that begin so, for the completion of a shell."""
    from qse.train.installed_recipes import installed_recipes

    return _completed(installed_recipes(), incomplete)


def _completed(names: Iterable[str], incomplete: str) -> list[str]:
    """Return the names that begin so. One with other characters may have come in an archive, and
    some shells run what stands in such a name."""
    return [name for name in names if name.startswith(incomplete) and PLAIN.fullmatch(name)]
