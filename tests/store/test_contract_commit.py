"""The contract of a log: a commit is stored completely and once, or it is refused."""

import asyncio

import pytest

from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import AgentSummary, Append, Commit, LogError, Receipt, VersionConflict
from sapwood.turns.log import Log
from tests.store.contract import (
    OpenLog,
    append,
    commit_of,
    grow,
    new_command,
    prompt_event,
    start,
    texts,
)

ADA, BOB, EVE = AgentId("ada"), AgentId("bob"), AgentId("eve")


async def versions(log: Log, space: Space, agent: AgentId) -> list[int]:
    return [recorded.version for recorded in await log.read(space, agent)]


async def test_what_was_committed_is_there_when_the_call_returns(log: Log, space: Space) -> None:
    first = append(ADA, prompt_event("one"), prompt_event("two"))
    assert await log.commit(space, commit_of(first)) is None
    assert await log.read(space, ADA) == list(first.events)


async def test_it_is_visible_to_others_who_have_the_database_open(
    log: Log, space: Space, open_log: OpenLog
) -> None:
    await start(log, space, ADA, "one")
    assert texts(await (await open_log()).read(space, ADA)) == ["one"]


@pytest.mark.parametrize("expected", [0, 1, 3, 1000])
async def test_another_version_than_expected_is_refused(
    log: Log, space: Space, expected: int
) -> None:
    await start(log, space, ADA, "one", "two", name="before")
    late = commit_of(append(ADA, prompt_event("late"), expected=expected, name="after"))
    with pytest.raises(VersionConflict) as conflict:
        await log.commit(space, late)
    assert (conflict.value.agent, conflict.value.expected) == (ADA, expected)
    assert texts(await log.read(space, ADA)) == ["one", "two"]
    assert await log.summary(space, ADA) == AgentSummary(ADA, 2, name="before")
    assert await log.receipt(space, late.receipt.command) is None


@pytest.mark.parametrize("others", [0, 1])
async def test_an_agent_that_was_created_at_another_moment_is_refused(
    log: Log, space: Space, others: int
) -> None:
    """An id may be used again after an erasure."""
    await start(log, space, ADA, "one", "two", created=5)
    with_it = [append(BOB, prompt_event("one"))] * others
    late = append(ADA, prompt_event("late"), expected=2, created=4)
    with pytest.raises(VersionConflict):
        await log.commit(space, commit_of(late, *with_it))
    assert texts(await log.read(space, ADA)) == ["one", "two"]
    for number, created in enumerate((5, 0, 5), start=2):  # 0: it cannot be read there
        more = append(ADA, prompt_event("more"), expected=number, created=created)
        assert await log.commit(space, commit_of(more)) is None


async def test_an_agent_cannot_start_in_the_middle(log: Log, space: Space) -> None:
    with pytest.raises(VersionConflict):
        await log.commit(space, commit_of(append(ADA, prompt_event("late"), expected=1)))
    assert await log.read(space, ADA) == []
    assert await log.summary(space, ADA) is None


@pytest.mark.parametrize("first", [ADA, BOB])
async def test_several_logs_grow_together_or_not_at_all(
    log: Log, space: Space, first: AgentId
) -> None:
    await start(log, space, ADA, "one")
    await start(log, space, BOB, "one")
    good = append(first, prompt_event("two"), expected=1, name="new")
    bad = append(BOB if first == ADA else ADA, prompt_event("two"), expected=7)
    new = append(EVE, prompt_event("one"))
    for order in ((good, bad, new), (new, bad, good), (bad, good, new)):
        with pytest.raises(VersionConflict):
            await log.commit(space, commit_of(*order))
    assert await versions(log, space, ADA) == [1]
    assert await versions(log, space, BOB) == [1]
    assert await log.summary(space, first) == AgentSummary(first, 1)
    assert await log.summary(space, EVE) is None
    both = (good, append(EVE, prompt_event("one"), prompt_event("two")))
    assert await log.commit(space, commit_of(*both)) is None
    assert await versions(log, space, first) == [1, 2]
    assert await versions(log, space, EVE) == [1, 2]


async def test_the_same_command_again_gets_its_first_answer(log: Log, space: Space) -> None:
    command = new_command()
    first = commit_of(append(ADA, prompt_event("one")), command=command, message="Started. ✓")
    again = commit_of(
        append(ADA, prompt_event("two"), expected=1), command=command, message="Other."
    )
    assert await log.commit(space, first) is None
    assert await log.commit(space, again) == first.receipt
    # A repeated command usually expects the old version: it gets its receipt, not a conflict.
    assert await log.commit(space, first) == first.receipt
    assert await versions(log, space, ADA) == [1]
    assert await log.receipt(space, command) == first.receipt


async def test_a_receipt_is_kept_for_ever(log: Log, space: Space, open_log: OpenLog) -> None:
    commit = commit_of(
        *(append(ADA, prompt_event("one")), append(BOB, prompt_event("one"))),
        message="Forked.",
        digest="d1",
    )
    await log.commit(space, commit)
    assert await (await open_log()).receipt(space, commit.receipt.command) == commit.receipt


async def test_an_unknown_command_has_no_receipt(log: Log, space: Space) -> None:
    assert await log.receipt(space, CommandId("never given")) is None


async def test_a_command_may_change_nothing_and_still_have_an_answer(
    log: Log, space: Space
) -> None:
    receipt = Receipt(new_command(), "Nothing to clear.")
    commit = commit_of(command=receipt.command, message=receipt.message)
    assert await log.commit(space, commit) is None
    assert await log.commit(space, commit) == receipt


async def test_a_refused_command_can_be_given_again(log: Log, space: Space) -> None:
    command = new_command()
    await start(log, space, ADA)
    with pytest.raises(VersionConflict):
        await log.commit(space, commit_of(append(ADA, prompt_event("two")), command=command))
    retried = commit_of(append(ADA, prompt_event("two"), expected=1), command=command)
    assert await log.commit(space, retried) is None
    assert await versions(log, space, ADA) == [1, 2]


async def test_of_many_commits_that_expect_the_same_version_one_is_stored(
    log: Log, space: Space
) -> None:
    await start(log, space, ADA)
    rivals = [commit_of(append(ADA, prompt_event(str(n)), expected=1)) for n in range(30)]
    ends = await asyncio.gather(
        *(log.commit(space, rival) for rival in rivals), return_exceptions=True
    )
    assert sum(end is None for end in ends) == 1
    assert sum(isinstance(end, VersionConflict) for end in ends) == 29
    winner = ends.index(None)
    assert texts(await log.read(space, ADA, 2)) == [str(winner)]


async def test_a_conflict_hurts_only_its_own_command(log: Log, space: Space) -> None:
    """A store may commit many commands at once; they do not affect each other."""
    await start(log, space, ADA)
    good = [commit_of(append(AgentId(f"good-{n}"), prompt_event("one"))) for n in range(20)]
    bad = [
        commit_of(append(ADA, prompt_event("bad")), append(AgentId(f"bad-{n}"), prompt_event("")))
        for n in range(20)
    ]
    mixed = [commit for pair in zip(good, bad, strict=True) for commit in pair]
    ends = await asyncio.gather(
        *(log.commit(space, each) for each in mixed), return_exceptions=True
    )
    assert ends[::2] == [None] * 20
    assert all(isinstance(end, VersionConflict) for end in ends[1::2])
    listed = await log.agents(space)
    assert {summary.agent for summary in listed} == {ADA, *(f"good-{n}" for n in range(20))}
    for commit in good:
        assert await log.receipt(space, commit.receipt.command) == commit.receipt
    for commit in bad:
        assert await log.receipt(space, commit.receipt.command) is None


async def test_a_command_given_twice_at_once_acts_once(
    log: Log, space: Space, open_log: OpenLog
) -> None:
    other = await open_log()
    for n in range(10):
        commit = commit_of(append(AgentId(f"agent-{n}"), prompt_event("one")))
        ends = await asyncio.gather(
            log.commit(space, commit), log.commit(space, commit), other.commit(space, commit)
        )
        assert sorted(end is None for end in ends) == [False, False, True]
        assert [end for end in ends if end] == [commit.receipt] * 2
        assert await versions(log, space, AgentId(f"agent-{n}")) == [1]


async def test_streams_stay_gapless_under_many_writers(
    log: Log, space: Space, open_log: OpenLog
) -> None:
    logs = [log, await open_log()]
    agents = [AgentId(f"agent-{n}") for n in range(3)]

    async def write(writer: int) -> None:
        for n in range(10):
            await grow(logs[writer % 2], space, agents[n % 3], f"{writer}.{n}", f"{writer}.{n}+")

    await asyncio.gather(*(write(writer) for writer in range(6)))
    found: list[str] = []
    for agent in agents:
        recorded = await log.read(space, agent)
        assert [each.version for each in recorded] == list(range(1, len(recorded) + 1))
        found += texts(recorded)
    assert sorted(found) == sorted(
        f"{writer}.{n}{plus}" for writer in range(6) for n in range(10) for plus in ("", "+")
    )


async def test_a_caller_that_stopped_waiting_can_ask_whether_it_was_stored(
    log: Log, space: Space
) -> None:
    for n in range(20):
        agent, commit = (
            AgentId(f"agent-{n}"),
            commit_of(append(AgentId(f"agent-{n}"), prompt_event("one"))),
        )
        waiting = asyncio.ensure_future(log.commit(space, commit))
        for _ in range(n % 4):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        # The same command again makes it certain: it takes effect once.
        await log.commit(space, commit)
        assert await log.receipt(space, commit.receipt.command) == commit.receipt
        assert await versions(log, space, agent) == [1]


async def test_the_late_receipt_says_whether_a_cancelled_commit_was_stored(
    log: Log, space: Space
) -> None:
    for n in range(40):
        agent = AgentId(f"agent-{n}")
        commit = commit_of(append(agent, prompt_event("one")))
        others = [
            asyncio.ensure_future(
                log.commit(space, commit_of(append(AgentId(f"other-{n}-{m}"), prompt_event("two"))))
            )
            for m in range(n % 3)
        ]
        waiting = asyncio.ensure_future(log.commit(space, commit))
        for _ in range(n // 3):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        late = await log.late_receipt(space, commit.receipt.command)
        await asyncio.gather(*others)
        await log.commit(space, commit_of(append(AgentId(f"after-{n}"), prompt_event("three"))))
        assert await log.receipt(space, commit.receipt.command) == late
        assert await versions(log, space, agent) == ([1] if late else [])


async def test_a_large_turn_is_one_commit(log: Log, space: Space) -> None:
    many = [str(n) for n in range(2500)]
    await start(log, space, ADA, *many)
    assert texts(await log.read(space, ADA)) == many


async def test_a_closed_log_refuses(open_log: OpenLog, space: Space) -> None:
    log = await open_log()
    await start(log, space, ADA)
    await log.close()
    await log.close()
    with pytest.raises(LogError, match="closed"):
        await log.commit(space, commit_of(append(BOB, prompt_event("late"))))


async def test_commits_that_wait_during_close_get_their_true_result(
    open_log: OpenLog, space: Space
) -> None:
    log, other = await open_log(), await open_log()
    commits = [commit_of(append(AgentId(f"agent-{n}"), prompt_event("one"))) for n in range(20)]
    waiting = [asyncio.ensure_future(log.commit(space, commit)) for commit in commits]
    await asyncio.sleep(0)
    if log is not other:
        await log.close()
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    for commit, end in zip(commits, ends, strict=True):
        stored = await other.receipt(space, commit.receipt.command)
        assert stored == (None if isinstance(end, LogError) else commit.receipt)


@pytest.mark.parametrize(
    ("agent", "expected", "places", "summary"),
    [
        (ADA, 1, (1, 2), AgentSummary(ADA, 2)),
        (ADA, 0, (2,), AgentSummary(ADA, 1)),
        (ADA, 0, (2, 1), AgentSummary(ADA, 2)),
        (BOB, 0, (1, 2), AgentSummary(BOB, 2)),
        (ADA, 0, (1, 2), AgentSummary(BOB, 2)),
        (ADA, 0, (1, 2), AgentSummary(ADA, 3)),
    ],
)
def test_an_append_that_would_leave_a_gap_cannot_even_be_made(
    agent: AgentId, expected: int, places: tuple[int, ...], summary: AgentSummary
) -> None:
    events = append(ADA, prompt_event("one"), prompt_event("two")).events
    with pytest.raises(ValueError, match="to append"):
        Append(agent, expected, tuple(events[place - 1] for place in places), summary)


async def test_commands_carried_out_together_each_have_a_receipt(log: Log, space: Space) -> None:
    commit = together(
        append(ADA, prompt_event("one"), prompt_event("two")), "first", "second", "third"
    )
    assert await log.commit(space, commit) is None
    for receipt in commit.receipts:
        assert await log.receipt(space, receipt.command) == receipt


@pytest.mark.parametrize("known", ["first", "second", "third"])
async def test_when_one_of_them_is_known_none_is_stored(log: Log, space: Space, known: str) -> None:
    earlier = together(append(BOB, prompt_event("one")), known)
    assert await log.commit(space, earlier) is None
    late = together(
        append(ADA, prompt_event("one"), prompt_event("two")), "first", "second", "third"
    )
    assert await log.commit(space, late) == earlier.receipt
    assert await log.read(space, ADA) == []
    for receipt in late.receipts:
        found = await log.receipt(space, receipt.command)
        assert found == (earlier.receipt if receipt.command == known else None)


def together(one: Append, *commands: str) -> Commit:
    first, *also = [Receipt(CommandId(command), f"Did {command}.") for command in commands]
    return Commit((one,), first, tuple(also))
