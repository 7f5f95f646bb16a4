"""The recipes of `qse train`: NAME.toml."""
