"""The messages of a turn: prompt, replies, results. The last one is always the assistant's.

Every reply with calls is followed by one message with a result for each call, in order. A call
without a result gets a placeholder.
"""

from sapwood.core.content import Text, ToolCall
from sapwood.core.result_masks import stubs
from sapwood.core.turn import Reply, Result, Turn
from sapwood.core.view.frames import (
    EMPTY_RESULT,
    PENDING,
    framed_prompt,
    how_it_ended,
    how_it_was_cut,
)
from sapwood.core.view.request import Message, MessagePart, ToolResult

__all__ = ["messages_of"]


def messages_of(turn: Turn, edge: int = 0, over: int = 0) -> list[Message]:
    """The messages of a turn. Results up to version `edge` with more than `over` characters are
    masked.
    """
    messages = [Message("user", framed_prompt(turn.prompt))]
    results: dict[str, Result] | None = None
    masked = stubs(turn, edge, over)
    for item in turn.items:
        if type(item) is not Reply:
            continue
        _say(messages, _spoken(item))
        calls = item.calls
        if calls:
            if results is None:
                results = {each.call: each for each in turn.items if isinstance(each, Result)}
            answers = [_answer(turn, call, results.get(call.id), masked) for call in calls]
            messages.append(Message("user", tuple(answers)))
    if turn.status != "open":
        _close(messages, turn)
    return messages


def _spoken(reply: Reply) -> tuple[MessagePart, ...]:
    spoken: list[MessagePart] = [
        part for part in reply.parts if type(part) is not Text or part.text.strip()
    ]
    if not reply.calls and (cut := how_it_was_cut(reply.ended)):
        spoken.append(Text(cut))
    return tuple(spoken)


def _say(messages: list[Message], parts: tuple[MessagePart, ...]) -> None:
    if not parts:
        return
    if messages[-1].role == "assistant":
        parts = (*messages.pop().parts, *parts)
    messages.append(Message("assistant", parts))


def _answer(
    turn: Turn, call: ToolCall, result: Result | None, masked: dict[str, str]
) -> ToolResult:
    if result is None:
        missing = PENDING if turn.status == "open" else how_it_ended(turn)
        return ToolResult(call.id, call.name, missing, error=True)
    shown = masked.get(call.id) or turn.shown(result)
    return ToolResult(call.id, call.name, shown if shown.strip() else EMPTY_RESULT, result.error)


def _close(messages: list[Message], turn: Turn) -> None:
    if turn.status != "completed" or not _answers(messages[-1]):
        _say(messages, (Text(how_it_ended(turn)),))


def _answers(message: Message) -> bool:
    if message.role == "assistant":
        for part in message.parts:
            if type(part) is Text:
                return True
    return False
