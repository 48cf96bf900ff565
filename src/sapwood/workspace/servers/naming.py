"""The names of servers' tools: with the server's before them, and as providers take them. Pure."""

import hashlib
import re
from collections.abc import Iterable

__all__ = ["offered_names"]

_LONGEST = 64
_NOT_TAKEN = re.compile(r"[^A-Za-z0-9_-]")


def offered_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """For each tool the name it is offered under, in a stable order.

    >>> offered_names("wood", ["saw", "plane.fine"])
    {'plane.fine': 'wood__plane_fine', 'saw': 'wood__saw'}
    """
    names: dict[str, str] = {}
    for tool in sorted(set(tools)):
        name = _NOT_TAKEN.sub("_", f"{server}__{tool}")
        if len(name) > _LONGEST or name in names.values():
            mark = hashlib.sha256(f"{server} {tool}".encode()).hexdigest()[:8]
            name = f"{name[: _LONGEST - 9]}_{mark}"
        names[tool] = name
    return names
