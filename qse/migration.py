"""Translate configuration keys of earlier versions: old recipes, runs and models keep loading.

Tables come from a TOML file, from `--set`, or from Python. RENAMED holds the keys that have a new name, VALUES the
values that have a new form; everything else stays as it is.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any


def _words(value: Any) -> Any:
    """Split a string of words into a list; return anything else as it is."""
    return value.split() if isinstance(value, str) else value


def _architecture(value: Any) -> Any:
    return "streaming" if value == "live" else value


RENAMED: dict[str, dict[str, str]] = {  # table: {old key: new key}
    "model": {
        "without": "pruned",
    },
    "mix": {
        "noises": "noise_count_weights",
        "alone_chance": "synthetic_only_chance",
        "shaped_chance": "speech_shaped_chance",
        "tone_chance": "eq_chance",
        "tone": "eq",
        "gain_chance": "gain_drift_chance",
        "gain": "gain_drift",
        "hold_chance": "sustain_chance",
        "hold": "sustain",
        "hold_pitch": "sustain_pitch",
        "early": "early_reflections",
        "band_chance": "low_pass_chance",
        "band": "low_pass",
    },
    "train": {
        "warmup": "warmup_steps",
        "hold": "plateau_steps",
        "clip": "clip_norm",
        "average": "ema_decay",
        "carried": "carry_state_probability",
    },
}
VALUES: dict[str, dict[str, Callable[[Any], Any]]] = {  # table: {new key: old value -> new value}
    "model": {"network": _architecture, "pruned": _words, "time_mixer": _words},
}


def migrated(tables: Mapping[str, Any], source: str = "") -> dict[str, Any]:
    """Return a copy of `tables` ({table: {key: value}}) with today's keys and values.

    Where anything is old, one FutureWarning lists it, once per process; `source` names the file or option in it. A new
    key wins over its old one. Unknown tables and keys stay as they are.
    """
    result, changes = dict(tables), list[str]()
    for name, values in tables.items():
        if isinstance(values, Mapping):
            result[name] = _table(name, values, changes)
    if changes:
        text = f"{source}keys of an earlier version: {'; '.join(changes)}"
        warnings.warn(text, FutureWarning, stacklevel=1)  # of one place, so that Python shows a text once
    return result


def _table(name: str, values: Mapping[str, Any], changes: list[str]) -> dict[str, Any]:
    """Return one table with today's keys and values; add to `changes` what was changed, as text."""
    renamed, forms, result = RENAMED.get(name, {}), VALUES.get(name, {}), dict[str, Any]()
    for key, value in values.items():
        new = renamed.get(key, key)
        if new != key and new in values:
            changes.append(f"{name}.{key} is ignored beside {new}")
            continue
        result[new] = forms[new](value) if new in forms else value
        if new != key:
            changes.append(f"{name}.{key} is now {new}")
        elif new in forms and result[new] != value:
            changes.append(f"{name}.{key} = {value!r} is now {result[new]!r}")
    return result
