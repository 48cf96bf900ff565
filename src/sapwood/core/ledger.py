"""The artifact ledger: what a conversation did, computed from its turns without a model.

Files read, created and changed, commands run and how they ended. A summary forgets these first, so
the log itself tells them.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import Struct

from sapwood.core.content import ToolCall
from sapwood.core.turn import Result, Turn

__all__ = ["CommandRun", "Ledger", "ledger_of", "render_ledger"]

Deed = Literal["read", "wrote", "changed", "ran"]

# Tools by what they do, and the arguments that name the file or the command.
_TOOLS: dict[str, tuple[Deed, tuple[str, ...]]] = {
    "read_file": ("read", ("path", "file_path")),
    "write_file": ("wrote", ("path", "file_path")),
    "edit_file": ("changed", ("path", "file_path")),
    "shell": ("ran", ("command", "cmd")),
}

_MOST = 40
"""Lines of one kind that a rendered ledger holds; the newest are kept."""


class CommandRun(Struct, frozen=True):
    """A command and how its last run ended."""

    command: str
    failed: bool


class Ledger(Struct, frozen=True):
    """What was done, each file and command once, in the order of the last time."""

    read: tuple[str, ...] = ()
    wrote: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    ran: tuple[CommandRun, ...] = ()

    @property
    def failing(self) -> tuple[str, ...]:
        """Commands whose last run failed."""
        return tuple(run.command for run in self.ran if run.failed)


def ledger_of(turns: Iterable[Turn]) -> Ledger:
    """The ledger of these turns."""
    found: dict[Deed, dict[str, bool]] = {"read": {}, "wrote": {}, "changed": {}, "ran": {}}
    for turn in turns:
        results = {item.call: item for item in turn.items if isinstance(item, Result)}
        for call in turn.calls.values():
            _enter(found, call, results.get(call.id))
    touched = {*found["wrote"], *found["changed"]}
    return Ledger(
        read=tuple(path for path in found["read"] if path not in touched),
        wrote=tuple(found["wrote"]),
        changed=tuple(path for path in found["changed"] if path not in found["wrote"]),
        ran=tuple(CommandRun(command, failed) for command, failed in found["ran"].items()),
    )


def _enter(found: dict[Deed, dict[str, bool]], call: ToolCall, result: Result | None) -> None:
    known = _TOOLS.get(call.name)
    if known is None or result is None:
        return
    deed, names = known
    subject = _argument(call.args, names)
    if not subject or (result.error and deed != "ran"):
        return
    found[deed].pop(subject, None)
    found[deed][subject] = result.error


def _argument(args: str, names: tuple[str, ...]) -> str:
    try:
        given = msgspec.json.decode(args, type=dict[str, object])
    except msgspec.MsgspecError:
        return ""
    values = (given.get(name) for name in names)
    return next((value for value in values if isinstance(value, str)), "")


def render_ledger(ledger: Ledger) -> str:
    """The ledger as a model or a person reads it; empty when there is nothing to tell."""
    sections = (
        ("Files created", ledger.wrote),
        ("Files changed", ledger.changed),
        ("Files read", ledger.read),
        ("Commands", tuple(f"{r.command}{' (failed)' if r.failed else ''}" for r in ledger.ran)),
    )
    return "\n".join(f"{title}: {', '.join(_shown(lines))}" for title, lines in sections if lines)


def _shown(lines: tuple[str, ...]) -> tuple[str, ...]:
    left_out = len(lines) - _MOST
    return lines if left_out <= 0 else (f"… {left_out} earlier", *lines[-_MOST:])
