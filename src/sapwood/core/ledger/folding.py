"""From turns to a ledger."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from sapwood.core.content import Text, ToolCall
from sapwood.core.ledger.entries import CommandRun, Failing, Files, FileTouched, Ledger
from sapwood.core.session import Session
from sapwood.core.turn import Result, Turn

__all__ = ["ledger_of"]

Deed = Literal["read", "created", "changed", "ran"]

_TOOLS: dict[str, tuple[Deed, tuple[str, ...]]] = {
    "read_file": ("read", ("path", "file_path")),
    "write_file": ("created", ("path", "file_path")),
    "edit_file": ("changed", ("path", "file_path")),
    "shell": ("ran", ("command", "cmd")),
    "Read": ("read", ("file_path",)),
    "Write": ("created", ("file_path",)),
    "Edit": ("changed", ("file_path",)),
    "Bash": ("ran", ("command",)),
}


def ledger_of(of: Session | Iterable[Turn], folder: str = "") -> Ledger:
    """The ledger of a session, or of turns that worked in a folder."""
    turns = tuple(of.turns if isinstance(of, Session) else of)
    files: dict[str, dict[str, None]] = {"read": {}, "created": {}, "changed": {}}
    runs: list[CommandRun] = []
    for number, turn in enumerate(turns, 1):
        results = {item.call: item for item in turn.items if isinstance(item, Result)}
        for call in turn.calls.values():
            result = results.get(call.id)
            known = _TOOLS.get(call.name)
            if result is None or known is None or not (subject := _argument(call, known[1])):
                continue
            if known[0] == "ran":
                outcome = "failed" if result.error else "ok"
                runs.append(CommandRun(subject, outcome, None, number))
            elif not result.error:
                files[known[0]][subject] = None
    last = {run.command: run for run in runs}
    return Ledger(
        files=Files(
            read=_touched(files["read"]),
            created=_touched(files["created"]),
            changed=_touched(path for path in files["changed"] if path not in files["created"]),
        ),
        commands=tuple(runs),
        failing=tuple(
            Failing(run.command, run.turn) for run in last.values() if run.outcome == "failed"
        ),
        last_request=_last_request(turns),
    )


def _touched(paths: Iterable[str]) -> tuple[FileTouched, ...]:
    return tuple(FileTouched(path) for path in paths)


def _argument(call: ToolCall, names: tuple[str, ...]) -> str:
    try:
        given = msgspec.json.decode(call.args, type=dict[str, object])
    except msgspec.MsgspecError:
        return ""
    values = (given.get(name) for name in names)
    return next((value for value in values if isinstance(value, str)), "")


def _last_request(turns: tuple[Turn, ...]) -> str:
    asked = next((turn for turn in reversed(turns) if turn.is_request), None)
    if asked is None:
        return ""
    return "\n".join(part.text for part in asked.prompt if isinstance(part, Text))
