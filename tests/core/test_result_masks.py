"""Stubs: what stands in place of a masked result."""

from sapwood.core.content import ToolCall
from sapwood.core.context import Context, Mask
from sapwood.core.history_size import live_mask, mask_edges, stubs
from sapwood.core.ids import AgentId, EventRef, TurnRef
from sapwood.core.live_path import LivePath
from sapwood.core.turn import Reply, Result, Turn

A, B = AgentId("a"), AgentId("b")


def turn(first: int, *contents: str, agent: AgentId = A) -> Turn:
    """An ended turn with a result at every second version after its prompt."""
    items: list[Reply | Result] = []
    for number, content in enumerate(contents):
        version = first + 1 + 2 * number
        items += [Reply(version, (ToolCall(f"{version}", "read_file"),))]
        items += [Result(version + 1, f"{version}", content)]
    last = first + 2 * len(contents) + 1
    return Turn(agent, first, None, (), tuple(items), status="completed", last=last)


def path(*turns: Turn, mask: Mask | None = None) -> LivePath:
    """A live path of these turns."""
    return LivePath(Context(TurnRef(A, 1, 2), mask=mask), turns)


def test_a_stub_says_how_large_it_was_what_made_it_and_how_to_see_it() -> None:
    assert stubs(turn(1, "x" * 12_345), edge=9, over=100) == {
        "2": "[masked: 12,345 characters from read_file; recall a:3 shows them]"
    }


def test_a_result_whose_call_nobody_knows_has_a_stub_too() -> None:
    lonely = Turn(A, 1, None, (), (Result(2, "?", "x" * 500),), status="completed", last=3)
    assert stubs(lonely, 9, 100)["?"].startswith("[masked: 500 characters from a tool;")


def test_only_results_up_to_the_edge_and_over_the_size_are_masked() -> None:
    four = turn(1, "x" * 500, "small", "x" * 500, "x" * 500)
    assert list(stubs(four, edge=7, over=100)) == ["2", "6"]
    assert stubs(four, edge=0, over=100) == {}


def test_no_stub_is_longer_than_what_it_hides() -> None:
    for size in range(1, 200):
        for call, text in stubs(turn(1, "x" * size), 9, over=1).items():
            assert (call, len(text) < size) == ("2", True)
    assert stubs(turn(1, "x" * 30), 9, over=1) == {}


def test_all_turns_before_the_edge_are_masked_and_none_after() -> None:
    turns = (turn(1, "x"), turn(10, "x", "y"), turn(20, "x"))
    mask = Mask(EventRef(A, 12), 5)
    assert mask_edges(path(*turns, mask=mask)) == [4, 12, 0]


def test_without_a_mask_or_with_one_left_behind_nothing_is_masked() -> None:
    turns = (turn(10, "x"), turn(20, "x"))
    assert mask_edges(path(*turns)) == [0, 0]
    gone = path(*turns, mask=Mask(EventRef(A, 5), 5))
    assert mask_edges(gone) == [0, 0]
    assert live_mask(gone) is None


def test_an_edge_counts_in_the_log_that_it_stands_in() -> None:
    turns = (turn(10, "x", agent=B), turn(10, "x"))
    mask = Mask(EventRef(B, 12), 5)
    assert mask_edges(path(*turns, mask=mask)) == [12, 0]
    assert live_mask(path(*turns, mask=mask)) == mask


def test_thousands_of_results_are_masked_in_one_pass() -> None:
    huge = turn(1, *("x" * 500 for _ in range(5_000)))
    assert len(stubs(huge, huge.last, 100)) == 5_000
