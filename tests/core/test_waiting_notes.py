"""The notes that wait after a return to an earlier context have a limit."""

from sapwood.core.content import Note
from sapwood.core.state import WAITING_LIMIT
from sapwood.core.waiting_notes import RETURN_SIZE, describe_return, notes_after_return

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


def test_of_very_long_notes_the_newest_wait_and_what_a_child_is_told() -> None:
    long = tuple(Note("mail", f"{number}" * (RETURN_SIZE // 4)) for number in range(8))
    assert notes_after_return((), (PARENT, *long), ()) == (PARENT, *long[4:])
    assert notes_after_return(long[6:], (PARENT, *long[:6]), ()) == (PARENT, *long[4:])
    assert notes_after_return(long, (PARENT, LETTERS[0]), ()) == (PARENT, *long)


def test_a_note_that_is_older_than_one_without_room_does_not_wait() -> None:
    long = Note("mail", "x" * RETURN_SIZE)
    assert notes_after_return((), (LETTERS[0], long, LETTERS[1]), ()) == (LETTERS[1],)


def test_the_answer_says_how_many_notes_wait_again() -> None:
    assert describe_return(LETTERS[:2], (), LETTERS[:2]) == ""
    assert describe_return((PARENT,), LETTERS[:3], (PARENT, *LETTERS[:3])) == (
        " 3 notes wait for the next prompt again."
    )
    assert describe_return((), LETTERS[:3], LETTERS[1:3]) == (
        " 2 notes wait for the next prompt again, 1 older one does not."
    )
