"""What is needed again after a compaction, case by case. `just eval needs` has more."""

from sapwood.analysis.needs import losses_of, needs_of
from sapwood.analysis.session import Boundary, Session
from sapwood.core.content import Text, ToolCall
from sapwood.core.ids import AgentId, TurnRef
from sapwood.core.turn import Reply, Result, Turn

AGENT = AgentId("heron")
FILE = "\n".join(f"{number:>6}\tnest_{number} = tall_tree({number})" for number in range(1, 41))
Call = tuple[str, str, str]


def a_turn(index: int, *calls: Call, parent: int | None = None) -> Turn:
    """A turn with these calls: the name of the tool, its arguments, its result."""
    items: list[Reply | Result] = []
    for place, (name, args, content) in enumerate(calls):
        call = f"{index}-{place}"
        items += [Reply(1, (ToolCall(call, name, args),)), Result(1, call, content)]
    items.append(Reply(1, (Text("Done."),)))
    before = index if parent is None else parent + 1
    follows = TurnRef(AGENT, before, before) if before else None
    return Turn(AGENT, index + 1, follows, (Text("Go on."),), tuple(items), status="completed")


def a_session(*turns: Turn, boundaries: tuple[Boundary, ...]) -> Session:
    return Session("claude-code", "5e55", "/srv", turns=turns, boundaries=boundaries)


def read(path: str = "a.py", content: str = FILE) -> Call:
    return "Read", f'{{"file_path":"/srv/{path}"}}', content


def ran(command: str, output: str) -> Call:
    return "Bash", f'{{"command":"{command}"}}', output


COMPACTED = Boundary(1, summary="It is cold.")


def test_a_file_that_left_and_is_read_again_is_needed() -> None:
    session = a_session(a_turn(0, read()), a_turn(1, read()), boundaries=(COMPACTED,))
    (need,) = needs_of(session)
    assert (need.subject, need.left, need.needed, need.boundary) == ("a.py", 1, 2, 0)
    assert need.text == FILE
    assert need.calls == 1


def test_without_a_compaction_nothing_is_needed_again() -> None:
    assert needs_of(a_session(a_turn(0, read()), a_turn(1, read()), boundaries=())) == []


def test_what_a_clear_removed_is_not_counted() -> None:
    cleared = Boundary(1, cleared=True)
    session = a_session(a_turn(0, read()), a_turn(1, read()), boundaries=(cleared,))
    assert losses_of(session) == []


def test_a_second_read_in_the_same_window_is_not_a_need() -> None:
    session = a_session(
        a_turn(0, read()), a_turn(1, read(), read()), a_turn(2, read()), boundaries=(COMPACTED,)
    )
    assert [need.call for need in needs_of(session)] == ["1-0"]


def test_a_result_of_a_kept_turn_is_still_in_view() -> None:
    kept = Boundary(2, summary="It is cold.", kept=1)
    session = a_session(
        a_turn(0, read("b.py")), a_turn(1, read()), a_turn(2, read(), read("b.py")),
        boundaries=(kept,),
    )  # fmt: skip
    assert [need.subject for need in needs_of(session)] == ["b.py"]


def test_a_turn_of_another_branch_did_not_leave_by_the_compaction() -> None:
    session = a_session(
        a_turn(0),
        a_turn(1, read()),
        a_turn(2, parent=0),
        a_turn(3, read()),
        boundaries=(Boundary(3, summary="It is cold."),),
    )
    assert needs_of(session) == []


def test_the_calls_that_carried_it_are_counted_up_to_the_next_compaction() -> None:
    session = a_session(
        *(a_turn(0, read()), a_turn(1, read()), a_turn(2), a_turn(3), a_turn(4)),
        boundaries=(COMPACTED, Boundary(4, summary="It is colder.")),
    )
    assert [need.calls for need in needs_of(session)] == [3]


def test_durations_do_not_make_an_output_another_one() -> None:
    lines = "\n".join(f"tests/test_{name}.py passed" for name in ("owl", "tit", "jay"))
    session = a_session(
        a_turn(0, ran("pytest", f"{lines}\n3 passed in 0.31s")),
        a_turn(1, ran("pytest", f"{lines}\n3 passed in 4.02s")),
        boundaries=(COMPACTED,),
    )
    assert [need.subject for need in needs_of(session)] == ["pytest"]


def test_a_loss_counts_what_left() -> None:
    session = a_session(
        a_turn(0, read(), ran("ls", "a.py\nb.py")), a_turn(1, read()), boundaries=(COMPACTED,)
    )
    (loss,) = losses_of(session)
    assert (loss.turns, loss.files, loss.results) == ((1,), ("a.py",), 2)
    assert loss.characters > len(FILE)
