"""Whether a model's tool call started this process, and what such a process may do.

A model with `shell` could otherwise act as the person: change the configuration, grant itself
permissions, or prompt agents. A process that a tool call started may read, and use the slash
commands that models may use.

Three signs are looked for: the mark in the own environment, the mark in the first environment of a
parent, and a parent that a running Sapwood started without a terminal. A program that removes the
mark and leaves its parents behind (`setsid`, a service manager) is not recognized: only the sandbox
of the shell tool, which hides Sapwood's files, holds against that.
"""

import os
from typing import NamedTuple

_MARK = "SAPWOOD_CALL"
_MAX_PARENTS = 64
_READING = frozenset(
    "agents completion context diff do doctor export hook journal log mcp replay search "
    "show".split()
)
"""Commands that read. Below them, a command that changes something is declared `for_people`."""
_READING_CONFIG = frozenset(("path", "get"))


class _Process(NamedTuple):
    parent: int
    session: int
    terminal: int


def refuse_in_tool_call(command_path: str, *, for_people: bool = False) -> None:
    """Raises `SapwoodError` if the command is for people and a tool call started this process.

    With `for_people` it is, also below a command that reads.
    """
    words = command_path.split()
    words = words[1:] if words[:1] == ["sapwood"] else words
    if not words or (words[0] in _READING and not for_people):
        return
    if words[0] == "config" and (len(words) == 1 or words[1] in _READING_CONFIG):
        return
    if is_in_tool_call():
        from sapwood.core.errors import SapwoodError

        raise SapwoodError(
            f"Models may not use 'sapwood {' '.join(words)}', and a model's tool call started it. "
            "Ask the user to run it."
        )


def is_in_tool_call() -> bool:
    """Whether this process, or one of its parents, was started by a model's tool call."""
    if os.environ.get(_MARK):
        return True
    pid = os.getpid()
    for _ in range(_MAX_PARENTS):
        found = _process(pid)
        if found is None or found.parent <= 1:
            break
        is_leader = found.session == pid and found.terminal == 0
        if is_leader and _is_sapwood(found.parent):
            return True
        pid = found.parent
        if _has_mark(pid):
            return True
    # In a container of its own, the first process is the sandbox, which has the mark.
    return _has_mark(1)


def _process(pid: int) -> _Process | None:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return _Process(int(fields[1]), int(fields[3]), int(fields[4]))
    except (OSError, IndexError, ValueError):
        return None


def _has_mark(pid: int) -> bool:
    return any(entry.startswith(f"{_MARK}=".encode()) for entry in _entries(pid, "environ"))


def _is_sapwood(pid: int) -> bool:
    """Whether a process runs the command line of Sapwood."""
    words = [os.fsdecode(word) for word in _entries(pid, "cmdline")[:5]]
    names = {os.path.basename(word) for word in words[:2]}
    return "sapwood" in names or any(
        words[place : place + 2] in (["-m", "sapwood.cli"], ["-m", "sapwood"])
        for place in range(len(words))
    )


def _entries(pid: int, name: str) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []
