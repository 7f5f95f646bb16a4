"""Export: from a trained network to an ONNX graph and a model folder.

export_stream      write the wave-step graph of a streaming network
export_offline     write the graph of another network
lower              the same network on real layers
register, adapt    real forms of layers of one's own, which `quaternion_axis` cannot describe
"""

from ..public_names import lazily

__all__ = [
    "adapt",
    "export_offline",
    "export_stream",
    "interleave",
    "lower",
    "register",
    "with_children",
    "with_real_children",
]
MODULES = {
    ".streaming": ["export_stream"],
    ".offline": ["export_offline"],
    ".lowering": [
        "adapt",
        "interleave",
        "lower",
        "register",
        "with_children",
        "with_real_children",
    ],
}
__getattr__, __dir__ = lazily(__name__, MODULES, "train")
