"""Say what was meant where a command is called as other programs are."""

import os
import shlex
from collections.abc import Collection, Sequence

# option of others -> options of a command, and what is said where it has one of them
HINTS = {
    "-y": {"--overwrite": "to replace files that exist, use --overwrite"},
    "-m": {"--model": "to choose a model, use --model NAME"},
    "-i": {
        "--input": "to choose the microphone, use --input NAME",
        "--output": "name inputs without an option, and the output with -o",
    },
}


def unknown_option(option: str, command: Collection[str]) -> str | None:
    """Return the sentence for an option that a command does not have; None where nothing is known.

    command: the options that it has.
    """
    for own, sentence in HINTS.get(option, {}).items():
        if own in command:
            return f"there is no option {option}: {sentence}"
    return None


def second_is_output(inputs: Sequence[str], output: str | None) -> str | None:
    """Return the sentence for two inputs of which the second one is no file, as where it is meant
    as the output; None for others."""
    if output is not None or len(inputs) != 2 or not os.path.exists(inputs[0]):
        return None
    source, target = inputs
    has_folder = os.path.isdir(os.path.dirname(target.rstrip("/")) or os.curdir)
    is_pattern = any(sign in target for sign in "*?[")
    if target == "-" or os.path.lexists(target) or not has_folder or is_pattern:
        return None
    line = f"qse denoise {shlex.quote(source)} -o {shlex.quote(target)}"
    return f"{target}: no such file; if it is the output, write {line}"
