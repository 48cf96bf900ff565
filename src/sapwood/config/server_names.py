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


def server_name_problem(names: Iterable[str]) -> str:
    """Why a tool of one server could pose as that of another; empty if none can.

    The first `__` of a tool's name ends the server's part, if no such part contains `__` or ends
    with `_`.

    >>> server_name_problem(["docs", "my_wood"])
    ''
    """
    known: dict[str, str] = {}
    for name in names:
        part = as_tool_name(name)
        if "__" in part or part.endswith("_"):
            return (
                f"the name of MCP server '{name}' contains '__' or ends with '_', so a tool of "
                "another server could have the name of one of its tools. Rename it, also in your "
                "permission rules"
            )
        if part in known:
            return (
                f"tools of the MCP servers '{known[part]}' and '{name}' would have the same names. "
                "Rename one of the servers"
            )
        known[part] = name
    return ""
