"""A breakdown lists kinds, files and chapters; unknown sizes are not guessed."""

from msgspec import structs

from sapwood.analysis.chapters.chapter_builder import chapters_of
from sapwood.analysis.session import Boundary
from sapwood.analysis.window_breakdown import Breakdown, break_down, estimate
from sapwood.core.token_count import Count
from sapwood.tokens.estimators import Chars4Counter
from tests.analysis.sessions import ToolRun, asked, session

COUNTER = Chars4Counter()
READ = ToolRun("Read", '{"file_path": "/srv/shop/cart.py"}', "x = 1\n" * 200)
WORK = session(
    asked("Look at the cart.", READ, "It is short."),
    asked("Now the till.", ToolRun("Bash", '{"command": "ls"}', "till.py"), "Here."),
)


def breakdown_of(**changes: object) -> Breakdown:
    changed = structs.replace(WORK, **changes)
    return break_down(changed, COUNTER, chapters_of(changed, COUNTER))


def test_a_reported_total_is_exact() -> None:
    told = estimate(structs.replace(WORK, used=120_000, window=200_000), COUNTER)
    assert (told.used, told.exact, told.share, told.level) == (120_000, True, 0.6, 1)


def test_a_counted_total_is_an_estimate() -> None:
    told = estimate(WORK, COUNTER)
    assert told.used is not None
    assert not told.exact
    assert told.share is None


def test_nothing_is_known_of_an_empty_session() -> None:
    told = estimate(session(), COUNTER)
    assert (told.used, told.window, told.share, told.level) == (None, None, None, 0)


def test_kinds_add_up_to_what_was_reported() -> None:
    found = breakdown_of(used=10_000)
    assert sum(amount.tokens for amount in found.kinds) == 10_000
    assert found.kinds[0].name == "system, tools and the rest"
    assert {"prompts", "replies", "tool calls", "tool results"} < {a.name for a in found.kinds}


def test_counts_are_corrected_by_a_smaller_report() -> None:
    whole = breakdown_of().estimate.used or 0
    found = breakdown_of(used=whole // 2)
    assert abs(sum(amount.tokens for amount in found.kinds) - whole // 2) <= len(found.kinds)
    assert not any(amount.exact for amount in found.kinds)


def test_files_are_listed_by_their_size_in_view() -> None:
    (file,) = breakdown_of().files
    assert file.name == "cart.py"
    assert file.tokens >= COUNTER.count(READ.content).tokens


def test_compacted_turns_fill_nothing() -> None:
    compacted = breakdown_of(boundaries=(Boundary(1, summary="The cart was read."),))
    assert compacted.files == ()
    assert "summary" in {amount.name for amount in compacted.kinds}
    assert compacted.estimate.in_view == 1
    assert compacted.estimate.compactions == 1


def test_chapters_are_those_of_the_turns_in_view() -> None:
    found = breakdown_of()
    assert sum(amount.tokens for amount in found.chapters) <= (found.estimate.used or 0)
    assert found.chapters


def test_a_sapwood_agent_passes_its_total_and_its_system_tokens() -> None:
    told = estimate(
        WORK, COUNTER, total=Count(77, exact=False), beside={"system": Count(90, exact=False)}
    )
    assert (told.used, told.exact) == (77, False)


def test_tokens_beside_the_conversation_are_listed_by_kind() -> None:
    beside = {"system": Count(30, exact=True), "tools": Count(900, exact=False)}
    found = break_down(WORK, COUNTER, chapters_of(WORK, COUNTER), beside=beside)
    kinds = {kind.name: kind for kind in found.kinds}
    assert (kinds["tools"].tokens, kinds["tools"].exact) == (900, False)
    assert kinds["system"].exact


def test_a_file_is_named_by_the_folder_that_the_shell_keeps() -> None:
    went = session(
        asked("Look.", ToolRun("Bash", '{"command": "cd app && ls"}', "x.py")),
        asked("And?", ToolRun("Bash", '{"command": "cat x.py"}', "x = 1\n" * 50)),
        asked(
            "There?", ToolRun("shell", '{"command": "cat y.py", "workdir": "lib"}', "y = 1\n" * 50)
        ),
    )
    found = break_down(went, COUNTER, chapters_of(went, COUNTER))
    assert {amount.name for amount in found.files} == {"app/x.py", "lib/y.py"}
