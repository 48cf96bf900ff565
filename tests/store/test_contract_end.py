"""The contract of a log: a tail can begin after everything that was stored so far."""

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Cursor
from sapwood.runtime.log import Log
from tests.store.contract import append, commit_of, prompt_event, take

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
