"""How much a model may send in one reply. A reply that exceeds it ends as a failure.

Each tool call of a reply is stored, may ask a person, and gets a result; each word is masked, shown
and stored. So a reply without bounds would keep the process busy, whatever its time limit is.
"""

from collections.abc import AsyncGenerator, AsyncIterator

from sapwood.core.content import ReplyPart, ToolCall
from sapwood.core.file_part import File
from sapwood.core.model_calls import Answer, Delta, Failure

MAX_CALLS = 200
"""Tool calls in one reply."""

MAX_CHARACTERS = 8_000_000
"""Characters in one reply: twice as many as the longest answer that a provider offers."""


async def bounded_reply(pieces: AsyncIterator[Delta | Answer]) -> AsyncGenerator[Delta | Answer]:
    """Yields the pieces of a reply. Raises `Failure` where the reply becomes too large."""
    calls = characters = 0
    try:
        async for piece in pieces:
            if isinstance(piece, Answer):
                calls = sum(isinstance(part, ToolCall) for part in piece.parts)
                characters = sum(map(_length, piece.parts))
            else:
                calls += piece.kind == "call" and bool(piece.name)
                characters += len(piece.text)
            _require_within(calls, characters)
            yield piece
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


def _require_within(calls: int, characters: int) -> None:
    if calls > MAX_CALLS:
        raise Failure(
            "other",
            f"The model made more than {MAX_CALLS} tool calls in one reply. None of them was run. "
            "Ask for fewer steps at a time.",
        )
    if characters > MAX_CHARACTERS:
        raise Failure(
            "other",
            f"The model's reply was longer than {MAX_CHARACTERS:,} characters and was cut off "
            "there. Ask for a shorter answer.",
        )


def _length(part: ReplyPart) -> int:
    match part:
        case ToolCall(args=args):
            return len(args)
        case File(data=data):
            return len(data)
        case _:
            return len(part.text)
