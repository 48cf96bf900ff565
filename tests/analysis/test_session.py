"""The turns of a session have the numbers that they have in the log."""

from msgspec import structs

from sapwood.analysis.session import Session
from sapwood.core.content import Note, Text
from sapwood.core.ids import AgentId
from sapwood.core.turn import Turn


def turn(*prompt: Text | Note) -> Turn:
    return Turn(AgentId("a"), 1, None, prompt, status="completed", last=1)


ASKED = turn(Text("Look."))
GOES_ON = turn(Note("program", "goes on"))
MAIL = turn(Note("mail", "The build is red."))


def test_every_turn_has_a_number_also_a_continuation() -> None:
    session = Session("claude-code", "1", turns=(ASKED, GOES_ON, MAIL, ASKED))
    assert session.numbers == (1, 2, 3, 4)
    assert session.numbered(2, 3) == (GOES_ON, MAIL)


def test_a_number_of_the_log_counts_and_inherited_turns_have_none() -> None:
    own = [structs.replace(ASKED, agent=AgentId("b"), number=number) for number in (1, 2)]
    inherited = structs.replace(ASKED, number=7)
    session = Session("sapwood", "b", turns=(inherited, *own))
    assert session.numbers == (0, 1, 2)
    assert session.numbered(2) == (own[1],)


def test_the_first_turn_has_a_number_even_if_it_is_a_continuation() -> None:
    assert Session("codex", "1", turns=(GOES_ON, ASKED)).numbers == (1, 2)


def test_a_prompt_with_a_note_of_the_program_is_a_prompt() -> None:
    with_note = structs.replace(ASKED, prompt=(Note("program", "/clear"), Text("Look.")))
    assert Session("codex", "1", turns=(ASKED, with_note)).numbers == (1, 2)
