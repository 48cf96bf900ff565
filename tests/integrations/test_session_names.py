"""Names of sessions: no user finds what another one stored, also by an earlier version."""

from collections.abc import AsyncIterator
from itertools import combinations, product

import pytest

from sapwood import Text
from sapwood_frameworks.conversation import Conversation, Database, Prompt, StoredValues
from sapwood_frameworks.session_names import (
    conversation_name,
    joined_names,
    names_of,
    session_values,
    user_values,
)

HELLO = Prompt((Text("My PIN is 1234."),))
PIECES = ("a", "a/b", "b", "b/a", "/", "%", "%%", "a%%b", "a%2Fb", "%2F", "2F", "25")


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    database = Database(":memory:")
    yield database
    await database.close()


async def stored(database: Database, name: str, owner: str) -> None:
    """A conversation as it is stored under this name."""
    await Conversation(database, name, owner=owner).add([HELLO])


def test_no_two_lists_of_names_are_joined_to_the_same_text() -> None:
    names = [joined_names("app", *each) for each in product(PIECES, repeat=2)]
    assert all(first != second for first, second in combinations(names, 2))


def test_names_without_a_slash_are_joined_as_by_earlier_versions() -> None:
    assert joined_names("chats", "50%", "main") == "chats/50%/main"


async def test_a_list_shows_the_names_of_each_session(database: Database) -> None:
    names = {("chats", user, session) for user, session in product(PIECES, repeat=2)}
    for each in names:
        await Conversation(database, await conversation_name(database, *each)).agent()
    found = await (await database.db()).agents(limit=500)
    assert {names_of(each) for each in found} == names


async def test_a_session_with_the_same_words_is_another_one(database: Database) -> None:
    name = await conversation_name(database, "chats", "org/bob", "s1")
    await stored(database, name, joined_names("chats", "org/bob"))
    assert await conversation_name(database, "chats", "org", "bob/s1") != name


async def test_a_conversation_of_an_earlier_version_is_found_by_its_own_user(
    database: Database,
) -> None:
    await stored(database, "chats/org/bob/s1", "chats/org/bob")
    earlier = "chats/org/bob/s1"
    assert await conversation_name(database, "chats", "org/bob", "s1") == earlier
    assert await conversation_name(database, "chats", "org", "bob/s1") != earlier
    assert await conversation_name(database, "chats/org", "bob", "s1") != earlier
    (found,) = await (await database.db()).agents()
    assert names_of(found) == ("chats", "org/bob", "s1")


async def test_state_of_a_user_of_an_earlier_version_is_not_that_of_a_session(
    database: Database,
) -> None:
    await stored(database, "chats/org/bob/s1", "chats/org/bob")
    await StoredValues(database, "chats/org/bob").update({"token": "T-99"})
    assert await (await user_values(database, "chats", "org/bob")).read() == {"token": "T-99"}
    await stored(database, "chats/org/bob", "chats/org")
    session = await session_values(database, "chats/org/bob")
    assert await session.read() == {}
    await session.update({"k": 1})
    assert await (await session_values(database, "chats/org/bob")).read() == {"k": 1}
    assert await (await user_values(database, "chats", "org/bob")).read() == {"token": "T-99"}


async def test_state_of_a_session_of_an_earlier_version_is_not_that_of_a_user(
    database: Database,
) -> None:
    await stored(database, "chats/ada/bob", "chats/ada")
    await StoredValues(database, "chats/ada/bob").update({"token": "T-99"})
    user = await user_values(database, "chats", "ada/bob")
    assert await user.read() == {}
    await user.update({"k": 1})
    assert await (await session_values(database, "chats/ada/bob")).read() == {"token": "T-99"}
