"""The number of tokens at which a program compacts: its user's setting or the model's window."""

from collections.abc import Mapping

from sapwood.context_actions.hook_memory import HookMemory
from sapwood.programs.registry import program


def compaction_limit(
    name: str, window: int | None, memory: HookMemory, environ: Mapping[str, str]
) -> int | None:
    """The tokens at which the program compacts, else its window; None if neither is known.

    Remembers the number, so that `sapwood context` shows the same one.
    """
    known = window or memory.number("window") or None
    limit = program(name).hooks.compaction_limit(environ) if name else None
    if limit is None or known is None:
        found = limit or known
    else:
        found = min(limit, known)
    if found and found != memory.number("limit"):
        memory.put("limit", found)
    return found
