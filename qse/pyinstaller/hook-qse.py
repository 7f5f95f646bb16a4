"""Collect the parts of qse that are imported by name when they are first used, and the models.

PyTorch is collected only if the frozen program itself imports what needs it.
"""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

LIGHT = ("qse.runtime", "qse.audio", "qse.live", "qse.corpus_cleaning")

hiddenimports = ["qse_models"]
for package in LIGHT:
    hiddenimports += collect_submodules(package)

datas = collect_data_files("qse") + collect_data_files("qse_models")
