"""Advice on what could be forgotten names each thing once, with what it frees."""

from msgspec import structs

from sapwood.core.session import Boundary, Session
from sapwood.garden.drift import Drift, TopicShare, TurnPlace
from sapwood.garden.pruning import Advice, advise
from sapwood.tokens import Chars4Counter
from tests.garden.sessions import Ran, asked, session

COUNTER = Chars4Counter()
LATER = (asked("And now?", "Go on."), asked("Yes.", "Done."))


def read(path: str, content: str = "line\n" * 100) -> Ran:
    return Ran("Read", f'{{"file_path": "/srv/shop/{path}"}}', content)


def ran(command: str, content: str, *, error: bool = False) -> Ran:
    return Ran("Bash", f'{{"command": "{command}"}}', content, error=error)


def advice(work: Session, *background: str, drift: Drift | None = None) -> Advice:
    return advise(work, COUNTER, drift or Drift("", (), ()), background)


def reasons(found: Advice) -> list[tuple[str, str]]:
    return [(item.reason, item.what) for item in found.items]


def test_a_file_read_again_supersedes_the_first_reading() -> None:
    work = session(asked("Look.", read("cart.py")), asked("Again.", read("cart.py")), *LATER)
    found = advice(work)
    assert reasons(found) == [("superseded read", "cart.py")]
    assert found.items[0].turns == (1,)
    assert found.frees == COUNTER.count("line\n" * 100).tokens


def test_a_file_written_anew_supersedes_what_was_read() -> None:
    write = Ran("Write", '{"file_path": "/srv/shop/cart.py", "content": "x"}', "ok")
    assert reasons(advice(session(asked("Look.", read("cart.py"), write), *LATER))) == [
        ("superseded read", "cart.py")
    ]


def test_an_edit_does_not_supersede_a_reading() -> None:
    edit = Ran(
        "Edit", '{"file_path": "/srv/shop/cart.py", "old_string": "a", "new_string": "b"}', "ok"
    )
    assert advice(session(asked("Look.", read("cart.py"), edit), *LATER)).items == ()


def test_output_of_tests_that_passed_or_ran_again_can_go() -> None:
    passed = ran("pytest -q", "test_a PASSED\n" * 200 + "200 passed")
    failed = ran("pytest -q", "Exit code 1\n" + "test_a FAILED\n" * 200, error=True)
    assert reasons(advice(session(asked("Test.", passed), *LATER))) == [
        ("test output", "pytest -q")
    ]
    assert advice(session(asked("Test.", failed), *LATER)).items == ()
    both = advice(session(asked("Test.", failed), asked("Again.", passed), *LATER))
    assert both.items[0].turns == (1, 2)


def test_a_large_result_can_go_once_the_work_has_moved_on() -> None:
    large = asked("List.", ran("find .", "a/b/c.py\n" * 2_000))
    assert advice(session(large)).items == ()
    assert reasons(advice(session(large, *LATER))) == [("large result", "find .")]


def test_a_topic_in_the_background_frees_its_turns_and_nothing_twice() -> None:
    work = session(
        asked("Look.", read("cart.py"), "Words. " * 100), asked("Again.", read("cart.py")), *LATER
    )
    places = tuple(TurnPlace(n, "Cart" if n == 1 else "Till", "on-track") for n in range(1, 5))
    shares = (TopicShare("Cart", 1, 0.5, "tangent"), TopicShare("Till", 1, 0.5, "on-track"))
    found = advice(work, "cart", drift=Drift("", places, shares))
    assert {item.reason for item in found.items} == {"topic", "superseded read"}
    whole = sum(COUNTER.count(text).tokens for text in work.turns[0].texts())
    assert found.frees == whole


def test_what_is_out_of_view_frees_nothing() -> None:
    work = session(asked("Look.", read("cart.py")), asked("Again.", read("cart.py")), *LATER)
    assert advice(structs.replace(work, boundaries=(Boundary(2),))).items == ()


def test_without_anything_to_forget_nothing_is_advised() -> None:
    assert advice(session()) == Advice()
