"""Replay: builds any past request again from the log and compares it with the stored hash."""

from msgspec import Struct

from sapwood.core.events import ModelCalled
from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.view import Request, view
from sapwood.core.view.request import digest
from sapwood.turns.log import Log
from sapwood.turns.open_agent import open_agent


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
