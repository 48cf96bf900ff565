"""Retention: finds conversations that were idle for longer than a rule allows.

What happens with them, erasure or an archive, is the business of the caller. A legal hold exempts
a conversation.
"""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary
from sapwood.lifecycle.erasable_log import ErasableLog
from sapwood.runtime.clock_and_ids import now

__all__ = ["DAY", "IdleConversation", "RetentionRule", "idle_conversations"]

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
    """A root agent whose conversation is idle, and the time of its last event."""

    root: AgentSummary
    agents: int
    updated: int
    held: bool = False


async def idle_conversations(
    log: ErasableLog, space: Space, rule: RetentionRule
) -> list[IdleConversation]:
    """The conversations that the rule is about, the longest idle first.

    A conversation with an open turn is not idle. Those under a legal hold are marked as held.
    """
    families = _families(await _all_agents(log, space))
    holds = [hold for hold in await log.holds(space) if not hold.released]
    space_held = any(hold.scope == "space" for hold in holds)
    subjects = {(hold.scope, hold.subject) for hold in holds}
    before = now() - int(rule.days * DAY)
    found: list[IdleConversation] = []
    for members in families.values():
        updated = max(facts.updated for facts in members)
        if updated >= before or any(facts.working for facts in members):
            continue
        if not _is_meant(members[0], rule):
            continue
        held = space_held or any(
            ("agent", facts.agent) in subjects or ("owner", _owner(facts)) in subjects
            for facts in members
        )
        found.append(IdleConversation(members[0], len(members), updated, held))
    return sorted(found, key=lambda each: each.updated)


async def _all_agents(log: ErasableLog, space: Space) -> list[AgentSummary]:
    found: list[AgentSummary] = []
    page = await log.agents(space, limit=_PAGE)
    while page:
        found += page
        page = await log.agents(space, after=page[-1], limit=_PAGE)
    return found


def _families(agents: Sequence[AgentSummary]) -> dict[AgentId, list[AgentSummary]]:
    """The agents of each root; the root comes first."""
    known = {facts.agent: facts for facts in agents}
    families: dict[AgentId, list[AgentSummary]] = {
        facts.agent: [facts] for facts in agents if facts.parent is None
    }
    for facts in agents:
        root = facts
        while root.parent is not None and root.parent in known:
            root = known[root.parent]
        if root.agent != facts.agent and root.agent in families:
            families[root.agent].append(facts)
    return families


def _is_meant(root: AgentSummary, rule: RetentionRule) -> bool:
    labels = root.tags.labels if root.tags is not None else ()
    return (not rule.label or rule.label in labels) and (
        not rule.owner or rule.owner == _owner(root)
    )


def _owner(facts: AgentSummary) -> str:
    return facts.tags.owner if facts.tags is not None else ""
