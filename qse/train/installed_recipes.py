"""Find the installed recipes, without PyTorch."""

from pathlib import Path

import qse_recipes


def installed_recipes() -> dict[str, Path]:
    """Return the files of the installed recipes by their names, sorted."""
    found = {}
    for place in qse_recipes.__path__:
        for path in sorted(Path(place).glob("*.toml")):
            found[path.stem] = path
    return dict(sorted(found.items()))
