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
    cuts = asked.stream and wire.name != "gemini"
    parts, stop = _within_limit(asked, reply, tuple(_spoken(wire, asked, reply, mint)), cuts)
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
    asked: Asked, reply: Reply, parts: tuple[ReplyPart, ...], cuts_calls: bool
) -> tuple[tuple[ReplyPart, ...], Stop]:
    """As much as script and client allow. A call that does not fit is cut, or not made."""
    room = reply.limit
    if room is None and asked.limit is not None and reply.out is None:
        room = asked.limit * 4 if output_tokens(parts) > asked.limit else None
    if room is None:
        calls = any(isinstance(part, ToolCall) for part in parts)
        return parts, "calls" if calls else "end"
    kept: list[ReplyPart] = []
    for part in parts:
        if isinstance(part, ToolCall):
            args = spoken(part)
            if len(args) <= room:
                kept.append(part)
            elif cuts_calls and room > 0:
                kept.append(structs.replace(part, args=args[:room]))
            room -= len(args)
            continue
        text = part.text[: max(0, room)]
        room -= len(text)
        if text:
            kept.append(Text(text) if isinstance(part, Text) else Thinking(text))
    return tuple(kept), "length"
