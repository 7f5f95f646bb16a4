"""Write the API reference from the docstrings: pages with a search that needs no network.

python tools/reference.py FOLDER     then open FOLDER/index.html
"""

import sys
from importlib import import_module
from pathlib import Path

import pdoc

PACKAGES = (
    "qse",
    "qse.nn",
    "qse.networks",
    "qse.losses",
    "qse.data",
    "qse.train",
    "qse.export",
    "qse.evaluate",
    "qse.integrations.g711",
    "qse.integrations.pcm",
    "qse.integrations.stream_group",
)


def write(folder: Path) -> None:
    """Write a page for each of PACKAGES, with the names of its `__all__`."""
    for name in PACKAGES:
        package = import_module(name)
        for public in package.__all__:
            # pdoc reads the dictionary of a module and does not call its __getattr__
            vars(package)[public] = getattr(package, public)
    pdoc.render.configure(docformat="markdown")
    pdoc.pdoc(*PACKAGES, output_directory=folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
