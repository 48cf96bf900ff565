"""From a scripted reply to one that can be written: ids, limits, and why it ended. Pure."""

from collections.abc import Iterable

from msgspec import structs

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall
from sapwood.testing.scripted.asked import Asked
from sapwood.testing.scripted.reply import Reply
from sapwood.testing.scripted.signing import Mint
from sapwood.testing.scripted.usage import Spent, output_tokens, spoken, thought_tokens
from sapwood.testing.scripted.wires.wire import Answer, Stop, Wire

__all__ = ["answer_of"]

_THOUGHT = Thinking("This is scripted.")


def answer_of(
    wire: Wire, asked: Asked, reply: Reply, spent: Spent, mint: Mint, created: int, piece: int
) -> Answer:
    """The answer to be written. `spent` is what the request cost so far."""
    parts, stop = _within_limit(asked, reply, tuple(_spoken(wire, asked, reply, mint)))
    thought = thought_tokens(parts)
    out = output_tokens(parts) if reply.out is None else max(reply.out, thought)
    given = spent if reply.usage is None else spent.scaled(reply.usage)
    return Answer(
        asked=asked,
        name=mint.hexadecimal(),
        parts=parts,
        stop=stop,
        spent=structs.replace(given, output=out, thought=thought),
        mint=mint,
        created=created,
        piece=piece,
        breaks=tuple(place for place in (reply.cut, reply.at) if place is not None),
    )


def _spoken(wire: Wire, asked: Asked, reply: Reply, mint: Mint) -> Iterable[ReplyPart]:
    """The parts, with thinking where the model has to think, and with ids."""
    if asked.thinks and not any(isinstance(part, Thinking) for part in reply.parts):
        yield _THOUGHT
    for part in reply.parts:
        if isinstance(part, ToolCall) and not part.id:
            yield structs.replace(part, id=wire.call_id(asked, mint))
        else:
            yield part


def _within_limit(
    asked: Asked, reply: Reply, parts: tuple[ReplyPart, ...]
) -> tuple[tuple[ReplyPart, ...], Stop]:
    """As much as the client allows. A call that does not fit is not made."""
    calls = any(isinstance(part, ToolCall) for part in parts)
    if asked.limit is None or reply.out is not None or output_tokens(parts) <= asked.limit:
        return parts, "calls" if calls else "end"
    room = asked.limit * 4
    kept: list[ReplyPart] = []
    for part in parts:
        if isinstance(part, ToolCall):
            room -= len(spoken(part))
            if room >= 0:
                kept.append(part)
            continue
        text = part.text[: max(0, room)]
        room -= len(text)
        if text:
            kept.append(Text(text) if isinstance(part, Text) else Thinking(text))
    return tuple(kept), "length"
