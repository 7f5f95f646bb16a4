"""Networks that only experiments use: text classification and language models."""
