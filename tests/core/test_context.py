"""The algebra of contexts: small values, assigned and taken back."""

from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.context import (
    ROOT,
    Context,
    Mark,
    Mask,
    Step,
    as_of_turn,
    find_mark,
    keep_marks,
    undo_step,
)
from sapwood.core.ids import AgentId, EventRef, TurnRef

A, B = AgentId("a"), AgentId("b")


def turn(number: int, agent: AgentId = A) -> TurnRef:
    """The turn at versions 10·n to 10·n + 5."""
    return TurnRef(agent, 10 * number, 10 * number + 5)


def marks(*names: str) -> tuple[Mark, ...]:
    """Marks at versions 1, 2, 3 …"""
    return tuple(Mark(name, ROOT, version) for version, name in enumerate(names, start=1))


def apart(*names: str) -> tuple[Mark, ...]:
    """Marks at different places."""
    return tuple(Mark(name, Context(turn(n)), 10 * n + 6) for n, name in enumerate(names, start=1))


def names(found: tuple[Mark, ...]) -> list[str]:
    """Their names."""
    return [mark.name for mark in found]


def test_a_mark_is_found_by_its_exact_name() -> None:
    assert find_mark(marks("A", "a", "B"), "a") == 1
    assert find_mark(marks("A", "B"), "C") is None


def test_without_a_name_the_newest_mark_is_found() -> None:
    assert find_mark(marks("A", "", "B"), None) == 2
    assert find_mark((), None) is None


def test_the_empty_name_finds_the_newest_unnamed_mark() -> None:
    assert find_mark(marks("", "", "B"), "") == 1


def test_a_rewind_keeps_a_named_mark_and_uses_up_an_unnamed_one() -> None:
    assert names(keep_marks(apart("A", "B", "C"), 1)) == ["A", "B"]
    assert names(keep_marks(apart("A", "", "C"), 1)) == ["A"]


def test_a_rewind_keeps_later_marks_of_the_same_place() -> None:
    assert names(keep_marks(marks("A", "B", "C"), 1)) == ["A", "B", "C"]
    assert names(keep_marks(marks("A", "", "C"), 1)) == ["A", "C"]


def test_a_moved_head_goes_back_and_the_tip_stays() -> None:
    before = Context(turn(2), turn(1), EventRef(A, 3), EventRef(A, 4))
    now = Context(turn(5), turn(2))
    back, _ = undo_step(Step("head", before, (), 26), now, ())
    assert back == Context(turn(5), turn(1), EventRef(A, 3), EventRef(A, 4))


def test_a_moved_tip_goes_back_with_everything() -> None:
    before = Context(turn(2), turn(1), mask=Mask(EventRef(A, 12), 9))
    back, kept = undo_step(Step("tip", before, marks("A"), 26), Context(turn(5)), marks("B"))
    assert (back, kept) == (before, marks("A"))


def test_a_newer_mask_stays_and_an_older_one_comes_back() -> None:
    old, new = Mask(EventRef(A, 12), 9), Mask(EventRef(A, 55), 9)
    step = Step("head", Context(turn(2), mask=old), (), 26)
    assert undo_step(step, Context(turn(5), turn(2)), ())[0].mask == old
    assert undo_step(step, Context(turn(5), turn(2), mask=new), ())[0].mask == new


@given(st.lists(st.sampled_from(["A", "B", "C"]), unique=True), st.sampled_from(["A", "B", "C"]))
def test_no_name_is_there_twice_after_an_undo(before: list[str], since: str) -> None:
    step = Step("head", ROOT, marks(*before), 26)
    _, kept = undo_step(step, ROOT, (Mark(since, ROOT, 27),))
    assert sorted(set(names(kept))) == sorted(names(kept))
    assert kept[-1].version == 27


def test_a_mask_of_the_open_turn_covers_all_that_was_before_it() -> None:
    inside = Context(turn(2), turn(1), mask=Mask(EventRef(A, 33), 9))
    assert as_of_turn(inside, A, 30).mask == Mask(EventRef(A, 25), 9)
    assert as_of_turn(Context(mask=Mask(EventRef(A, 3), 9)), A, 2).mask is None


def test_an_older_mask_is_as_it_was() -> None:
    for mask in (None, Mask(EventRef(A, 22), 9), Mask(EventRef(B, 33), 9)):
        context = Context(turn(2), mask=mask)
        assert as_of_turn(context, A, 30) == context
