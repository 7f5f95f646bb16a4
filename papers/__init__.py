"""The papers' laboratory: experiments at a small size, by name.

An experiment writes tables (CSV, Markdown) and plots (PNG) into a folder. The defaults finish on
two cores in minutes; the settings of the papers are those of `full`.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from qse.audio.folder_path import make_folder
from qse.errors import QseError, UsageError

EXPERIMENTS = {
    "copy-task": "copy_task:CopyTask",
    "phm-rotation": "phm:Rotation",
    "phm-hamilton": "phm:HamiltonRule",
    "reasoning": "reasoning:Reasoning",
    "language-sizes": "language_sizes:LanguageSizes",
    "sentiment": "sentiment:Sentiment",
    "pairs": "pairs:Pairs",
    "gradients": "gradients:Gradients",
    "attention-analysis": "attention_analysis:AttentionAnalysis",
    "digits": "digits:Digits",
    "verb-agreement": "verb_agreement:VerbAgreement",
    "sequence": "sequence:SequenceToSequence",
    "language": "language:LanguageModelling",
    "images": "image_classification:ImageClassification",
    "spectrograms": "spectrograms:Spectrograms",
    "speech-attention": "speech_attention:SpeechAttention",
    "published-checkpoint": "published_checkpoint:PublishedCheckpoint",
    "mixers": "time_mixers:Mixers",
}


def experiment(name: str, out: Path, changes: Sequence[str] = (), full: bool = False) -> str:
    """Run the experiment `name` with "key=value" changes of its settings; return a summary.

    Raises QseError for an unknown name or setting, and for a folder that cannot be made.
    """
    from qse import config as configuration

    if name not in EXPERIMENTS:
        raise UsageError(f"no experiment {name!r}: there are {', '.join(EXPERIMENTS)}")

    module, _, class_name = EXPERIMENTS[name].partition(":")
    settings = getattr(import_module(f".{module}", __package__), class_name)
    values = configuration.overridden(settings.FULL if full else {}, list(changes))
    chosen = configuration.build(settings, values, f"experiment {name}: ")
    try:
        make_folder(out)
    except OSError as error:
        raise QseError(
            f"{out}: cannot make this folder ({error.strerror}); name another with --out"
        ) from error
    return chosen.run(out)
