"""The search behind every face: filters that need the whole turn, and hits by conversation."""

from collections.abc import AsyncGenerator

import pytest

import sapwood
from sapwood import RecordedReply, RecordedResult, RefusedError, Sapwood, ToolCall
from sapwood.conversation.turn_search import search_turns
from sapwood.core.commands import DeclareNote
from sapwood.core.events import HUMAN
from sapwood.core.ids import AgentId
from sapwood.turns.clock_and_ids import command_meta


@pytest.fixture
async def db() -> AsyncGenerator[Sapwood]:
    """Two conversations about herons."""
    async with sapwood.open(":memory:") as opened:
        nests = await opened.start("nests", id="nests")
        run = RecordedReply((ToolCall("1", "shell", '{"command": "pytest tests/test_heron.py"}'),))
        await nests.record(
            "Run the heron tests.", run, RecordedResult("1", "2 failed"), "They fail."
        )
        await nests.record("Where do herons nest?", "In tall trees.")
        ponds = await opened.start("ponds", id="ponds")
        await ponds.record("Use a fence against the heron.", "I will plan it.")
        await ponds.record(
            "Which fish does a heron eat?", "Small ones. A heron eats a heron's share."
        )
        yield opened


async def found(db: Sapwood, query: str, agents: list[AgentId] | None = None) -> list[str]:
    """The places of the turns that a query finds."""
    hits = await search_turns(db.connection, query, agents=agents)
    return [f"{hit.name}:{hit.turn}" for hit in hits]


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("heron tool:shell", ["nests:2"]),
        ("tool:SHELL", ["nests:2"]),
        ("heron tool:write_file", []),
        ("heron file:test_heron.py", ["nests:2"]),
        ("file:tests/test_heron.py", ["nests:2"]),
        ("heron file:other.py", []),
        ("heron is:decision", ["ponds:2"]),
        ("fish agent:nests", []),
        ("tall trees agent:nests", ["nests:3"]),
        ("fish agent:ponds agent:nests", ["ponds:3"]),
        ("heron after:2999-01-01", []),
        ("trees before:2999-01-01", ["nests:3"]),
        ('"small ones" heron', ["ponds:3"]),
    ],
)
async def test_filters_restrict_a_search(db: Sapwood, query: str, places: list[str]) -> None:
    assert await found(db, query) == places


async def test_a_declared_decision_is_found(db: Sapwood) -> None:
    note = DeclareNote(AgentId("ponds"), "decision", "The heron stays.")
    await db.connection.dispatcher.dispatch(note, command_meta(HUMAN))
    assert "ponds:4" in await found(db, "heron is:decision")


async def test_hits_of_one_conversation_are_together(db: Sapwood) -> None:
    places = await found(db, "what does the heron eat, and where are its tall trees")
    names = [place.partition(":")[0] for place in places]
    assert names in (["ponds", "ponds", "nests", "nests"], ["nests", "nests", "ponds", "ponds"])


async def test_an_unknown_agent_is_refused(db: Sapwood) -> None:
    with pytest.raises(RefusedError, match="nobody"):
        await search_turns(db.connection, "heron agent:nobody")


async def test_a_restricted_search_learns_nothing_about_other_agents(db: Sapwood) -> None:
    own = [AgentId("ponds")]
    assert await found(db, "heron agent:nests", agents=own) == []
    assert await found(db, "heron agent:nobody", agents=own) == []
    assert await found(db, "fish agent:ponds", agents=own) == ["ponds:3"]
