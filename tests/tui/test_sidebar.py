"""The sidebar: agents as a tree, chapters, warnings with what to type."""

from sapwood.api import Agent, Sapwood
from sapwood.app.connection import connect
from sapwood.core.commands import RecordJudgement
from sapwood.core.events import SYSTEM, JudgedStretch
from sapwood.turns.clock_and_ids import command_meta
from tests.tui.stage import on_stage, until

_TALK = (
    (
        "Add OAuth login with PKCE to the mobile app.",
        "The OAuth client creates a PKCE verifier and sends the challenge to the authorize URL.",
    ),
    (
        "Store the refresh token of the OAuth login in the keychain.",
        "The refresh token of the OAuth login is kept in the keychain of the mobile app.",
    ),
    (
        "btw, our webpack build takes four minutes on Jenkins. Any idea why?",
        "Source maps are made for every webpack chunk, and Jenkins agents have no webpack cache. "
        * 60,
    ),
    ("can that webpack cache be shared?", "Yes, webpack writes its cache to a Jenkins volume."),
    (
        "Logout has to revoke the OAuth refresh token of the mobile app at the server.",
        "Logout revokes the refresh token at the OAuth server of the mobile app.",
    ),
)


async def with_an_aside(db: Sapwood) -> Agent:
    """A conversation with a long aside in its middle, which a judge called other work."""
    agent = await db.start("login", id="loginagent")
    for question, answer in _TALK:
        await agent.record(question, answer)
    judged = RecordJudgement(agent.id, "gpt-5", (JudgedStretch(3, 4, "other work"),))
    await db.connection.dispatcher.dispatch(judged, command_meta(SYSTEM))
    return agent


async def test_chapters_are_shown_with_what_those_off_the_task_hold() -> None:
    connection = await connect(":memory:")
    agent = await with_an_aside(Sapwood(connection))
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.sees("CHAPTERS")
        await stage.sees("█░")
        await stage.sees("1 chapter off task")
        assert "webpack" in stage.screen().split("CHAPTERS")[1].split("MARKS")[0].casefold()
    await connection.close()


async def test_a_talk_of_one_chapter_shows_none() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("login")
    for question, answer in _TALK[:2]:
        await agent.record(question, answer)
    async with on_stage(agent.id, connection=connection) as stage:
        conversation = stage.conversation
        await until(lambda: conversation._chapters is not None)  # pyright: ignore[reportPrivateUsage]
        await stage.pilot.pause()
        assert "CHAPTERS" not in stage.screen()
        assert "off task" not in stage.screen()
    await connection.close()


async def test_agents_stand_under_their_parents() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("root")
    child = await agent.fork(name="first child")
    await child.fork(name="grandchild")
    await agent.fork(name="second child")
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.sees("└ ● grandchild")
        shown = stage.screen()
        assert "├ ● first child" in shown
        assert "│ └ ● grandchild" in shown
        assert "└ ● second child" in shown
    await connection.close()


async def test_a_child_is_named_after_its_goal() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("root")
    await agent.record("Hello?", "Hello.")
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.type("/fork -- Count the nests.")
        await stage.sees("Count the nests.")
    await connection.close()


async def test_mail_stands_above_warnings() -> None:
    connection = await connect(":memory:")
    agent = await with_an_aside(Sapwood(connection))
    child = await agent.fork(name="child")
    await child.send(agent, "Done.")
    async with on_stage(agent.id, connection=connection, size=(120, 50)) as stage:
        await stage.sees("1 chapter off task")
        await stage.sees("1 unread mail")
        shown = stage.screen()
        assert shown.index("1 unread mail") < shown.index("1 chapter off task")
    await connection.close()


async def test_an_ordinary_chat_on_two_topics_shows_no_chapters() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("chat")
    for question, answer in _TALK:
        await agent.record(question, answer[:80])
    async with on_stage(agent.id, connection=connection) as stage:
        conversation = stage.conversation
        await until(lambda: conversation._chapters is not None)  # pyright: ignore[reportPrivateUsage]
        await stage.pilot.pause()
        assert len(conversation._chapters.chapters if conversation._chapters else ()) > 1  # pyright: ignore[reportPrivateUsage]
        assert "CHAPTERS" not in stage.screen()
    await connection.close()
