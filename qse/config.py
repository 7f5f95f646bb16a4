"""Configurations: frozen dataclasses in code, TOML on disk. An unknown key is an error that lists the right ones."""

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from .errors import QseError

T = TypeVar("T")


def build(cls: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """An instance of the dataclass `cls`; lists become tuples, sub-tables the dataclasses that the fields default to.

    Raises QseError for a key that `cls` does not have and for a value that it refuses; `where` names the source.
    """
    names = {field.name: field for field in dataclasses.fields(cls)}
    unknown = sorted(set(values) - set(names))
    if unknown:
        raise QseError(f"{where}unknown key {unknown[0]!r} for {cls.__name__}; known keys: {', '.join(names)}")
    arguments = {}
    for key, value in values.items():
        inner = names[key].default_factory
        if dataclasses.is_dataclass(inner):
            arguments[key] = build(inner, value, f"{where}{key}: ")
        else:
            arguments[key] = _tuples(value)
    try:
        return cls(**arguments)
    except (TypeError, ValueError) as error:
        raise QseError(f"{where}{error}") from error


def read(path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises QseError when it is missing or no TOML."""
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise QseError(f"{path}: cannot read the configuration ({error.strerror})") from error
    except tomllib.TOMLDecodeError as error:
        raise QseError(f"{path}: not valid TOML ({error})") from error


def overridden(values: Mapping[str, Any], changes: list[str]) -> dict[str, Any]:
    """`values` with "table.key=value" lines applied; the value is read as TOML, or as a bare word."""
    result = {key: dict(value) if isinstance(value, Mapping) else value for key, value in values.items()}
    for change in changes:
        path, equals, text = change.partition("=")
        *tables, key = path.strip().split(".")
        if not equals or not key:
            raise QseError(f"--set {change!r}: write it as table.key=value")
        node = result
        for table in tables:
            node = node.setdefault(table, {})
        try:
            node[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            node[key] = text.strip()
    return result


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
