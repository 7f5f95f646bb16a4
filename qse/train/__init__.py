"""Training: from a configuration, or from objects of one's own, to a folder of checkpoints and
curves.

train               train a network; Job: its folders; RunConfig, TrainConfig: its settings
Trainer             one step after another, without files
TrainingLoss        a loss as the trainer calls it, with carried states
start_from          begin with the weights of a model or a run
"""

from typing import TYPE_CHECKING

from ..public_names import lazily

if TYPE_CHECKING:  # for editors and mypy
    from .job import Job
    from .recipe import RunConfig, find_recipe, read_config
    from .run import train
    from .stateful_training import TrainingLoss
    from .train_config import TrainConfig
    from .trainer import Trainer
    from .validation import validate
    from .warm_start import start_from

__all__ = [
    "Job",
    "RunConfig",
    "TrainConfig",
    "Trainer",
    "TrainingLoss",
    "find_recipe",
    "read_config",
    "start_from",
    "train",
    "validate",
]
MODULES = {
    ".job": ["Job"],
    ".recipe": ["RunConfig", "find_recipe", "read_config"],
    ".train_config": ["TrainConfig"],
    ".trainer": ["Trainer"],
    ".warm_start": ["start_from"],
    ".run": ["train"],
    ".stateful_training": ["TrainingLoss"],
    ".validation": ["validate"],
}
__getattr__, __dir__ = lazily(__name__, MODULES, "train")
