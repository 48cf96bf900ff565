"""The contract of a log: an unreadable event keeps its place and does not stop a reader."""

from sapwood.core.events import UnreadableEvent
from sapwood.core.events.codec import decode
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Append
from sapwood.turns.log import Log
from tests.store.contract import append, commit_of, prompt_event, take

ADA, BOB = AgentId("ada"), AgentId("bob")
NEWER = decode("turn.dreamt", '{"of":"herons"}')
DAMAGED = decode("turn.started", '{"prompt":[{"type":"text","text":{"a":"dict"}}]}')


def mixed() -> Append:
    return append(ADA, prompt_event("first heron"), NEWER, DAMAGED, prompt_event("last heron"))


async def store_mixed(log: Log, space: Space) -> None:
    await log.commit(space, commit_of(mixed(), append(BOB, prompt_event("another heron"))))


async def test_readers_yield_it_with_its_kind_its_data_and_the_reason(
    log: Log, space: Space
) -> None:
    await store_mixed(log, space)
    found = await log.read(space, ADA)
    assert [each.version for each in found] == [1, 2, 3, 4]
    newer, damaged = found[1].event, found[2].event
    assert isinstance(newer, UnreadableEvent)
    assert isinstance(damaged, UnreadableEvent)
    assert (newer.kind, newer.data, newer.newer) == ("turn.dreamt", b'{"of":"herons"}', True)
    assert (damaged.kind, damaged.newer) == ("turn.started", False)
    assert "str" in damaged.reason
    assert [each.version for each in await log.read(space, ADA, backward=True)] == [4, 3, 2, 1]


async def test_followers_go_on_past_it(log: Log, space: Space) -> None:
    await store_mixed(log, space)
    assert [each.version for each in await take(log.follow(space, ADA), 4)] == [1, 2, 3, 4]


async def test_the_tail_goes_on_past_it(log: Log, space: Space) -> None:
    await store_mixed(log, space)
    kinds = [each.recorded.kind for each in await take(log.tail(space), 5)]
    assert sorted(kinds) == ["turn.dreamt", *["turn.started"] * 4]


async def test_a_search_finds_all_the_rest(log: Log, space: Space) -> None:
    await store_mixed(log, space)
    found = {(hit.ref.agent, hit.ref.version) for hit in await log.search(space, "heron")}
    assert found == {(ADA, 1), (ADA, 4), (BOB, 1)}


async def test_commits_go_on_after_it(log: Log, space: Space) -> None:
    await store_mixed(log, space)
    await log.commit(space, commit_of(append(ADA, prompt_event("after it"), expected=4)))
    assert [each.version for each in await log.read(space, ADA, 4)] == [4, 5]
