"""Write JSON with a checksum of its content: a table with one changed digit would name other
samples."""

import json
import zlib
from typing import Any

CHECKSUM = "checksum"


def dumped(content: dict[str, Any]) -> str:
    """Return an object as JSON, with its checksum."""
    return json.dumps({**content, CHECKSUM: _of(content)})


def loaded(text: str) -> dict[str, Any]:
    """Return an object, also one without a checksum. Raises ValueError where it is none, or differs
    from its checksum."""
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("no object")
    stated = content.pop(CHECKSUM, None)
    if stated not in (None, _of(content)):
        raise ValueError("it differs from its checksum")
    return content


def _of(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content).encode())
