"""Export: from a trained network to an ONNX graph and a model folder.

export_stream        write the wave-step graph of a streaming network
export_many_streams  write its graph for many streams in one call; add_many_streams: into a folder
export_offline       write the graph of another network
lower                the same network on real layers
register, adapt      real forms of layers of one's own, which `quaternion_axis` cannot describe
"""

from typing import TYPE_CHECKING

from ..public_names import lazily

if TYPE_CHECKING:  # for editors and mypy
    from .lowering import adapt, interleave, lower, register, with_children, with_real_children
    from .many_streams import add_many_streams, export_many_streams
    from .offline import export_offline
    from .streaming import export_stream

__all__ = [
    "adapt",
    "add_many_streams",
    "export_many_streams",
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
    ".many_streams": ["add_many_streams", "export_many_streams"],
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
