"""The messages of a turn: prompt, replies, results.

The model is given no words that it did not say: `note_after` tells it how its turn ended, in the
message with the next prompt. A reply at the end that is only thinking is no message: nothing was
said, and no later request would begin with it. Earlier versions of the view did both otherwise;
they build the requests that were made with them.

Every reply with calls is followed by one message with a result for each call, in order. A call
without a result gets a placeholder.
"""

from sapwood.core.content import File, Text, ToolCall
from sapwood.core.history_size import stubs
from sapwood.core.turn import Reply, Result, Turn
from sapwood.core.view.frames import (
    EMPTY_RESULT,
    PENDING,
    framed_prompt,
    how_it_ended,
    how_it_was_cut,
    how_the_turn_ended,
    told_by_program,
)
from sapwood.core.view.request import Message, MessagePart, ToolResult

VIEW = 3
"""The version of the view. Calls that were made with another one are replayed with that one."""


def messages_of(turn: Turn, edge: int = 0, over: int = 0, *, version: int = VIEW) -> list[Message]:
    """The messages of a turn. Results up to version `edge` with more than `over` characters are
    masked. `version` is that of the view.
    """
    messages = [Message("user", framed_prompt(turn.prompt))]
    results: dict[str, Result] | None = None
    masked = stubs(turn, edge, over)
    for item in turn.items:
        if type(item) is not Reply:
            continue
        _say(messages, _spoken(item, version))
        calls = item.calls
        if calls:
            if results is None:
                results = {each.call: each for each in turn.items if isinstance(each, Result)}
            answers = [_answer(turn, call, results.get(call.id), masked) for call in calls]
            messages.append(Message("user", tuple(answers)))
    if turn.status == "open" and version < 3:
        return messages
    if version == 1:
        _close(messages, turn)
    elif messages[-1].role == "assistant" and not _answers(messages[-1]):
        messages.pop()  # it thought, and said nothing
    return messages


def note_after(turn: Turn) -> Text | None:
    """What the next prompt tells the model about the end of this turn; None if it just ended."""
    last = next((item for item in reversed(turn.items) if type(item) is Reply), None)
    if turn.status == "completed" and last is not None:
        if cut := how_it_was_cut(last.ended):
            return Text(told_by_program(f"Your reply before this was {cut.strip('[]')}."))
        if _answers_in(last):
            return None
    return None if turn.status == "open" else Text(told_by_program(how_the_turn_ended(turn)))


def _answers_in(reply: Reply) -> bool:
    return any(isinstance(part, Text | File) and part.text.strip() for part in reply.parts)


def _spoken(reply: Reply, version: int) -> tuple[MessagePart, ...]:
    spoken: list[MessagePart] = [
        part for part in reply.parts if type(part) is not Text or part.text.strip()
    ]
    if version == 1 and not reply.calls and (cut := how_it_was_cut(reply.ended)):
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
    stub = masked.get(call.id)
    shown = stub or turn.shown(result)
    files = () if stub else result.files
    text = shown if shown.strip() else EMPTY_RESULT
    return ToolResult(call.id, call.name, text, result.error, files)


def _close(messages: list[Message], turn: Turn) -> None:
    if turn.status != "completed" or not _answers(messages[-1]):
        _say(messages, (Text(how_it_ended(turn)),))


def _answers(message: Message) -> bool:
    if message.role == "assistant":
        for part in message.parts:
            if type(part) in (Text, File):
                return True
    return False
