"""Gets what was prepared for a hook, or has it prepared while the hook waits a moment."""

import time
from collections.abc import Mapping

from sapwood.app.tending.indexing import index_later
from sapwood.app.tending.preparing import Prepared, focus_stamp, prepare, recall
from sapwood.app.tending.tended import TAIL, Tended

__all__ = ["prepared_for"]

PATIENCE = 1.2
"""Seconds to wait for what is being prepared, before it is prepared here."""
_STEP = 0.02


def prepared_for(
    tended: Tended, environ: Mapping[str, str], *, up_to_now: bool = False
) -> Prepared:
    """What was prepared of a session, as of the last time that a hook asked for it.

    With `up_to_now`, as of now.
    """
    asked = tended.memory.number("asked")
    needed = tended.size if up_to_now or not asked else asked
    stamp = focus_stamp()
    until = time.monotonic() + PATIENCE
    found = recall(tended.memory)
    if not _serves(found, needed, stamp):
        index_later(tended, environ)
    while found is None or not _serves(found, needed, stamp):
        if time.monotonic() > until:
            return prepare(tended, environ, TAIL)
        time.sleep(_STEP)
        found = recall(tended.memory)
    return found


def _serves(found: Prepared | None, needed: int, stamp: int) -> bool:
    return found is not None and found.size >= needed and found.focus == stamp
