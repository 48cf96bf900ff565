"""The contract of a log: a tail can begin after everything that was stored so far."""

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Cursor
from sapwood.turns.log import Log
from tests.store.contract import OpenLog, append, commit_of, on_databases, prompt_event, take

ADA = AgentId("ada")


async def test_the_end_is_the_cursor_after_the_last_event(log: Log, space: Space) -> None:
    assert await log.end(space) == Cursor()
    await log.commit(space, commit_of(append(ADA, prompt_event("one"), prompt_event("two"))))
    await log.commit(Space("another"), commit_of(append(ADA, prompt_event("elsewhere"))))
    await take(log.tail(space), 2)  # no older transaction of the server hides them any more
    end = await log.end(space)
    assert end == Cursor(2)
    await log.commit(space, commit_of(append(ADA, prompt_event("three"), expected=2)))
    [next_one] = await take(log.tail(space, end), 1)
    assert (next_one.recorded.version, next_one.cursor) == (3, Cursor(3))


@on_databases
async def test_each_cursor_of_a_long_space_is_found(
    log: Log, space: Space, open_log: OpenLog
) -> None:
    """There are more events than are counted from the beginning, and others between them."""
    each = 900
    for number in range(3):
        for where in (space, Space(f"{space}-other")):
            events = [prompt_event(f"{number} {place}") for place in range(each)]
            await log.commit(where, commit_of(append(ADA, *events, expected=number * each)))
    whole = await take(log.tail(space), 3 * each)
    for reader in (log, await open_log()):
        assert await reader.end(space) == whole[-1].cursor == Cursor(3 * each)
        for seen in (1, 900, 999, 1000, 1001, 2000, 2345, 3 * each - 1):
            assert await take(reader.tail(space, Cursor(seen)), 1) == [whole[seen]]
