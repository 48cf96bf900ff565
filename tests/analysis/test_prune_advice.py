"""Prune advice lists each thing once, with the tokens that it frees."""

from msgspec import structs

from sapwood.analysis.chapter_report import Chapter, ChapterReport
from sapwood.analysis.prune_advice import PruneAdvice, advise_pruning
from sapwood.analysis.session import Boundary, Session
from sapwood.tokens.estimators import Chars4Counter
from tests.analysis.sessions import ToolRun, asked, session

COUNTER = Chars4Counter()
LATER = (asked("And now?", "Go on."), asked("Yes.", "Done."))


def read(path: str, content: str = "line\n" * 100) -> ToolRun:
    return ToolRun("Read", f'{{"file_path": "/srv/shop/{path}"}}', content)


def ran(command: str, content: str, *, error: bool = False) -> ToolRun:
    return ToolRun("Bash", f'{{"command": "{command}"}}', content, error=error)


def advice(work: Session, *background: str, report: ChapterReport | None = None) -> PruneAdvice:
    return advise_pruning(work, COUNTER, report or ChapterReport(""), background)


def reasons(found: PruneAdvice) -> list[tuple[str, str]]:
    return [(item.reason, item.what) for item in found.items]


def test_a_file_read_again_supersedes_the_first_reading() -> None:
    work = session(asked("Look.", read("cart.py")), asked("Again.", read("cart.py")), *LATER)
    found = advice(work)
    assert reasons(found) == [("superseded read", "cart.py")]
    assert found.items[0].turns == (1,)
    assert found.frees == COUNTER.count("line\n" * 100).tokens


def test_writing_a_file_supersedes_an_earlier_read() -> None:
    write = ToolRun("Write", '{"file_path": "/srv/shop/cart.py", "content": "x"}', "ok")
    assert reasons(advice(session(asked("Look.", read("cart.py"), write), *LATER))) == [
        ("superseded read", "cart.py")
    ]


def test_an_edit_does_not_supersede_a_reading() -> None:
    edit = ToolRun(
        "Edit", '{"file_path": "/srv/shop/cart.py", "old_string": "a", "new_string": "b"}', "ok"
    )
    assert advice(session(asked("Look.", read("cart.py"), edit), *LATER)).items == ()


def test_output_of_tests_that_passed_or_ran_again_is_prunable() -> None:
    passed = ran("pytest -q", "test_a PASSED\n" * 200 + "200 passed")
    failed = ran("pytest -q", "Exit code 1\n" + "test_a FAILED\n" * 200, error=True)
    assert reasons(advice(session(asked("Test.", passed), *LATER))) == [
        ("test output", "pytest -q")
    ]
    assert advice(session(asked("Test.", failed), *LATER)).items == ()
    both = advice(session(asked("Test.", failed), asked("Again.", passed), *LATER))
    assert both.items[0].turns == (1, 2)


def test_a_large_result_of_an_older_turn_is_prunable() -> None:
    large = asked("List.", ran("find .", "a/b/c.py\n" * 2_000))
    other = asked("Look around. " + "Much is said here. " * 3_000)
    assert advice(session(other, large)).items == ()
    assert reasons(advice(session(other, large, *LATER))) == [("large result", "find .")]


def test_a_result_that_is_most_of_the_session_is_named_in_the_newest_turn_too() -> None:
    large = asked("List.", ran("find .", "a/b/c.py\n" * 2_000))
    assert reasons(advice(session(large))) == [("large result", "find .")]


def test_a_topic_in_the_background_frees_its_turns_and_nothing_twice() -> None:
    work = session(
        asked("Look.", read("cart.py"), "Words. " * 100), asked("Again.", read("cart.py")), *LATER
    )
    chapters = (Chapter("Cart", ((1, 1),), 1, 9, 0.5), Chapter("Till", ((2, 4),), 3, 9, 0.5))
    found = advice(work, "cart", report=ChapterReport("", chapters))
    assert {item.reason for item in found.items} == {"chapter", "superseded read"}
    whole = sum(COUNTER.count(text).tokens for text in work.turns[0].texts())
    assert found.frees == whole


def test_chapters_off_the_task_are_prunable_until_they_are_archived() -> None:
    work = session(asked("Look.", "Words. " * 100), asked("Go on."), *LATER)
    chapters = (Chapter("Cart", ((1, 1),), 1, 9, 0.5),)
    report = ChapterReport("", chapters, archive=("Cart",))
    assert reasons(advice(work, report=report)) == [("chapter", "Cart")]
    assert advise_pruning(work, COUNTER, report, archived=("cart",)).items == ()


def test_stale_results_come_before_chapters() -> None:
    work = session(
        asked("Look.", read("cart.py"), "Words. " * 900), asked("Again.", read("cart.py")), *LATER
    )
    report = ChapterReport("", (Chapter("Cart", ((1, 1),), 1, 9, 0.5),), archive=("Cart",))
    assert [item.reason for item in advice(work, report=report).items] == [
        "superseded read",
        "chapter",
    ]


def test_what_is_out_of_view_frees_nothing() -> None:
    work = session(asked("Look.", read("cart.py")), asked("Again.", read("cart.py")), *LATER)
    assert advice(structs.replace(work, boundaries=(Boundary(2),))).items == ()


def test_no_advice_without_prunable_results() -> None:
    assert advice(session()) == PruneAdvice()
