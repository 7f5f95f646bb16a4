"""Run trained models without PyTorch: engine, streams, files, timing."""
