"""A turn has one number, and every command means that turn, whichever face it comes through."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sapwood.api import open
from sapwood.config.config_file import Config
from sapwood.context_actions.session_input import agent_input
from sapwood.conversation.answers import PromptToEdit
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.mcp_server.catalog import Catalog
from tests.server.serving import Served

pytestmark = pytest.mark.parametrize("store", ["sqlite"])

TURNS = [(f"Let's use colour {n}.", f"Colour {n} it is.") for n in range(1, 6)]
SAID: dict[str, str] = {
    "/rewind 2": "Rewound to just before turn 2. 4 turns removed from view.",
    "/rewind #2": "Rewound to just before turn 2. 4 turns removed from view.",
    "/rewind demo/2": "Rewound to just before turn 2. 4 turns removed from view.",
    "/edit 2": "Change the prompt of turn 2 and send it. Rewound to just before turn 2. "
    "4 turns removed from view.",
    "/bring 2": "Turn 2 is already in view.",
    "/diff 2": "4 turns are in only one of them.",
    "/recall #2": "User: Let's use colour 2.\n\nAssistant: Colour 2 it is.",
    "/rewind 6": "Turn numbers have changed: turn 6 is now turn 5.",
    "/edit 6": "Turn numbers have changed: turn 6 is now turn 5.",
    "/bring 6": "Turn numbers have changed: turn 6 is now turn 5.",
    "/diff 6": "Turn numbers have changed: turn 6 is now turn 5.",
    "/recall #6": "Turn numbers have changed: turn 6 is now turn 5.",
    "/rewind 9": "There is no turn 9. Type a number from 1 to 5.",
    "/bring 9": "There is no turn 9. Type a number from 1 to 5.",
}
"""Each line, and how its answer begins."""

FOR_MODELS = ("/bring", "/recall")


Face = Callable[[Served, AgentId, str], Awaitable[str]]


async def script(served: Served, agent: AgentId, line: str) -> str:
    async with open(served.connection.log) as db:
        [outcome] = await (await db.find(agent)).run_command(line)
    answer = outcome.answer
    if isinstance(answer, PromptToEdit):
        assert answer.prompt == "Let's use colour 2."
    return answer.sentence if isinstance(answer, Refusal) else answer.message


async def command_line(served: Served, agent: AgentId, line: str) -> str:
    command = [sys.executable, "-m", "sapwood.cli", "do", agent, line]
    environ = {**os.environ, "SAPWOOD_DATABASE": served.connection.address, "COLUMNS": "200"}
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, timeout=60, env=environ
    )
    return (done.stdout + done.stderr).removeprefix("Error: ")


async def http(served: Served, agent: AgentId, line: str) -> str:
    name, _, args = line.removeprefix("/").partition(" ")
    async with served.client() as client:
        answer = await client.post(f"/v1/agents/{agent}/commands/{name}", json={"args": args})
    told = answer.json()["message" if answer.is_success else "detail"]
    return told.replace("Send a number", "Type a number")  # nobody types into an API


async def mcp(served: Served, agent: AgentId, line: str) -> str:
    name, _, args = line.removeprefix("/").partition(" ")
    catalog = Catalog(Config(database=served.connection.address), Path.cwd(), agent)
    try:
        return (await catalog.call("slash", {"command": name, "args": args})).content
    finally:
        await catalog.close()


@pytest.mark.parametrize(
    "face", [script, pytest.param(command_line, marks=pytest.mark.night), http, mcp]
)
async def test_a_number_means_the_same_turn_in_every_face(served: Served, face: Face) -> None:
    for number, (line, expected) in enumerate(SAID.items()):
        if face is mcp and not line.startswith(FOR_MODELS):
            continue
        agent = AgentId(f"a{number}")
        async with open(served.connection.log) as db:
            conversation = await db.start("demo", id=agent)
            for prompt, reply in TURNS:
                await conversation.record(prompt, reply)
            said = await face(served, agent, line)
            await conversation.rename(f"old{number}")
        shown = _shown(expected, face)
        assert said.startswith(shown), line


def _shown(expected: str, face: Face) -> str:
    """The command line prints a comparison instead of its sentence."""
    return "+ #2" if face is command_line and expected.startswith("4 turns are") else expected


async def test_a_number_of_the_ledger_is_that_of_rewind(served: Served) -> None:
    async with open(served.connection.log) as db:
        agent = await db.start("demo")
        for prompt, reply in TURNS:
            await agent.record(prompt, reply)
        await agent.run_command("/rewind 4")
        await agent.record("Let's use colour 6.", "Colour 6 it is.")
        ledger = (await agent_input(db.connection, AgentId(agent.id))).ledger()
        numbers = {each.text: each.turn for each in ledger.decisions}
        assert numbers["Let's use colour 6."] == 6
        for text, number in list(numbers.items()):
            [outcome] = await agent.run_command(f"/edit {number}")
            assert isinstance(outcome.answer, PromptToEdit)
            assert outcome.answer.prompt == text
            await agent.undo()
