"""Notes of turns that a return to an earlier context leaves behind: they wait for the next prompt.

Sapwood put them into the prompts, not the person who writes the next one: mail that was read, what
tells a child that it is one, goals that went to children, and an agent's notes to itself.
"""

from collections.abc import Iterable, Sequence

from sapwood.core.content import Note
from sapwood.core.ids import AgentId
from sapwood.core.state import WAITING_LIMIT
from sapwood.core.turn import Turn

_WAIT_AGAIN = frozenset({"parent", "mail", "self", "delegated"})


def notes_left_behind(
    agent: AgentId, gone: Iterable[Turn], after: Sequence[Turn], then: Iterable[Note] = ()
) -> tuple[Note, ...]:
    """The notes of the agent's own turns that are left behind and that no prompt in view has.

    `then` are the notes that waited at the place of the return. One of the program among them says
    what a drop took out of view, which is out of view there too.
    """
    own = sorted([turn for turn in gone if turn.agent == agent], key=lambda turn: turn.first)
    notes = [part for turn in own for part in turn.prompt if isinstance(part, Note)]
    left = [note for note in then if note.origin == "program"]
    left += [note for note in notes if note.origin in _WAIT_AGAIN]
    heard = notes_in_view(left, after)
    return tuple([note for note in left if note not in heard])


def notes_in_view(notes: Iterable[Note], turns: Sequence[Turn]) -> tuple[Note, ...]:
    """Those of the notes that are in a prompt of these turns."""
    prompts = [part for turn in turns for part in turn.prompt]
    return tuple([note for note in notes if note in prompts])


def notes_after_return(
    waiting: Sequence[Note], left: Iterable[Note], in_view: Sequence[Note]
) -> tuple[Note, ...]:
    """The notes that wait after a return; of very many, what a child is told and the newest."""
    stays = [note for note in waiting if note not in in_view]
    notes = [*(note for note in left if note not in stays), *stays]
    if len(notes) <= WAITING_LIMIT:
        return tuple(notes)
    told = [note for note in notes if note.origin == "parent"]
    others = [note for note in notes if note.origin != "parent"]
    return (*told, *others[len(notes) - WAITING_LIMIT :])
