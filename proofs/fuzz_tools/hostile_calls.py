"""Generates tool calls with hostile arguments: wrong types, huge numbers, odd characters."""

import json
from random import Random

from sapwood.core.command_table import TABLE
from sapwood.core.content import ToolCall

_TOOLS: dict[str, tuple[str, ...]] = {
    "read_file": ("path", "offset", "limit"),
    "list_files": ("path", "glob", "depth", "ignored"),
    "search_files": ("pattern", "path", "glob", "context", "ignore_case", "ignored"),
    "write_file": ("path", "content"),
    "edit_file": ("path", "old_text", "new_text", "all"),
    "shell": ("command", "timeout", "cwd"),
    "slash": ("command", "args"),
    "no_such_tool": ("x",),
}
_ORDINARY: dict[str, dict[str, object]] = {
    "read_file": {"path": "a.txt"},
    "list_files": {"path": "."},
    "search_files": {"pattern": "one", "path": "."},
    "write_file": {"path": "c.txt", "content": "x"},
    "edit_file": {"path": "a.txt", "old_text": "two", "new_text": "two", "all": True},
    "shell": {"command": "true", "cwd": "."},
    "slash": {"command": "recall", "args": "one"},
}
_WEIGHTS = (20, 20, 3, 20, 20, 10, 40, 1)
"""How often each tool is called; a search starts a program, so it is called less often."""
_TEXTS = (
    "",
    " ",
    ".",
    "..",
    "/",
    "~",
    "a.txt",
    "sub",
    "sub/b.txt",
    "link",
    "pipe",
    "/etc/passwd",
    "a\0b",
    "\x1b]0;x\x07",
    "\u202egnp",
    "\ud800",
    "²",
    "٣",
    "9" * 20,
    "9" * 5_000,
    "-1",
    "1e999",
    "x" * 5_000,
    "(" * 300,
    "a/" * 600,
    "[",
    "**/" * 30,
    "*" * 200,
    "\\",
    "(?P<a>",
    "a{1,99999}",
    "--keep 3",
    "--keep " + "9" * 5_000,
    "SELF:99999999999999999999",
    "SELF:1:99999999999999999999",
    "abc:²",
    "--",
    "-- goal",
    "TASK",
    "parent hello",
    "nobody 1",
    "²",
    "0.001",
    "木" * 100,
    "true",
    "echo $(ls",
    "'",
    "cd .. && ls",
)
_VALUES: tuple[object, ...] = (
    None,
    True,
    0,
    1,
    -1,
    2**31,
    2**63,
    10**30,
    1.5,
    1e308,
    [],
    {},
    [1, [2, [3]]],
    {"a": {"b": None}},
)
_BROKEN = (
    "",
    "null",
    "[]",
    "7",
    '"text"',
    "{",
    "{}}",
    '{"path": }',
    "\ud800",
    "{" * 50,
    "[" * 100_000,
    '{"path": "\\ud800"}',
    '{"command": "mark", "args": null}',
    '{"command": null}',
    '{"path": NaN}',
    '{"depth": 1e400, "path": "."}',
)
_COMMANDS = (*(row.name for row in TABLE.rows), "nothing", "/mark", "²", "")


def hostile_call(random: Random, number: int, agent: str) -> ToolCall:
    """One call of a random tool; `agent` is put in place of SELF."""
    tool = random.choices(list(_TOOLS), _WEIGHTS)[0]
    if random.random() < 0.12:
        return ToolCall(f"c{number}", tool, random.choice(_BROKEN))
    fields: dict[str, object] = {}
    if random.random() < 0.6:  # an ordinary call in which one argument is hostile
        fields |= _ORDINARY.get(tool, {})
        name = random.choice(_TOOLS[tool])
        fields[name] = _value(random, tool, name, agent)
    for name in _TOOLS[tool] if not fields else ():
        if random.random() < 0.8:
            fields[name] = _value(random, tool, name, agent)
    if fields.get("command") == "wait":  # a wait without a number takes a minute
        fields["args"] = f"{random.choice(_TEXTS)} 0.001"
    if random.random() < 0.05:
        fields["odd\0name"] = 1
    return ToolCall(f"c{number}", tool, json.dumps(fields))


def _value(random: Random, tool: str, name: str, agent: str) -> object:
    if tool == "slash" and name == "command" and random.random() < 0.9:
        return random.choice(_COMMANDS)
    chance = random.random()
    if chance < 0.2:
        return random.choice(_VALUES)
    if chance < 0.3:
        return "".join(chr(random.randrange(0x3000)) for _ in range(random.randrange(20)))
    text = random.choice(_TEXTS).replace("SELF", agent)
    return f"{text} {random.choice(_TEXTS)}" if chance > 0.9 else text
