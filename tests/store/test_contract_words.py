"""The contract of a log: words of a reply that is arriving stand beside it, in one value."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

import pytest
from msgspec import structs

from sapwood.core.content import Text
from sapwood.core.context import ROOT
from sapwood.core.events import ModelCalled, Recorded, ReplyAdded
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import LiveWords
from sapwood.core.log_values import Append, VersionConflict
from sapwood.turns.log import Log
from tests.store.contract import (
    OpenLog,
    append,
    commit_of,
    new_command,
    on_databases,
    prompt_event,
    take,
)

ADA = AgentId("ada")
ASKED = 2
CALL = ModelCalled("oak", ROOT, "hash")


def words(text: str, asked: int = ASKED) -> LiveWords:
    return LiveWords(asked, new_command(), (Text(text),))


def ending(last: CommandId | None, *, expected: int = ASKED) -> Append:
    """The append of a reply, which ends the words."""
    return structs.replace(
        append(ADA, ReplyAdded((Text("All of it."),)), expected=expected),
        ends_words=True,
        words=last,
    )


@pytest.fixture
async def asked(log: Log, space: Space) -> Log:
    """A log in which a model was called."""
    await log.commit(space, commit_of(append(ADA, prompt_event("Well?"), CALL)))
    return log


async def test_words_are_replaced_by_more_words(asked: Log, space: Space) -> None:
    first, more = words("Once"), words("Once upon")
    assert await asked.words(space, ADA) is None
    assert await asked.save_words(space, ADA, ASKED, first, None)
    assert await asked.words(space, ADA) == first
    assert await asked.save_words(space, ADA, ASKED, more, first.command)
    assert await asked.words(space, ADA) == more
    assert await asked.words(Space("another"), ADA) is None
    assert len(await asked.read(space, ADA)) == ASKED


async def test_words_that_do_not_follow_those_before_are_not_stored(
    asked: Log, space: Space
) -> None:
    first = words("Once")
    assert not await asked.save_words(space, ADA, ASKED - 1, first, None)
    assert not await asked.save_words(space, ADA, ASKED, first, new_command())
    assert not await asked.save_words(space, AgentId("nobody"), 0, first, None)
    assert await asked.save_words(space, ADA, ASKED, first, None)
    assert not await asked.save_words(space, ADA, ASKED, words("Twice"), None)
    assert not await asked.save_words(space, ADA, ASKED, words("Twice"), new_command())
    assert await asked.words(space, ADA) == first


async def test_a_commit_that_ends_the_reply_deletes_the_words(asked: Log, space: Space) -> None:
    await asked.save_words(space, ADA, ASKED, words("Once"), None)
    await asked.commit(space, commit_of(ending(None)))
    assert await asked.words(space, ADA) is None
    assert len(await asked.read(space, ADA)) == ASKED + 1


async def test_a_commit_that_does_not_end_the_reply_keeps_the_words(
    asked: Log, space: Space
) -> None:
    first, more = words("Once"), words("Once upon")
    await asked.save_words(space, ADA, ASKED, first, None)
    await asked.commit(space, commit_of(append(ADA, prompt_event("mail"), expected=ASKED)))
    assert await asked.words(space, ADA) == first
    assert await asked.save_words(space, ADA, ASKED, more, first.command)


async def test_a_commit_that_does_not_know_the_last_words_is_refused(
    asked: Log, space: Space
) -> None:
    first, more = words("Once"), words("Once upon")
    await asked.save_words(space, ADA, ASKED, first, None)
    await asked.save_words(space, ADA, ASKED, more, first.command)
    for last in (first.command, CommandId("")):
        with pytest.raises(VersionConflict):
            await asked.commit(space, commit_of(ending(last)))
    assert await asked.words(space, ADA) == more
    await asked.commit(space, commit_of(ending(more.command)))
    assert await asked.words(space, ADA) is None
    assert not await asked.save_words(space, ADA, ASKED, words("Late"), more.command)
    assert not await asked.save_words(space, ADA, ASKED, words("Late"), None)


@pytest.mark.parametrize("last", [None, CommandId("")])
async def test_a_commit_that_is_refused_leaves_the_words(
    asked: Log, space: Space, last: CommandId | None
) -> None:
    first = words("Once")
    await asked.save_words(space, ADA, ASKED, first, None)
    with pytest.raises(VersionConflict):
        await asked.commit(space, commit_of(ending(last, expected=ASKED - 1)))
    assert await asked.words(space, ADA) == first


async def test_a_reply_without_words_ends_only_if_none_have_come(asked: Log, space: Space) -> None:
    with pytest.raises(VersionConflict):
        await asked.commit(space, commit_of(ending(CommandId("gone"))))
    await asked.commit(space, commit_of(ending(CommandId(""))))
    assert len(await asked.read(space, ADA)) == ASKED + 1


async def test_of_words_and_an_end_at_the_same_time_nothing_is_lost(
    asked: Log, space: Space
) -> None:
    """Either the end knows the words, or they are refused."""
    for version in range(ASKED, 42, 2):
        first = words("Once", version)
        saved, ended = await asyncio.gather(
            asked.save_words(space, ADA, version, first, None),
            asked.commit(space, commit_of(ending(CommandId(""), expected=version))),
            return_exceptions=True,
        )
        assert (saved is True) == isinstance(ended, VersionConflict)
        if saved is True:
            await asked.commit(space, commit_of(ending(first.command, expected=version)))
        await asked.commit(space, commit_of(append(ADA, CALL, expected=version + 1)))


@on_databases
async def test_words_survive_the_process_that_stored_them(
    asked: Log, space: Space, open_log: OpenLog
) -> None:
    first = words("Once")
    await asked.save_words(space, ADA, ASKED, first, None)
    other = await open_log()
    assert await other.words(space, ADA) == first


async def test_who_watches_gets_events_and_words_in_order(asked: Log, space: Space) -> None:
    first, more = words("Once"), words("Once upon")
    watching = cast("AsyncGenerator[Recorded | LiveWords]", asked.watch(space, ADA))
    async with aclosing(watching) as watched:
        seen = [await anext(watched), await anext(watched)]
        await asked.save_words(space, ADA, ASKED, first, None)
        seen.append(await anext(watched))
        await asked.save_words(space, ADA, ASKED, more, first.command)
        seen.append(await anext(watched))
        await asked.commit(space, commit_of(ending(None)))
        seen.append(await anext(watched))
    assert [each.version if isinstance(each, Recorded) else each for each in seen] == [
        *(1, 2, first, more, 3)
    ]


@on_databases
async def test_who_watches_in_another_process_gets_the_words(
    asked: Log, space: Space, open_log: OpenLog
) -> None:
    other, first = await open_log(), words("Once")
    watched = asyncio.ensure_future(take(other.watch(space, ADA, ASKED), 1))
    await asyncio.sleep(0.1)
    await asked.save_words(space, ADA, ASKED, first, None)
    assert await watched == [first]


@on_databases
async def test_who_stores_words_learns_that_another_process_watches_them(
    asked: Log, space: Space, open_log: OpenLog
) -> None:
    other, first = await open_log(), words("Once")
    with asked.watched_words(space, ADA) as wait_for_watcher:
        await asked.save_words(space, ADA, ASKED, first, None)
        assert await take(other.watch(space, ADA, ASKED), 1) == [first]
        assert await wait_for_watcher(30.0)
