"""A turn as one text, to be quoted: what was asked, said, called and returned."""

from sapwood.core.content import File, Note, Text, Thinking, ToolCall
from sapwood.core.excerpts import shortened
from sapwood.core.ids import EventRef
from sapwood.core.turn import Reply, Turn


def quoted_turn(turn: Turn) -> str:
    """The turn as text, without its thinking; a long one without its middle."""
    said = [
        f"Note ({part.origin}): {part.text}" if isinstance(part, Note) else f"User: {part.text}"
        for part in turn.prompt
    ]
    for item in turn.items:
        if isinstance(item, Reply):
            said += [_part(part) for part in item.parts if not isinstance(part, Thinking)]
        else:
            failed = " (failed)" if item.error else ""
            said.append(f"Result of {item.call}{failed}: {turn.shown(item)}")
    place = str(EventRef(turn.agent, turn.first))
    return shortened("\n\n".join(said), place, alone=False)


def _part(part: Text | ToolCall | File) -> str:
    if isinstance(part, ToolCall):
        return f"Call {part.id}: {part.name} {part.args}"
    return f"Assistant: {part.text}"
