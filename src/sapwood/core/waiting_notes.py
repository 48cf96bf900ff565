"""Notes of turns that a return to an earlier context leaves behind: they wait for the next prompt.

Sapwood put them into the prompts, not the person who writes the next one: mail that was read, what
tells a child that it is one, goals that went to children, and an agent's notes to itself.
"""

from collections.abc import Iterable, Sequence

from sapwood.core.content import Note
from sapwood.core.ids import AgentId
from sapwood.core.plural import counted
from sapwood.core.state import WAITING_LIMIT
from sapwood.core.turn import Turn

RETURN_SIZE = 64_000
"""The most characters of notes that a return brings back, about 16,000 tokens."""
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
    """The notes that wait after a return; of very many, what a child is told and the newest.

    Those that waited before stay, so the notes that wait again have the room that these leave.
    """
    stays = [note for note in waiting if note not in in_view]
    again = [note for note in left if note not in stays]
    told = sum([note.origin == "parent" for note in again])
    room, size = WAITING_LIMIT - len(stays) - told, RETURN_SIZE - _size(stays)
    kept: list[Note] = []
    for note in reversed(again):
        if note.origin != "parent":
            room, size = room - 1, size - len(note.text)
        if note.origin == "parent" or (room >= 0 and size >= 0):
            kept.append(note)
    return (*reversed(kept), *stays)


def _size(notes: Iterable[Note]) -> int:
    return sum([len(note.text) for note in notes])


def describe_return(before: Sequence[Note], left: Sequence[Note], after: Sequence[Note]) -> str:
    """How many notes wait again after a return, as the end of an answer; empty if none do.

    >>> mail = (Note("mail", "The build is red."),)
    >>> describe_return((), mail, mail)
    ' 1 note waits for the next prompt again.'
    """
    again = len([note for note in after if note not in before])
    older = len([note for note in left if note not in after])
    if not again and not older:
        return ""
    waits = "waits" if again == 1 else "wait"
    rest = f", {older:,} older {'one does' if older == 1 else 'ones do'} not" if older else ""
    return f" {counted(again, 'note')} {waits} for the next prompt again{rest}."
