"""Names of MCP servers, which are the first part of the names of their tools: `server__tool`."""

import re
from collections.abc import Iterable

_NOT_IN_TOOL_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def as_tool_name(text: str) -> str:
    """The text with `_` for each character that providers of models refuse in a tool's name.

    >>> as_tool_name("docs__page.delete")
    'docs__page_delete'
    """
    return _NOT_IN_TOOL_NAMES.sub("_", text)


def server_name_problems(names: Iterable[str]) -> dict[str, str]:
    """Why tools of a server could pose as those of another, by the name of the server.

    The first `__` of a tool's name ends the server's part, if no such part contains `__`, and none
    is another one with a `_` behind it.

    >>> server_name_problems(["docs", "my_wood", "my__wood"]).keys()
    dict_keys(['my__wood'])
    """
    names = list(names)
    problems: dict[str, str] = {}
    known: dict[str, str] = {}
    first = {as_tool_name(name): name for name in reversed(names)}
    for name in names:
        part = as_tool_name(name)
        other = known.get(part) or (first.get(part[:-1]) if part.endswith("_") else None)
        if "__" in part:
            problems[name] = (
                "its name contains '__', so a tool of another server could have the name of one of "
                "its tools"
            )
        elif other is not None:
            problems[name] = f"its tools could have the same names as those of '{other}'"
        else:
            known[part] = name
    return problems
