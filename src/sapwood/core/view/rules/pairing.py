"""Every tool call has its result in the next message, and every result its call."""

from sapwood.core.content import ToolCall
from sapwood.core.live import Live
from sapwood.core.state import State
from sapwood.core.view.request import Message, Request, ToolResult

__all__ = ["Pairing"]


class Pairing:
    """Calls and results pair up, once each, in adjacent messages."""

    def broken(self, request: Request, state: State, live: Live) -> list[str]:
        """Calls without a result, results without a call, doubles."""
        faults: list[str] = []
        waiting: list[str] = []
        for message in request.messages:
            results, calls = _results(message), _calls(message)
            if results != waiting and sorted(results) != sorted(waiting):
                faults.append(f"calls {waiting} are answered by results {results}")
            waiting = calls
        if waiting:
            faults.append(f"calls {waiting} are never answered")
        return faults


def _calls(message: Message) -> list[str]:
    return [part.id for part in message.parts if type(part) is ToolCall]


def _results(message: Message) -> list[str]:
    return [part.call for part in message.parts if type(part) is ToolResult]
