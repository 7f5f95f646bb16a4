"""Collect the commands, which the command line imports by name, and the recipes."""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

hiddenimports = ["qse_recipes", *collect_submodules("qse_cli")]
datas = collect_data_files("qse_recipes")
