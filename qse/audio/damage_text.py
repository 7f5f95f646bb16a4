"""Name damaged places in a message."""

NAMED = 3  # places in a message


def named(places: list[str]) -> str | None:
    """Return the first places in words, None if there are none."""
    if not places:
        return None
    more = f", and at {len(places) - NAMED} more places" if len(places) > NAMED else ""
    return ", ".join(places[:NAMED]) + more
