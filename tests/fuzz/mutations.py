"""Damage files: bytes and numbers of binary headers, tokens and lines of texts."""

import re
from random import Random

EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
TOKENS = (
    *(
        "0",
        "-1",
        "1e400",
        "-1e400",
        "nan",
        "inf",
        "9" * 400,
        "1.5",
        "true",
        "null",
        "",
        "[]",
        "{}",
        "[[]]",
        '""',
    ),
    *(
        '"x"',
        '"\x00"',
        "'",
        '"\\ud800"',
        "é",
        "🎵",
        "../..",
        "/",
        "x" * 5000,
        "[" * 2000,
        '{"a":' * 2000,
        "a.b.c = 1",
    ),
)
WORD = re.compile(r"-?\d+(?:\.\d+)?|\"[^\"\n]*\"|\w+|[^\w\s]")


def damaged(data: bytes, rng: Random) -> bytes:
    """Return `data` with one to four changes of its bytes, most of them near its beginning."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = rng.choice(BYTE_CHANGES)(data, rng)
    return data


def garbled(text: str, rng: Random) -> bytes:
    """Return `text` with one to four changes of its tokens, lines or bytes."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        text = rng.choice(TEXT_CHANGES)(text, rng)
    data = text.encode("utf-8", "surrogateescape")
    return damaged(data, rng) if rng.random() < 0.15 else data


def _place(data: bytes, rng: Random) -> int:
    """Return an index into `data`: half of the time in its first 64 bytes, a quarter in its
    first 1024."""
    return rng.randrange(max(1, min(len(data), rng.choice((64, 64, 1024, len(data) or 1)))))


def _flip(data: bytes, rng: Random) -> bytes:
    at = _place(data, rng)
    return (
        data[:at]
        + bytes([byte ^ 1 << rng.randrange(8) for byte in data[at : at + 1]])
        + data[at + 1 :]
    )


def _number(data: bytes, rng: Random) -> bytes:
    """Overwrite one, two, four or eight bytes with a number at the edge of a type."""
    at = _place(data, rng)
    size = rng.choice((1, 2, 4, 8))
    value = rng.choice(EDGES) + rng.choice((-1, 0, 0, 1)) & (1 << 8 * size) - 1
    return data[:at] + value.to_bytes(size, rng.choice(("little", "big"))) + data[at + size :]


def _noise(data: bytes, rng: Random) -> bytes:
    at = _place(data, rng)
    size = rng.choice((1, 4, 64, 1000))
    return data[:at] + rng.randbytes(size) + data[at + size :]


def _cut(data: bytes, rng: Random) -> bytes:
    return data[: rng.choice((_place(data, rng), rng.randrange(len(data) + 1)))]


def _remove(data: bytes, rng: Random) -> bytes:
    at = _place(data, rng)
    return data[:at] + data[at + rng.choice((1, 2, 3, 4, 100, 5000)) :]


def _repeat(data: bytes, rng: Random) -> bytes:
    at = _place(data, rng)
    size = rng.choice((1, 4, 16, 100, 5000))
    return data[: at + size] + data[at : at + size] + data[at + size :]


def _append(data: bytes, rng: Random) -> bytes:
    return data + rng.choice((data, rng.randbytes(1 + rng.randrange(1000)), bytes(70000)))


def _swap(data: bytes, rng: Random) -> bytes:
    a, b = sorted((_place(data, rng), _place(data, rng)))
    return data[:a] + data[b : b + 8] + data[a + 8 : b] + data[a : a + 8] + data[b + 8 :]


def _token(text: str, rng: Random) -> str:
    found = list(WORD.finditer(text))
    if not found:
        return rng.choice(TOKENS)
    match = rng.choice(found)
    return text[: match.start()] + rng.choice(TOKENS) + text[match.end() :]


def _exchange(text: str, rng: Random) -> str:
    """Put one token in the place of another."""
    found = list(WORD.finditer(text))
    if not found:
        return text
    to = rng.choice(found)
    of = rng.choice(found)
    return text[: to.start()] + of[0] + text[to.end() :]


def _line(text: str, rng: Random) -> str:
    """Remove, repeat, move or cut a line."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    line = lines.pop(rng.randrange(len(lines)))
    for _ in range(rng.randrange(3)):
        lines.insert(
            rng.randrange(len(lines) + 1),
            line[: rng.choice((len(line), rng.randrange(len(line) + 1)))],
        )
    return "".join(lines)


BYTE_CHANGES = (
    _flip,
    _flip,
    _number,
    _number,
    _number,
    _noise,
    _cut,
    _remove,
    _repeat,
    _append,
    _swap,
)
TEXT_CHANGES = (_token, _token, _token, _exchange, _line, _line)
