"""Read configurations: frozen dataclasses in code, TOML on disk.

Unknown keys are refused; known ones are listed.
"""

import copy
import dataclasses
import re
import tomllib
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .bounded_text import Opener, read_text
from .errors import QseError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

LONGEST = 1 << 20  # characters of a file
DEEPEST = 20  # tables and lists in each other; what reads them may recurse
DOTTED = re.compile(
    rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{DEEPEST}}}"""
)
TOO_DEEP = f"tables and lists more than {DEEPEST} deep in each other"
KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    tuple: "a list",
}


def build(cls: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """Return an instance of the dataclass `cls`; lists become tuples, sub-tables the dataclasses of
    their fields.

    Raises QseError for a key that `cls` does not have, for a value whose type is not that of the
    field's default, and for a value that `cls` refuses. `where` names the source in the message.
    """
    if not isinstance(values, Mapping):
        raise QseError(f"{where}expected a table of keys and values, not {values!r}")
    names = {field.name: field for field in dataclasses.fields(cls)}
    unknown = sorted(set(values) - set(names))
    if unknown:
        raise QseError(
            f"{where}unknown key {unknown[0]!r} for {cls.__name__}; known keys: {', '.join(names)}"
        )
    arguments = {}
    for key, value in values.items():
        inner = names[key].default_factory
        if dataclasses.is_dataclass(inner):
            arguments[key] = build(inner, value, f"{where}{key}: ")
        else:
            arguments[key] = _fitted(_tuples(value), names[key].default, f"{where}{key}")
    try:
        return cls(**arguments)
    except (TypeError, ValueError, OverflowError) as error:
        raise QseError(f"{where}{error}") from error


def require_positive(config: object, *names: str) -> None:
    """Raise ValueError for a field of `config` that is not above 0 and finite; of a list, every
    number counts."""
    for name in names:
        value = getattr(config, name)
        if not all(0 < number < inf for number in numbers_in(value)):
            raise ValueError(f"{name} = {value!r}: must be above 0 and finite")


def numbers_in(value: Any) -> Iterator[float]:
    """Yield the numbers of nested tuples, or `value` itself."""
    if isinstance(value, tuple):
        for item in value:
            yield from numbers_in(item)
    else:
        yield value


def read(path: Path, opener: Opener | None = None) -> dict[str, Any]:
    """Read the tables of a TOML file. opener: as of `open`. Raises QseError when it is missing, not
    TOML, or nested too deep."""
    try:
        tables = tomllib.loads(_text(path, opener))
    except OSError as error:
        raise QseError(f"{path}: cannot read the configuration ({error.strerror})") from error
    except (ValueError, RecursionError) as error:  # neither TOML nor UTF-8, or nested without end
        raise QseError(f"{path}: not valid TOML ({error})") from error
    if _is_too_deep(tables):
        raise QseError(f"{path}: {TOO_DEEP}")
    return tables


def _text(path: Path, opener: Opener | None) -> str:
    """Return the text of a file that may come from anywhere.

    Raises OSError for what is no file, QseError for a text that is too long, or with a key of many
    parts: `tomllib` takes time and memory in proportion to the square of their number.
    """
    cure = "name the configuration of a run or a model"
    text = read_text(path, LONGEST, cure, opener=opener)
    if DOTTED.search(text):
        raise QseError(f"{path}: {TOO_DEEP}")
    return text


def _is_too_deep(tables: dict[str, Any]) -> bool:
    level: list[Any] = [tables]
    for _ in range(DEEPEST):
        inner = []
        for value in level:
            parts = value.values() if isinstance(value, dict) else value
            inner += [part for part in parts if isinstance(part, dict | list)]
        level = inner
    return bool(level)


def overridden(values: Mapping[str, Any], changes: list[str]) -> dict[str, Any]:
    """Return a copy of `values` with "table.key=value" lines applied.

    A value is read as TOML; if that fails, as a string without quotes. Raises QseError for a line
    of another form.
    """
    result = copy.deepcopy(dict(values))
    for change in changes:
        *tables, key = change.partition("=")[0].strip().split(".")
        new = _parsed(change, tables, key)
        node = result
        for table in tables:
            node = node.setdefault(table, {})
            new = new[table]
            if not isinstance(node, dict):
                raise QseError(f"--set {change!r}: {table} is a value, not a table")
        node.update(new)
    return result


def _parsed(change: str, tables: list[str], key: str) -> dict[str, Any]:
    """Return the nested tables that a "table.key=value" line stands for."""
    _, equals, text = change.partition("=")
    if not equals or not key:
        raise QseError(f"--set {change!r}: write it as table.key=value")
    try:
        found = {key: tomllib.loads(f"value = {text}")["value"]}
    except (tomllib.TOMLDecodeError, RecursionError):
        found = {key: text.strip()}
    for table in reversed(tables):
        found = {table: found}
    return found


def _fitted(value: Any, default: Any, where: str) -> Any:
    """Return `value`, an int as a float where `default` is a float. Raises QseError where its type
    is another than that of `default`; items of a list are compared with the first item of
    `default`."""
    if isinstance(default, float) and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise QseError(f"{where}: a number of more than 308 digits") from None
    if type(default) not in KINDS:
        return value
    if type(value) is not type(default):
        raise QseError(f"{where} = {value!r}: expected {KINDS[type(default)]}")
    if default and type(value) is tuple:
        return tuple(_fitted(item, default[0], where) for item in value)
    return value


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
