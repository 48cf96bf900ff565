"""What a program needs that runs a turn itself: a lease of the turn, and a store for its words."""

from sapwood.conversation.call import OpenSpace
from sapwood.core.ids import AgentId
from sapwood.core.lease import Lease
from sapwood.core.model_calls import Delta
from sapwood.turns.clock_and_ids import new_nonce, now
from sapwood.turns.reply_stream import ReplyStream


def new_holder() -> str:
    """A random name under which a program has a lease."""
    return new_nonce()


def lease_for(holder: str, seconds: float) -> Lease:
    """A lease from now on."""
    return Lease(holder, now() + int(seconds * 1_000_000))


class ArrivingWords:
    """The words of one reply while they arrive, stored a few times each second and masked."""

    def __init__(
        self, space: OpenSpace, agent: AgentId, turn: int, asked: int, model: str, holder: str
    ) -> None:
        self._stream = ReplyStream(space.dispatcher, agent, turn, asked, model, holder=holder)

    def add(self, text: str, *, is_thinking: bool = False) -> None:
        """Adds a piece of the reply. It is stored soon."""
        self._stream.add(Delta("thinking" if is_thinking else "text", text))

    async def flush(self) -> None:
        """Stores everything that has arrived."""
        await self._stream.flush()

    async def close(self) -> None:
        """Stops storing."""
        await self._stream.close()
