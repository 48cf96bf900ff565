"""What a model would be sent now, and the manifest that is stored before it is sent."""

import hashlib
from collections.abc import Iterable

from sapwood.conversation.call import OpenSpace
from sapwood.core.budget import Budget, budget_of
from sapwood.core.commands import CallModel
from sapwood.core.history_size import count_texts, settled
from sapwood.core.ids import AgentId
from sapwood.core.token_count import Count
from sapwood.core.view import Request, check, view
from sapwood.core.view.request import digest


async def request_for(space: OpenSpace, agent: AgentId, model: str | None = None) -> Request:
    """The request that the agent's model, or another one, would be sent now.

    Raises `AssertionError` if the request would not be valid for a provider, which is a defect.
    """
    opened = await space.dispatcher.open(agent)
    request = view(opened.state, opened.live, model)
    if faults := check(request, opened.state, opened.live):
        raise AssertionError(f"a bug in Sapwood: {'; '.join(faults)}")
    return request


async def budget_for(space: OpenSpace, agent: AgentId) -> Budget:
    """What fills the window of the agent's model, block by block."""
    opened = await space.dispatcher.open(agent)
    counter = space.counter_for(opened.state.settings.model)
    return budget_of(opened.state, opened.live, counter)


async def history_in_view(space: OpenSpace, agent: AgentId) -> tuple[int, Count]:
    """How many ended turns the agent's model sees, and their size."""
    opened = await space.dispatcher.open(agent)
    counter = space.counter_for(opened.state.settings.model)
    return len(opened.live.turns), settled(opened.live, counter, opened.state.ratio())


def manifest_for(
    space: OpenSpace, agent: AgentId, request: Request, *, params: str = "{}", tools: str = ""
) -> CallModel:
    """The command that stores what is about to be sent.

    `params` and `tools` are JSON: parameters are stored as they are, tools as hash and size.
    """
    offered = _counted(space, request.model, [tools])
    return CallModel(
        agent,
        request.model,
        digest(request),
        estimate=_counted(space, request.model, request.texts())
        + sum(file.tokens for file in request.files())
        + offered,
        params=params,
        tools=hashlib.sha256(tools.encode()).hexdigest() if tools else "",
        offered=offered,
    )


def _counted(space: OpenSpace, model: str, texts: Iterable[str]) -> int:
    return count_texts(texts, space.counter_for(model))
