"""The status line: how full the window is, and what a compaction would lose.

It is drawn several times a second, so it reads no transcript and imports almost nothing. The
program passes the token counts; the background process found what would be lost.
"""

import json
import time
from collections.abc import Mapping
from typing import Any, cast

from sapwood.context_actions.hook_memory import HookMemory, hook_memory_folder
from sapwood.programs.registry import program, programs_with

_YELLOW, _RED, _PLAIN = "\x1b[33m", "\x1b[31m", "\x1b[0m"
_WARN, _ALARM = 0.65, 0.85


def draw(content: bytes, environ: Mapping[str, str]) -> bytes:
    """Returns one line of text; nothing while the program does not know its token counts yet."""
    fields = _object(json.loads(content or b"{}"))
    context = _object(fields.get("context_window"))
    used, window = _number(context, "total_input_tokens"), _number(context, "context_window_size")
    if usage := _object(context.get("current_usage")):
        parts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        used = sum(_number(usage, part) for part in parts) or used
    memory = HookMemory(hook_memory_folder(), str(fields.get("session_id") or ""))
    if window and window != memory.number("window"):
        memory.put("window", window)
    drawn_by = next(each.name for each in programs_with("hooks") if each.has_status_line)
    folder = str(_object(fields.get("workspace")).get("project_dir") or fields.get("cwd") or "")
    limit = compaction_limit(drawn_by, window, memory, environ, folder)
    if not used or not limit:
        return b""
    cold = cold_line(memory)
    line = _line(used, limit, _lost(memory), environ)
    return (f"{line} · {cold}\n" if cold else f"{line}\n").encode()


def cold_line(memory: HookMemory) -> str:
    """What coming back costs, if the provider's cache has ended since the last call; else empty."""
    until, _, line = memory.get("cold").partition("\n")
    return line if until.isdecimal() and time.time() > int(until) else ""


def compaction_limit(
    name: str, window: int | None, memory: HookMemory, environ: Mapping[str, str], folder: str
) -> int | None:
    """The tokens at which the program compacts, else its window; None if neither is known.

    `folder` is that of the project, which may have a limit of its own. Remembers the number, so
    that `sapwood context` shows the same one.
    """
    known = window or memory.number("window") or None
    limit = program(name).hooks.compaction_limit(environ, folder) if name else None
    if limit is None or known is None:
        found = limit or known
    else:
        found = min(limit, known)
    if found and found != memory.number("limit"):
        memory.put("limit", found)
    return found


def _lost(memory: HookMemory) -> str:
    try:
        return str(_object(json.loads(memory.get("prepared") or "{}")).get("lost", ""))
    except (ValueError, RecursionError):
        return ""


def _line(used: int, limit: int, loss: str, environ: Mapping[str, str]) -> str:
    share = used / limit
    line = f"context {_short(used)} of {_short(limit)}, {share:.0%}"
    if share >= _WARN:
        line += f" · a compaction would lose {loss}" if loss else ""
        line += " · sapwood context prune"
    if environ.get("NO_COLOR") or share < _WARN:
        return line
    return f"{_RED if share >= _ALARM else _YELLOW}{line}{_PLAIN}"


def _short(tokens: int) -> str:
    return f"{tokens / 1_000_000:.1f}M" if tokens >= 1_000_000 else f"{tokens / 1_000:.0f}k"


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _number(values: Mapping[str, Any], name: str) -> int:
    value = values.get(name)
    return int(value) if isinstance(value, int | float) else 0
