"""What can be read of agents, to compare it before and after erasures."""

import contextlib
from collections.abc import AsyncGenerator, Collection
from typing import cast

import msgspec

from sapwood import Cursor, Recorded, Sapwood
from sapwood.core.erasure import ERASED, without_agent
from sapwood.core.events import ContextLoaded, WordsErased
from sapwood.core.evolve import evolve
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary, TailedEvent
from sapwood.core.state import State
from sapwood.turns.open_agent import open_state


class Survey(msgspec.Struct, frozen=True):
    """Everything that can be read of one agent: events, request, summary, hits, and its fold."""

    events: tuple[Recorded, ...]
    request: object
    summary: AgentSummary | None
    hits: int
    folds: bool


async def survey(db: Sapwood, agent: AgentId, marker: str) -> Survey:
    """Reads an agent in every way. `folds`: the state from a snapshot is that of the whole log."""
    opened = await db.get(agent)
    events = await opened.events()
    state = State(agent)
    for recorded in events:
        state = evolve(state, recorded)
    log, space = db.connection.log, db.connection.space
    return Survey(
        tuple(events),
        await opened.request(),
        await log.summary(space, agent),
        len(await db.search(marker, agents=[agent], limit=1_000)),
        state == await open_state(log, space, agent),
    )


def compare(
    before: Survey, after: Survey, erased: Collection[AgentId], markers: Collection[str]
) -> list[str]:
    """What differs, and should not. Mail and quotations of erased agents may be replaced.

    `markers` are those of the erased agents. An agent whose log has changed was told so.
    """
    problems: list[str] = []
    told = [each for each in after.events if isinstance(each.event, WordsErased)]
    left = [each for each in after.events if not isinstance(each.event, WordsErased)]
    expected = list(before.events)
    changed = False
    for agent in erased:
        for place, recorded in enumerate(expected):
            event = without_agent(recorded.event, agent)
            if event is not None:
                expected[place] = msgspec.structs.replace(recorded, event=event)
                changed = True
    for place, recorded in enumerate(expected):
        event = recorded.event
        if isinstance(event, ContextLoaded) and any(word in event.text for word in markers):
            quotation = msgspec.structs.replace(event, text=ERASED)
            expected[place] = msgspec.structs.replace(recorded, event=quotation)
            changed = True
    if left != expected:
        problems.append("its events differ")
    if changed and not told:
        problems.append("it was not told")
    if not told and after.request != before.request:
        problems.append("its request differs")
    if any(word in str(after.request) for word in markers):
        problems.append("its request has words of an erased agent")
    if after.summary != _grown(before.summary, len(told)):
        problems.append("its summary differs")
    if after.hits != before.hits:
        problems.append(f"a search finds {after.hits} of {before.hits} events")
    if not after.folds:
        problems.append("its snapshot is not the fold of its log")
    return problems


def _grown(summary: AgentSummary | None, events: int) -> AgentSummary | None:
    return summary and msgspec.structs.replace(summary, version=summary.version + events)


async def tailed(db: Sapwood, count: int, after: Cursor | None = None) -> list[TailedEvent]:
    """The next `count` events of the space."""
    found: list[TailedEvent] = []
    tail = cast("AsyncGenerator[TailedEvent]", db.tail(after))
    async with contextlib.aclosing(tail):
        while len(found) < count:
            found.append(await anext(tail))
    return found
