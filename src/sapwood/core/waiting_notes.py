"""Notes of turns that leave view by a rewind: they wait for the next prompt again.

Sapwood put them into the prompts, not the person who writes the next one: mail that was read, what
tells a child that it is one, goals that went to children, and an agent's notes to itself.
"""

from collections.abc import Iterable, Sequence

from sapwood.core.content import Note
from sapwood.core.ids import AgentId
from sapwood.core.turn import Turn

_WAIT_AGAIN = frozenset({"parent", "mail", "self", "delegated"})


def notes_left_behind(
    agent: AgentId, before: Sequence[Turn], after: Sequence[Turn]
) -> tuple[Note, ...]:
    """The notes of the agent's own turns that are in view before a rewind and not after it."""
    stays = {turn.ref for turn in after}
    gone = (turn for turn in before if turn.agent == agent and turn.ref not in stays)
    notes = (part for turn in gone for part in turn.prompt if isinstance(part, Note))
    left = [note for note in notes if note.origin in _WAIT_AGAIN]
    heard = notes_in_view(left, after)
    return tuple([note for note in left if note not in heard])


def notes_in_view(notes: Iterable[Note], turns: Sequence[Turn]) -> tuple[Note, ...]:
    """Those of the notes that are in a prompt of these turns."""
    prompts = [part for turn in turns for part in turn.prompt]
    return tuple([note for note in notes if note in prompts])
