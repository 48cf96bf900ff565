"""The person's own commands at events of a conversation, run as Claude Code runs its hooks.

A hook gets the same JSON on its standard input. With exit code 2 it objects, and its standard error
says why. Any other end changes nothing.
"""

import logging
import os
import re
import shutil
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from sapwood.config.config_file import HookEvent
from sapwood.workspace.programs import ProgramResult, run_program

_OBJECTS = 2
_MAX_BYTES = 100_000
_log = logging.getLogger("sapwood.hooks")


class EventHook(Struct, frozen=True):
    """A command at an event, for the tools that `matcher` matches; '' and '*' match all."""

    name: str
    event: HookEvent
    command: str
    matcher: str = ""
    seconds: float = 60.0

    def is_for(self, event: HookEvent, tool: str) -> bool:
        """Whether the hook runs at this event. A matcher is a regular expression."""
        if self.event != event:
            return False
        return self.matcher in ("", "*") or re.fullmatch(self.matcher, tool) is not None


class Objection(Struct, frozen=True):
    """The hook that objects, and why."""

    hook: str
    why: str


class EventHooks:
    """The hooks of one person, in order."""

    def __init__(self, hooks: Sequence[EventHook]) -> None:
        self._hooks = tuple(hooks)

    async def objections(
        self, event: HookEvent, folder: str, fields: Mapping[str, object], tool: str = ""
    ) -> list[Objection]:
        """Runs the hooks of an event until one objects; all of them after a tool call."""
        found: list[Objection] = []
        given = _given(event, folder, fields)
        for hook in self._hooks:
            if not hook.is_for(event, tool):
                continue
            result = await _ended(hook, given, folder)
            if result is not None and result.status == _OBJECTS:
                found.append(Objection(hook.name, result.errors.strip() or "it gave no reason"))
                if event != "PostToolUse":
                    break
        return found

    async def outputs(
        self, event: HookEvent, folder: str, fields: Mapping[str, object]
    ) -> list[tuple[EventHook, str]]:
        """Runs all hooks of an event. Returns those that ended well, with what they printed."""
        found: list[tuple[EventHook, str]] = []
        for hook in self._hooks:
            if hook.is_for(event, ""):
                result = await _ended(hook, _given(event, folder, fields), folder)
                if result is not None and result.status == 0 and result.output.strip():
                    found.append((hook, result.output))
        return found


def _given(event: HookEvent, folder: str, fields: Mapping[str, object]) -> bytes:
    """What a hook gets on its standard input."""
    return msgspec.json.encode(
        {"transcript_path": "", "cwd": folder, "hook_event_name": event, **fields}
    )


async def _ended(hook: EventHook, given: bytes, folder: str) -> ProgramResult | None:
    """The end of a hook; None if it could not be started."""
    try:
        result = await _run(hook, given, folder)
    except OSError as error:
        _log.warning("The hook %s could not be started: %s", hook.name, error)
        return None
    if result.status not in (0, _OBJECTS):
        ended = "took too long" if result.status is None else f"ended with {result.status}"
        _log.warning("The hook %s %s: %s", hook.name, ended, result.errors.strip()[:500])
    return result


async def _run(hook: EventHook, given: bytes, folder: str) -> ProgramResult:
    return await run_program(
        [shutil.which("bash") or "/bin/sh", "-c", hook.command],
        folder=folder or os.getcwd(),
        environment=os.environ,
        seconds=hook.seconds,
        stdin=given,
        max_bytes=_MAX_BYTES,
    )
