"""Export: from a trained network to an ONNX graph and a model folder."""
