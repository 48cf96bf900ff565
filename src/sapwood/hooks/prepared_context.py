"""What hooks answer with, prepared in advance: resumption prompts, and what would be lost.

Reading decisions and chapters from a session takes longer than a hook may run. So the background
process does it when a turn has ended, and reads more of the transcript than a hook could.
"""

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from sapwood.analysis.session import Session
from sapwood.config.folders import focus_stamp_file
from sapwood.context_actions.hook_memory import HookMemory
from sapwood.hooks.watched_session import BACKGROUND_BYTES, HOOK_BYTES, WatchedSession

if TYPE_CHECKING:
    from sapwood.core.state import DeclaredNote

_PATH_TOKENS = 64
"""Tokens of the budget that are left for the path of an archive."""
_WAIT_SECONDS = 1.2
"""How long a hook waits for the background process before it prepares the answer itself."""
_POLL_SECONDS = 0.02


class PreparedContext(Struct, frozen=True):
    """What was prepared when the transcript had `size` bytes and the focus changed at `focus`.

    `brief` is the resumption prompt for subagents, `lost` what a compaction would lose, `turns` how
    many turns of it, `keep` what a summary must keep, `remedies` what would free how many tokens,
    and `request` the last request of the user. `names_archive` says whether the budget has room for
    the path of an archive.
    """

    size: int
    focus: int = 0
    resumption: str = ""
    brief: str = ""
    lost: str = ""
    remedies: str = ""
    request: str = ""
    names_archive: bool = True
    turns: int = 0
    keep: str = ""


def prepared_for(
    watched: WatchedSession, environ: Mapping[str, str], *, up_to_now: bool = False
) -> PreparedContext:
    """Returns what is prepared for a session, after waiting for the background process if needed.

    It covers the transcript up to the last start of the background process; with `up_to_now`, up
    to its present end.
    """
    asked = watched.memory.number("asked")
    needed = watched.size if up_to_now or not asked else asked
    focus = _focus_changed_at()
    until = time.monotonic() + _WAIT_SECONDS
    found = last_prepared(watched.memory)
    if not _is_current(found, needed, focus):
        watched.start_background_work(environ)
    while found is None or not _is_current(found, needed, focus):
        if time.monotonic() > until:
            return prepare(watched, environ, HOOK_BYTES)
        time.sleep(_POLL_SECONDS)
        found = last_prepared(watched.memory)
    return found


def prepare(
    watched: WatchedSession, environ: Mapping[str, str], size: int = BACKGROUND_BYTES
) -> PreparedContext:
    """Prepares everything from the last `size` bytes of the transcript, and remembers it."""
    import asyncio  # late: only the work in the background needs it

    from sapwood.analysis.chapters.chapter_builder import chapters_of
    from sapwood.analysis.compaction_warning import loss_of, ways_to_free_tokens
    from sapwood.analysis.declared_notes import goals_of, stated_ledger
    from sapwood.analysis.focus import declared_status
    from sapwood.analysis.judgement.judged_entries import judged_turns
    from sapwood.analysis.ledger.ledger_builder import ledger_of
    from sapwood.analysis.prune_advice import advise_pruning
    from sapwood.analysis.resumption import resumption_prompt
    from sapwood.app.connection import connect
    from sapwood.config.config_file import load_config
    from sapwood.context_actions.archive_files import archived_topics
    from sapwood.context_actions.session_notes import SessionNotes
    from sapwood.hooks.hook_archives import recent_archives
    from sapwood.tokens.counters import CachingCounter
    from sapwood.tokens.estimators import FeatureCounter
    from sapwood.turns.clock_and_ids import new_nonce

    length, focus_changed_at = watched.size, _focus_changed_at()
    session = watched.read(size)
    counter = CachingCounter(FeatureCounter())  # a vocabulary takes longer than a hook may run
    config = load_config(environ)
    stated = asyncio.run(SessionNotes(config, connect).read(session))
    goals = goals_of(stated.notes)
    declared = declared_status(stated.focus, goals, judged_turns(session, stated.judged))
    names = declared.goals
    archives = [archive for _, archive in recent_archives(watched.memory)]
    tending = config.tending
    ledger = stated_ledger(ledger_of(session, live=True), session, stated.notes, stated.judged)
    prompt = partial(
        *(resumption_prompt, session, counter),
        focus=names,
        archives=archives,
        ledger=ledger,
        in_view=_kept(session),
    )
    names_archive = tending.budget >= 3 * _PATH_TOKENS
    budget = tending.budget - (_PATH_TOKENS if names_archive else 0) if session.turns else 0
    resumption = prompt(budget=budget, fence=new_nonce(), is_recap=True) if budget else ""
    budget = tending.subagent_budget if session.turns else 0
    brief = prompt(budget=budget, fence=new_nonce(), to_subagent=True) if budget else ""
    loss = loss_of(session, ledger, counter)
    background = [topic.name for topic in stated.focus.background]
    advice = advise_pruning(
        session,
        counter,
        chapters_of(session, counter, declared),
        background,
        archived_topics(session),
    )
    remedies = ways_to_free_tokens(loss, advice)
    prepared = PreparedContext(
        length,
        focus_changed_at,
        resumption,
        brief,
        loss.describe(),
        remedies,
        session.last_request,
        names_archive,
        loss.turns,
        _words_to_keep(names, stated.notes),
    )
    watched.memory.put("prepared", msgspec.json.encode(prepared).decode())
    return prepared


def _words_to_keep(goals: Sequence[str], notes: "Sequence[DeclaredNote]") -> str:
    """The goals and the other notes in force, one a line."""
    lines = [f"- Goal: {goal}" for goal in goals]
    lines += [f"- {each.note.capitalize()}: {each.text}" for each in notes if each.note != "goal"]
    return "\n".join(lines)


def _kept(session: Session) -> frozenset[int]:
    """Returns the numbers of the turns that a compaction just now left in view."""
    if not session.boundaries or session.boundaries[-1].after < len(session.turns):
        return frozenset()
    return frozenset(session.numbers[index] for index in session.indexes_in_view)


def last_prepared(memory: HookMemory) -> PreparedContext | None:
    """What was prepared last for a session; None if nothing was."""
    try:
        return msgspec.json.decode(memory.get("prepared"), type=PreparedContext)
    except msgspec.MsgspecError:
        return None


def _is_current(found: PreparedContext | None, needed: int, focus: int) -> bool:
    return found is not None and found.size >= needed and found.focus == focus


def _focus_changed_at() -> int:
    """When the focus stack last changed, in nanoseconds since 1970; 0 if there is none."""
    try:
        return os.stat(focus_stamp_file()).st_mtime_ns
    except OSError:
        return 0
