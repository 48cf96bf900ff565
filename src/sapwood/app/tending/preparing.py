"""What hooks say, prepared before they are asked: the resumption prompt, and what would be lost.

To read decisions and topics out of a session takes longer than a hook may. So this runs when a turn
has ended, in a process that nobody waits for, over much more of the transcript than a hook reads.
"""

import os
from collections.abc import Mapping
from functools import partial

import msgspec
from msgspec import Struct

from sapwood.app.folders import focus_stamp_file
from sapwood.app.tending.memory import Memory
from sapwood.app.tending.tended import MUCH, Tended

__all__ = ["Prepared", "focus_stamp", "prepare", "recall"]

_PATH = 64
"""Tokens that are left for the path of an archive."""


class Prepared(Struct, frozen=True):
    """What was found in a transcript when it was `size` bytes long, and the focus of that time.

    `brief` is the resumption prompt for subagents; `lost` is what a compaction would lose, `acts`
    what would free how many tokens.
    """

    size: int
    focus: int = 0
    resumption: str = ""
    brief: str = ""
    lost: str = ""
    acts: str = ""


def recall(memory: Memory) -> Prepared | None:
    """What was prepared last."""
    try:
        return msgspec.json.decode(memory.get("prepared"), type=Prepared)
    except msgspec.MsgspecError:
        return None


def focus_stamp() -> int:
    """When a focus stack was last changed on this machine."""
    try:
        return os.stat(focus_stamp_file()).st_mtime_ns
    except OSError:
        return 0


def prepare(tended: Tended, environ: Mapping[str, str], size: int = MUCH) -> Prepared:
    """Prepares everything anew from so many bytes at the end, and remembers it."""
    from sapwood.app.config import load_config
    from sapwood.app.project_focus import stack_now
    from sapwood.app.tending.keeping import kept_archives
    from sapwood.core.ledger import ledger_of
    from sapwood.garden.drifting import drift_of
    from sapwood.garden.focus import names_in_focus
    from sapwood.garden.losing import freeing_acts, loss_of
    from sapwood.garden.pruning import advise
    from sapwood.garden.resuming import resumption_prompt
    from sapwood.tokens.chars4 import Chars4Counter

    length, stamp = tended.size, focus_stamp()
    session, counter = tended.read(size), Chars4Counter()
    config = load_config(environ)
    focus = stack_now(config, session.folder)
    names, archives = (
        names_in_focus(focus),
        [archive for _, archive in kept_archives(tended.memory)],
    )
    tending = config.tending
    ledger = ledger_of(session)
    give = partial(
        *(resumption_prompt, session, counter), focus=names, archives=archives, ledger=ledger
    )
    resumption, brief = (
        give(budget=budget) if budget and session.turns else ""
        for budget in (max(tending.budget - _PATH, 0), tending.subagent_budget)
    )
    loss = loss_of(session, ledger, counter)
    background = [topic.name for topic in focus.background]
    advice = advise(session, counter, drift_of(session, counter, names), background)
    prepared = Prepared(length, stamp, resumption, brief, loss.told(), freeing_acts(loss, advice))
    tended.memory.put("prepared", msgspec.json.encode(prepared).decode())
    return prepared
