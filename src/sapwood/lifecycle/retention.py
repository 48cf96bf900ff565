"""Retention: finds conversations that were idle for longer than a rule allows.

What happens with them, erasure or an archive, is the business of the caller. A legal hold exempts
a conversation.

Legal holds: they forbid erasure and retention until they are released. All of them are kept.
"""

from collections.abc import AsyncGenerator

from msgspec import Struct

from sapwood.core.erasure import Hold, HoldScope
from sapwood.core.errors import RefusedError
from sapwood.core.ids import Space
from sapwood.core.log_values import AgentSummary
from sapwood.core.refusals import UnknownHold
from sapwood.lifecycle.erasable_log import ErasableLog
from sapwood.turns.clock_and_ids import new_record_id, now

DAY = 86_400_000_000
"""Microseconds."""

_PAGE = 1_000


class RetentionRule(Struct, frozen=True):
    """Conversations of a label, of an owner or of all, without an event for so many days.

    >>> RetentionRule(days=90, label="trial").owner
    ''
    """

    days: float
    label: str = ""
    owner: str = ""


class IdleConversation(Struct, frozen=True):
    """A conversation that is idle: its agents, the root first, and the time of its last event."""

    members: tuple[AgentSummary, ...]
    updated: int
    held: bool = False

    @property
    def root(self) -> AgentSummary:
        """The agent with which it began."""
        return self.members[0]

    @property
    def agents(self) -> int:
        """How many agents it has."""
        return len(self.members)


async def idle_conversations(
    log: ErasableLog, space: Space, rule: RetentionRule
) -> list[IdleConversation]:
    """The conversations that the rule is about, the longest idle first.

    A conversation with an open turn is not idle. Those under a legal hold are marked as held.
    """
    found = [each async for each in find_idle(log, space, rule)]
    return sorted(found, key=lambda each: each.updated)


async def find_idle(
    log: ErasableLog, space: Space, rule: RetentionRule
) -> AsyncGenerator[IdleConversation]:
    """Yields the conversations that the rule is about, the newest first.

    Reads a page of summaries at a time, and the family of each root that is idle itself.
    """
    holds = [hold for hold in await log.holds(space) if not hold.released]
    space_held = any(hold.scope == "space" for hold in holds)
    subjects = {(hold.scope, hold.subject) for hold in holds}
    before = now() - int(rule.days * DAY)
    page = await log.agents(space, limit=_PAGE)
    while page:
        for root in page:
            if root.parent is not None or not _is_idle(root, before) or not _is_meant(root, rule):
                continue
            members = await log.family(space, root.agent)
            if members and all(_is_idle(summary, before) for summary in members):
                held = space_held or any(
                    ("agent", summary.agent) in subjects or ("owner", _owner(summary)) in subjects
                    for summary in members
                )
                updated = max(summary.updated for summary in members)
                yield IdleConversation(tuple(members), updated, held)
        page = await log.agents(space, after=page[-1], limit=_PAGE)


def _is_idle(summary: AgentSummary, before: int) -> bool:
    return summary.updated < before and not summary.working


def _is_meant(root: AgentSummary, rule: RetentionRule) -> bool:
    labels = root.tags.labels if root.tags is not None else ()
    return (not rule.label or rule.label in labels) and (
        not rule.owner or rule.owner == _owner(root)
    )


def _owner(summary: AgentSummary) -> str:
    return summary.tags.owner if summary.tags is not None else ""


async def add_hold(
    log: ErasableLog, space: Space, scope: HoldScope, subject: str, *, by: str, reason: str = ""
) -> Hold:
    """Stores a new hold and returns it."""
    hold = Hold(new_record_id(), now(), by, scope, subject, reason)
    await log.add_hold(space, hold)
    return hold


async def release_hold(log: ErasableLog, space: Space, hold: str, *, by: str) -> None:
    """Releases a hold. Raises `RefusedError` if none with this id is in force."""
    if not await log.release_hold(space, hold, by, now()):
        raise RefusedError(UnknownHold(hold))
