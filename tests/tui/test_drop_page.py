"""The page of `/drop`: several turns are picked, with what dropping them saves and costs."""

from sapwood.api import Sapwood
from sapwood.app.connection import Connection, connect
from sapwood.conversation.cut_preview import drop_places, preview_drop
from sapwood.core.commands import AddReply, CompleteTurn, StartTurn
from sapwood.core.content import Text, Thinking
from sapwood.core.ids import AgentId
from tests.tui.stage import on_stage

MODEL = "claude-sonnet-4-5"


async def _talk(connection: Connection) -> AgentId:
    """Six turns; the fifth has a signed thought."""
    agent = await Sapwood(connection).start("here", model=MODEL)
    for number in range(1, 7):
        await agent.do(StartTurn(agent.id, (Text(f"Question {number}? " + "word " * 12),)))
        thought = (Thinking("Hm.", "anthropic", "c2ln"),) if number == 5 else ()
        await agent.do(AddReply(agent.id, (*thought, Text(f"Answer {number}."))))
        await agent.do(CompleteTurn(agent.id))
    return agent.id


async def test_a_preview_says_what_a_drop_saves_and_costs() -> None:
    connection = await connect(":memory:")
    agent = await _talk(connection)
    places = await drop_places(connection, agent)
    assert [place.turn for place in places] == ["5", "4", "3", "2", "1"]
    shown = await preview_drop(connection, agent, ["2", "4"])
    assert shown.turns == 2
    assert shown.size.tokens == sum(each.size.tokens for each in places if each.turn in "24")
    assert shown.thoughts == 1
    assert shown.cheaper == ("4",)
    assert shown.now is not None
    assert shown.once is not None
    assert shown.before is not None
    assert shown.later is not None
    assert shown.once > shown.now  # what follows leaves the cache
    assert shown.later < shown.before
    assert shown.pays_after is not None
    less = await preview_drop(connection, agent, list(shown.cheaper))
    assert less.once is not None
    assert less.rewritten.tokens < shown.rewritten.tokens
    none = await preview_drop(connection, agent, ["5"])
    assert none.thoughts == 0
    await connection.close()


async def test_several_turns_are_picked_and_dropped_at_once() -> None:
    connection = await connect(":memory:")
    agent = await _talk(connection)
    async with on_stage(agent, connection=connection) as stage:
        await stage.sees("Answer 6.")
        await stage.type("/drop")
        await stage.sees("leaves view: 1 turn")
        await stage.pilot.press("down", "tab", "tab", "tab")
        await stage.sees("leaves view: 3 turns")
        await stage.sees("/drop 2-4")
        await stage.sees("1 signed thought after it may be dropped")
        await stage.pilot.press("enter")
        await stage.sees("3 turns dropped")
        await stage.sees("Dropped 3 turns")
        await stage.type("/undo")
        await stage.sees("Undone: /drop 2-4. 3 turns back in view.")
    await connection.close()
