"""The notes that wait after a return to an earlier context have a limit."""

from sapwood.core.content import Note
from sapwood.core.state import WAITING_LIMIT
from sapwood.core.waiting_notes import notes_after_return

PARENT = Note("parent", "You are a child.", "lead")
LETTERS = tuple(Note("mail", f"Letter {number}.") for number in range(WAITING_LIMIT + 10))


def test_of_very_many_notes_the_newest_wait_and_what_a_child_is_told() -> None:
    newest = LETTERS[11:]
    assert notes_after_return((), (PARENT, *LETTERS), ()) == (PARENT, *newest)
    assert notes_after_return(LETTERS[-2:], (PARENT, *LETTERS[:-2]), ()) == (PARENT, *newest)


def test_up_to_the_limit_all_wait_in_their_order() -> None:
    waiting, left = LETTERS[2:4], (LETTERS[0], PARENT, LETTERS[2])
    assert notes_after_return(waiting, left, ()) == (LETTERS[0], PARENT, *waiting)
    assert notes_after_return(waiting, left, waiting[1:]) == (LETTERS[0], PARENT, LETTERS[2])
