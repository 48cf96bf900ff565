"""Replay: builds any past request again from the log and compares it with the stored hash."""

from collections.abc import Iterable, Iterator
from itertools import dropwhile

from msgspec import Struct

from sapwood.core.events import ModelCalled, Recorded, TurnRecorded, TurnStarted
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.turn_numbers import NumberedCall
from sapwood.core.view import Request, view
from sapwood.core.view.request import digest
from sapwood.turns.log import Log
from sapwood.turns.open_agent import open_agent
from sapwood.turns.turn_lookup import number_at

_PAGE = 500


class Replayed(Struct, frozen=True):
    """A request that was sent to a model. `matches`: the rebuilt request has the stored hash.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     agent = db.start("demo", model="gpt-5")
    ...     with agent.turn("What is 6 x 7?") as turn:
    ...         request = turn.call()
    ...         turn.reply("42")
    ...     seen = agent.replay()
    ...     print(seen.called.model, seen.matches, seen.request == request)
    gpt-5 True True
    """

    ref: EventRef
    called: ModelCalled
    request: Request
    matches: bool


async def replay(log: Log, space: Space, agent: AgentId, version: int) -> Replayed | None:
    """Rebuilds the request of the model call at this version; None if there is no model call."""
    found = await log.read(space, agent, version, version)
    if not found or not isinstance(found[0].event, ModelCalled):
        return None
    called = found[0].event
    opened = await open_agent(log, space, agent, version - 1)
    request = view(
        opened.state,
        opened.live,
        called.model,
        called.instruction,
        version=called.view,
        summarised=called.summarised,
    )
    return Replayed(found[0].ref, called, request, digest(request) == called.hash)


async def last_call(log: Log, space: Space, agent: AgentId) -> int | None:
    """The version of the newest model call; None if there is none."""
    last: int | None = None
    while True:
        page = await log.read(space, agent, 1, last, limit=256, backward=True)
        for recorded in page:
            if isinstance(recorded.event, ModelCalled):
                return recorded.version
        if not page or page[-1].version == 1:
            return None
        last = page[-1].version - 1


async def numbered_calls(log: Log, space: Space, agent: AgentId, limit: int) -> list[NumberedCall]:
    """The model calls of an agent, newest first, each with its turn."""
    events, last = list[Recorded](), None
    while sum(not _starts_turn(each) for each in dropwhile(_is_call, reversed(events))) < limit:
        page = await log.read(space, agent, 1, last, limit=_PAGE, backward=True)
        events += [each for each in page if _is_call(each) or _starts_turn(each)]
        if len(page) < _PAGE:
            break
        last = page[-1].version - 1
    events.reverse()
    start = next(filter(_starts_turn, events), None)
    number = await number_at(log, space, start.ref) if start else 1
    return list(_numbered(events, number))[-limit:][::-1]


def _is_call(recorded: Recorded) -> bool:
    return isinstance(recorded.event, ModelCalled)


def _starts_turn(recorded: Recorded) -> bool:
    return isinstance(recorded.event, TurnStarted | TurnRecorded)


def _numbered(events: Iterable[Recorded], first: int) -> Iterator[NumberedCall]:
    """The calls among events, of which the first that starts a turn starts the turn `first`."""
    turn, nth = first - 1, 0
    for recorded in events:
        if _starts_turn(recorded):
            turn, nth = turn + 1, 0
        elif isinstance(recorded.event, ModelCalled):
            if recorded.event.instruction:
                yield NumberedCall(recorded, 0, 0)
            else:
                nth += 1
                yield NumberedCall(recorded, turn, nth)
