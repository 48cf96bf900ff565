"""Calls of tools that the client runs: which are open, and how their results are stored.

Sapwood leaves a turn open whose model has called a tool of the client. The answer to the client
ends there, and the next request brings the results.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from sapwood.core.commands import FinishTool
from sapwood.core.content import RecordedResult, ToolCall
from sapwood.core.errors import accepted
from sapwood.core.events import ReplyAdded, ToolFinished
from sapwood.core.ids import CommandId, EventRef
from sapwood.core.turn import Turn
from sapwood.turns.open_agent import OpenAgent
from sapwood_server.request_context import RequestContext


class CallerCalls:
    """The open calls of a turn while its events arrive.

    `asks` are the names of the client's tools, `open_calls` the calls without a result before the
    first event.
    """

    def __init__(self, asks: frozenset[str], open_calls: Iterable[ToolCall] = ()) -> None:
        self._asks = asks
        self._open = {call.id: call for call in open_calls}
        self._asked: set[str] = set()

    @property
    def waits(self) -> bool:
        """Whether the turn waits for the client: every open call is one that it runs."""
        return bool(self._open) and self._asked.issuperset(self._open)

    @property
    def asked(self) -> tuple[str, ...]:
        """The ids of the open calls that the client runs."""
        return tuple(call for call in self._open if call in self._asked)

    def add_reply(self, reply: ReplyAdded) -> list[tuple[ToolCall, bool]]:
        """The calls of a reply, each with whether the client runs it.

        A call in which the reply was cut off is for nobody.
        """
        found: list[tuple[ToolCall, bool]] = []
        for part in reply.parts:
            if isinstance(part, ToolCall):
                self._open[part.id] = part
                is_cut = reply.ended != "done" and part is reply.parts[-1]
                if part.name in self._asks and not is_cut:
                    self._asked.add(part.id)
                found.append((part, part.id in self._asked))
        return found

    def add_result(self, result: ToolFinished) -> ToolCall | None:
        """The call of a result, if the server ran it."""
        call = self._open.pop(result.call, None)
        return None if call is None or call.name in self._asks else call


def waiting_calls(opened: OpenAgent) -> list[ToolCall]:
    """The calls of the open turn that wait for the client."""
    state, turn = opened.state, opened.live.open
    if turn is None or state.open is None or state.open.params is None:
        return []
    names = state.open.params.caller_names
    return [call for call in turn.open_calls if call.name in names]


class RequestId(Struct, frozen=True):
    """The command id of a request, and what the request asks for, as in `CommandMeta.request`.

    Without an id, each command of the request gets a new one.
    """

    id: str | None
    request: str = ""

    def part(self, what: str) -> str | None:
        """The command id of one of several commands of the request."""
        return f"{self.id}:{what}" if self.id else None


NO_ID = RequestId(None)


async def send_results(
    call: RequestContext, turn: Turn, results: Sequence[RecordedResult], given: RequestId
) -> int:
    """Stores the results of calls, so that the turn continues. Returns the version of the last.

    `given` is the id of the request. Raises `RefusedError`.
    """
    version = 0
    for number, each in enumerate(results):
        is_last = number == len(results) - 1
        done = await call.service.dispatch(
            FinishTool(
                turn.agent, each.call, each.content, each.error, files=each.files, turn=turn.first
            ),
            call.principal.actor,
            command_id=given.id if is_last else given.part(f"result{number}"),
            request=given.request if is_last else "",
        )
        version = done.events[-1].version
    return version


async def known_event(call: RequestContext, given: RequestId) -> EventRef | None:
    """The last event of the same request with this id, if it was sent before.

    Raises `RefusedError` if another request had this id.
    """
    if given.id is None:
        return None
    dispatcher = call.space.connection.dispatcher
    first = accepted(await dispatcher.first_answer(CommandId(given.id), given.request))
    return first.events[-1] if first is not None and first.events else None
