"""A reply that is ready to be encoded: with ids, token counts and stop reason. Pure."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from scripted_model.conversation import ModelRequest, ReplyPart, Text, Thinking, ToolCall
from scripted_model.reply import Reply
from scripted_model.signatures import IdGenerator
from scripted_model.usage import TokenUsage, output_tokens, part_text, thought_tokens

_THOUGHT = Thinking("This is scripted.")

StopReason: TypeAlias = Literal["end", "calls", "length"]


class PreparedReply(Struct, frozen=True):
    """A reply that is ready to be encoded. Tool calls have ids."""

    request: ModelRequest
    name: str
    """32 hexadecimal digits that no other reply has."""
    parts: tuple[ReplyPart, ...]
    stop: StopReason
    usage: TokenUsage
    ids: IdGenerator
    created: int
    piece: int
    """Characters per piece of the stream."""
    breaks: tuple[int, ...] = ()
    """Positions, in characters, at which a piece must end."""


def prepare_reply(
    request: ModelRequest,
    reply: Reply,
    *,
    name: str,
    usage: TokenUsage,
    ids: IdGenerator,
    new_call_id: Callable[[ModelRequest, IdGenerator], str],
    splits_calls: bool,
    created: int,
    piece: int,
) -> PreparedReply:
    """Returns the reply with ids, stop reason and usage. `usage` is that of the request alone."""
    parts, stop = _within_limit(
        request, reply, tuple(_parts_with_ids(request, reply, ids, new_call_id)), splits_calls
    )
    thought = thought_tokens(parts)
    out = output_tokens(parts) if reply.out is None else max(reply.out, thought)
    given = usage if reply.usage is None else usage.scaled(reply.usage)
    return PreparedReply(
        request=request,
        name=name,
        parts=parts,
        stop=stop,
        usage=structs.replace(given, output=out, thinking=thought),
        ids=ids,
        created=created,
        piece=piece,
        breaks=tuple(place for place in (reply.cut, reply.at) if place is not None),
    )


def _parts_with_ids(
    request: ModelRequest,
    reply: Reply,
    ids: IdGenerator,
    new_call_id: Callable[[ModelRequest, IdGenerator], str],
) -> Iterable[ReplyPart]:
    """Yields the parts, with ids, and with thinking in front if the client requires it."""
    if request.must_think and not any(isinstance(part, Thinking) for part in reply.parts):
        yield _THOUGHT
    for part in reply.parts:
        if isinstance(part, ToolCall) and not part.id:
            yield structs.replace(part, id=new_call_id(request, ids))
        else:
            yield part


def _within_limit(
    request: ModelRequest, reply: Reply, parts: tuple[ReplyPart, ...], splits_calls: bool
) -> tuple[tuple[ReplyPart, ...], StopReason]:
    """Shortens the parts to the limits of script and client.

    A tool call that does not fit is shortened if `splits_calls`, and left out otherwise.
    """
    room = reply.limit
    if room is None and request.limit is not None and reply.out is None:
        room = request.limit * 4 if output_tokens(parts) > request.limit else None
    if room is None:
        calls = any(isinstance(part, ToolCall) for part in parts)
        return parts, "calls" if calls else "end"
    kept: list[ReplyPart] = []
    for part in parts:
        if isinstance(part, ToolCall):
            args = part_text(part)
            if len(args) <= room:
                kept.append(part)
            elif splits_calls and room > 0:
                kept.append(structs.replace(part, args=args[:room]))
            room -= len(args)
            continue
        text = part.text[: max(0, room)]
        room -= len(text)
        if text:
            kept.append(Text(text) if isinstance(part, Text) else Thinking(text))
    return tuple(kept), "length"


class Pieces:
    """Splits the parts of a reply into pieces of a given size, and at the positions `breaks`.

    >>> pieces = Pieces(4, (6,))
    >>> list(pieces.of("scripted")), list(pieces.of("model"))
    (['scri', 'pt', 'ed'], ['mode', 'l'])
    """

    def __init__(self, size: int, breaks: tuple[int, ...]) -> None:
        self._size = max(1, size)
        self._breaks = sorted(breaks)
        self._given = 0

    @classmethod
    def for_reply(cls, prepared: PreparedReply) -> "Pieces":
        """The pieces of this reply."""
        return cls(prepared.piece, prepared.breaks)

    def of(self, text: str) -> Iterator[str]:
        """Yields the pieces of the next text of the reply."""
        start = 0
        while start < len(text):
            end = min(start + self._size, len(text))
            for border in self._breaks:
                place = border - self._given + start
                if start < place < end:
                    end = place
                    break
            piece = text[start:end]
            self._given += len(piece)
            start = end
            yield piece
