"""Experiments of the papers at a small size, by name.

An experiment is a frozen dataclass of settings with `run(out) -> summary`; it writes tables (CSV, Markdown) and plots
(PNG) into the folder `out`. The defaults finish on two cores in minutes; FULL holds the settings of the paper.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from .. import config as configuration
from ..errors import QseError, UsageError

EXPERIMENTS = {
    "copy-task": ("copy_task", "CopyTask"),
    "phm-rotation": ("phm", "Rotation"),
    "phm-hamilton": ("phm", "HamiltonRule"),
    "reasoning": ("reasoning", "Reasoning"),
    "sentiment": ("sentiment", "Sentiment"),
    "pairs": ("pairs", "Pairs"),
    "gradients": ("gradients", "Gradients"),
    "attention-analysis": ("attention_analysis", "AttentionAnalysis"),
    "digits": ("digits", "Digits"),
    "verb-agreement": ("verb_agreement", "VerbAgreement"),
    "sequence": ("sequence", "SequenceToSequence"),
    "language": ("language", "LanguageModelling"),
    "images": ("image_classification", "ImageClassification"),
    "spectrograms": ("spectrograms", "Spectrograms"),
    "mixers": ("time_mixers", "Mixers"),
}
MAY_BE_ZERO = (
    "seed",
    "warmup",
    "blanks",
    "max_grad_norm",
    "dropout",
    "mixup",
    "erasing",
    "smoothing",
)


def experiment(name: str, out: Path, changes: Sequence[str] = (), full: bool = False) -> str:
    """Run the experiment `name` with "key=value" changes of its settings; return a summary of its results.

    Raises QseError for an unknown name or setting, and for a folder that cannot be made.
    """
    if name not in EXPERIMENTS:
        raise UsageError(f"no experiment {name!r}: there are {', '.join(EXPERIMENTS)}")
    module, cls = EXPERIMENTS[name]
    settings = getattr(import_module(f".{module}", __package__), cls)
    values = configuration.overridden(settings.FULL if full else {}, list(changes))
    chosen = configuration.build(settings, values, f"experiment {name}: ")
    counts = [
        key
        for key, value in vars(chosen).items()
        if type(value) in (int, float) and key not in MAY_BE_ZERO
    ]
    try:
        configuration.require_positive(chosen, *counts)
    except ValueError as error:
        raise QseError(f"experiment {name}: {error}") from error
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise QseError(
            f"{out}: cannot make this folder ({error.strerror}); name another with --out"
        ) from error
    return chosen.run(out)
