"""The assembled product: what `sapwood run` puts together, with a scripted model at the far end."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from msgspec import Struct

from proofs.e2e.checks import Checks
from proofs.e2e.wires import KEYS, WIRES, base_urls
from sapwood.api import Sapwood
from sapwood.api.agent import Agent
from sapwood.app.assembling import assemble
from sapwood.app.choosing import first_settings, switch_model
from sapwood.app.config import Config
from sapwood.app.connection import connect
from sapwood.app.running import Running
from sapwood.core.calling import Delta
from sapwood.core.commands import Configure, StartAgent
from sapwood.core.content import Text
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId
from sapwood.core.refusals import Refusal
from sapwood.core.settings import Workspace
from sapwood.runtime.dispatch import Done
from sapwood.runtime.fresh import given, new_agent_id
from scripted_model import ModelRequest, ReplyLike, ScriptedModel

__all__ = ["House", "open_house"]

LONGEST = 60.0
"""Seconds that anything in a scene may take."""

_GLANCE = 0.02

FILES = {
    "notes.txt": "The heron nests in the tall pine.\nThe stork nests on the roof.\n",
    "src/main.py": "def main() -> None:\n    print('heron')\n",
}


class House(Struct):
    """One database with agents that run, in one wire format."""

    wire: str
    config: Config
    wood: Sapwood
    running: Running
    server: ScriptedModel
    checks: Checks
    folder: Path
    abandoned: int = 0
    calls: int = 0

    @property
    def model(self) -> str:
        """The model that speaks the format."""
        return WIRES[self.wire]

    def script(self, play: Callable[[ModelRequest], ReplyLike | None]) -> None:
        """From now on the model answers as this function says."""
        self.server.script(play)

    async def start(self, name: str = "", model: str = "") -> Agent:
        """A new agent with the workspace of the house."""
        chosen = first_settings(self.config, model or self.model, system="Be brief.")
        agent = new_agent_id()
        where = Workspace(folder=str(self.folder))
        await self._done(StartAgent(agent, name, chosen, where))
        return Agent(self.wood.connection, agent)

    async def ask(self, agent: Agent, text: str) -> str:
        """Says something and waits for the end of the turn; the last words of the answer."""
        await agent.submit(text)
        await self.idle(agent)
        return await self.last_words(agent)

    async def heard(self, agent: Agent, text: str) -> list[Delta]:
        """Says something and listens to the pieces of the answer until the turn has ended."""
        pieces: list[Delta] = []
        version = (await agent.state()).version
        await agent.submit(text)
        async with (
            asyncio.timeout(LONGEST),
            aclosing(self.running.watch(agent.id, version)) as seen,
        ):
            async for shown in seen:
                if isinstance(shown.what, Delta):
                    pieces.append(shown.what)
                elif (await agent.state()).open is None:
                    break
        return pieces

    async def idle(self, *agents: Agent) -> None:
        """Waits until none of these has an open turn."""
        async with asyncio.timeout(LONGEST):
            for agent in agents:
                state = await agent.state()
                if state.open is None:
                    continue
                async with aclosing(self.running.watch(agent.id, state.version)) as seen:
                    async for _ in seen:
                        if (await agent.state()).open is None:
                            break

    async def until(self, agent: Agent, kind: str) -> None:
        """Waits for an event of this kind."""
        async with asyncio.timeout(LONGEST):
            async for recorded in agent.follow():
                if recorded.kind == kind:
                    return

    async def mail(self, agent: Agent, count: int) -> None:
        """Waits until so many letters are unread."""
        async with asyncio.timeout(LONGEST):
            state = await agent.state()
            if len(state.inbox) >= count:
                return
            async with aclosing(self.running.watch(agent.id, state.version)) as seen:
                async for _ in seen:
                    if len((await agent.state()).inbox) >= count:
                        return

    async def switch(self, agent: Agent, model: str) -> None:
        """Does what `/model` does."""
        change = await switch_model(
            self.wood.connection, self.config, KEYS, model, AgentId(agent.id)
        )
        if isinstance(change, Refusal):
            raise RefusedError(change)
        await self._done(Configure(agent.id, change))

    async def last_words(self, agent: Agent) -> str:
        """The last text in view."""
        parts = (await agent.request()).messages[-1].parts
        return next((part.text for part in reversed(parts) if isinstance(part, Text)), "")

    async def children(self, agent: Agent) -> list[Agent]:
        """The children, oldest first."""
        facts = await self.wood.agents(parent=agent.id)
        return [Agent(self.wood.connection, each.agent) for each in reversed(facts)]

    async def everyone(self) -> list[Agent]:
        """Every agent of the house."""
        facts = await self.wood.agents(limit=1_000)
        return [Agent(self.wood.connection, each.agent) for each in facts]

    async def hung_up(self, count: int) -> None:
        """Waits until the server has seen so many more requests given up by their client."""
        async with asyncio.timeout(LONGEST):
            while True:
                given_up = [each for each in self.server.requests if each.outcome == "abandoned"]
                if len(given_up) >= self.abandoned + count:
                    self.abandoned = len(given_up)
                    return
                await asyncio.sleep(_GLANCE)

    async def _done(self, command: StartAgent | Configure) -> None:
        answer = await self.wood.connection.dispatcher.dispatch(command, given())
        assert isinstance(answer, Done), answer.sentence


@asynccontextmanager
async def open_house(
    wire: str, folder: Path, server: ScriptedModel, checks: Checks
) -> AsyncGenerator[House]:
    """Opens a database in the folder and has its agents run."""
    for name, text in FILES.items():
        file = folder / "project" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    database = str(folder / "sapwood.db")
    config = Config(
        database=database,
        model=WIRES[wire],
        base_urls=base_urls(server),
        permissions=("allow write_file(**)", "allow shell(sleep *)"),
    )
    connection = await connect(database)
    running = assemble(connection, config, KEYS)
    await running.start()
    try:
        yield House(wire, config, Sapwood(connection), running, server, checks, folder / "project")
    finally:
        await running.close()
        await connection.close()
