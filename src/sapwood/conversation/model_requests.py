"""What a model would be sent now, and the manifest that is stored before it is sent.

What a program needs that runs a turn itself: a lease of the turn, and a store for its words.
"""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import groupby

from sapwood.conversation.call import OpenSpace
from sapwood.core.budget import Budget, budget_of
from sapwood.core.commands import CallModel
from sapwood.core.content import ReplyPart, Text, Thinking
from sapwood.core.history_size import count_texts, settled
from sapwood.core.ids import AgentId
from sapwood.core.lease import Lease
from sapwood.core.model_calls import Delta
from sapwood.core.token_count import Count
from sapwood.core.view import Request, check, view
from sapwood.core.view.request import digest
from sapwood.turns.clock_and_ids import new_nonce, now
from sapwood.turns.reply_stream import ReplyStream


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


def new_holder() -> str:
    """A random name under which a program has a lease."""
    return new_nonce()


def lease_for(holder: str, seconds: float) -> Lease:
    """A lease from now on."""
    return Lease(holder, now() + int(seconds * 1_000_000))


class RequestWords:
    """The words of one reply while they arrive, stored a few times each second and masked."""

    def __init__(
        self, space: OpenSpace, agent: AgentId, turn: int, asked: int, model: str, holder: str
    ) -> None:
        self._stream = ReplyStream(space.dispatcher, agent, turn, asked, model, holder=holder)
        self._pieces: list[Delta] = []

    def add(self, text: str, *, is_thinking: bool = False) -> None:
        """Adds a piece of the reply. It is stored soon."""
        self._pieces.append(Delta("thinking" if is_thinking else "text", text))
        self._stream.add(self._pieces[-1])

    def ordered(self, parts: Sequence[ReplyPart]) -> Sequence[ReplyPart]:
        """The thinking and the text of the reply in the order in which the same words arrived.

        If they are other words, or if the thinking is signed as a whole, they stay as they are.
        """
        arrived: list[Text | Thinking] = []
        for kind, pieces in groupby(self._pieces, lambda piece: piece.kind):
            words = "".join(piece.text for piece in pieces)
            arrived.append(Thinking(words) if kind == "thinking" else Text(words))
        is_signed = any(isinstance(part, Thinking) and part.signature for part in parts)
        return parts if is_signed or _by_kind(arrived) != _by_kind(parts) else arrived

    async def flush(self) -> None:
        """Stores everything that has arrived."""
        await self._stream.flush()

    async def close(self) -> None:
        """Stops storing."""
        await self._stream.close()


def _by_kind(parts: Sequence[ReplyPart]) -> list[str]:
    """The text and the thinking of these parts."""
    return [
        "".join(part.text for part in parts if isinstance(part, kind)) for kind in (Text, Thinking)
    ]
