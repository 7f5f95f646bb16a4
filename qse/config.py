"""Configurations: frozen dataclasses in code, TOML on disk. An unknown key is an error that lists the right ones."""

import copy
import dataclasses
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import QseError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", tuple: "a list"}


def build(cls: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """An instance of the dataclass `cls`; lists become tuples, sub-tables the dataclasses that the fields default to.

    Raises QseError for a key that `cls` does not have, for a value of another type than the field's default, and for
    one that `cls` refuses; `where` names the source.
    """
    if not isinstance(values, Mapping):
        raise QseError(f"{where}expected a table of keys and values, not {values!r}")
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
            arguments[key] = _fitted(_tuples(value), names[key].default, f"{where}{key}")
    try:
        return cls(**arguments)
    except (TypeError, ValueError) as error:
        raise QseError(f"{where}{error}") from error


def require_positive(config: object, *names: str) -> None:
    """Raises ValueError for a field that is not above 0, or a list of such numbers that holds one."""
    for name in names:
        value = getattr(config, name)
        if not all(number > 0 for number in _numbers(value)):
            raise ValueError(f"{name} = {value!r}: must be above 0")


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, tuple):
        for item in value:
            yield from _numbers(item)
    else:
        yield value


def read(path: Path) -> dict[str, Any]:
    """The tables of a TOML file. Raises QseError when it is missing or no TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise QseError(f"{path}: cannot read the configuration ({error.strerror})") from error
    except ValueError as error:  # neither TOML nor UTF-8
        raise QseError(f"{path}: not valid TOML ({error})") from error


def overridden(values: Mapping[str, Any], changes: list[str]) -> dict[str, Any]:
    """`values` with "table.key=value" lines applied; the value is read as TOML, or as a bare word."""
    result = copy.deepcopy(dict(values))
    for change in changes:
        path, equals, text = change.partition("=")
        *tables, key = path.strip().split(".")
        if not equals or not key:
            raise QseError(f"--set {change!r}: write it as table.key=value")
        node = result
        for table in tables:
            node = node.setdefault(table, {})
            if not isinstance(node, dict):
                raise QseError(f"--set {change!r}: {table} is a value, not a table")
        try:
            node[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            node[key] = text.strip()
    return result


def _fitted(value: Any, default: Any, where: str) -> Any:
    """`value`, whole numbers made floats where `default` is one; items of a list are held to the default's first."""
    if isinstance(default, float) and type(value) is int:
        return float(value)
    if type(default) not in KINDS:
        return value
    if type(value) is not type(default):
        raise QseError(f"{where} = {value!r}: expected {KINDS[type(default)]}")
    return tuple(_fitted(item, default[0], where) for item in value) if default and type(value) is tuple else value


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
