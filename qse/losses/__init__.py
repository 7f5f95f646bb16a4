"""Training losses, one file per family."""
