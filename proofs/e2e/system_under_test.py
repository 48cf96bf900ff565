"""The complete product as `sapwood run` assembles it, with a scripted model."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from msgspec import Struct

from proofs.e2e.checks import Checks
from proofs.e2e.wires import KEYS, WIRES, base_urls
from sapwood.api import Sapwood
from sapwood.api.agent import Agent
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.assembly import assemble
from sapwood.app.connection import connect
from sapwood.config.config_file import Config
from sapwood.conversation.configured_models import first_settings, switch_model
from sapwood.core.commands import Configure, StartAgent
from sapwood.core.content import Text
from sapwood.core.errors import RefusedError
from sapwood.core.events import Recorded, TurnCompleted, TurnFailed, TurnInterrupted
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Delta
from sapwood.core.refusals import Refusal
from sapwood.core.settings import Workspace
from sapwood.turns.clock_and_ids import command_meta, new_agent_id
from sapwood.turns.dispatch import Done
from scripted_model import ModelRequest, ReplyLike, ScriptedModel

TIMEOUT = 60.0
"""The time limit of each wait in a scene, in seconds."""

_GLANCE = 0.02
_ENDS = (TurnCompleted, TurnFailed, TurnInterrupted)

FILES = {
    "notes.txt": "The heron nests in the tall pine.\nThe stork nests on the roof.\n",
    "src/main.py": "def main() -> None:\n    print('heron')\n",
}


class SystemUnderTest(Struct):
    """One database with running agents, in one wire format."""

    wire: str
    config: Config
    db: Sapwood
    running: AgentRunner
    server: ScriptedModel
    checks: Checks
    folder: Path
    abandoned: int = 0
    calls: int = 0

    @property
    def model(self) -> str:
        """The model that uses the wire format."""
        return WIRES[self.wire]

    def script(self, play: Callable[[ModelRequest], ReplyLike | None]) -> None:
        """Sets the function that answers for the model from now on."""
        self.server.script(play)

    async def start(self, name: str = "", model: str = "") -> Agent:
        """Starts an agent in the workspace."""
        chosen = first_settings(self.config, model or self.model, system="Be brief.")
        agent = new_agent_id()
        where = Workspace(folder=str(self.folder))
        await self._done(StartAgent(agent, name, chosen, where))
        return Agent(self.db.connection, agent)

    async def ask(self, agent: Agent, text: str) -> str:
        """Sends a prompt, waits for the end of the turn, and returns the last text."""
        await agent.run_command(text)
        await self.idle(agent)
        return await self.last_words(agent)

    async def heard(self, agent: Agent, text: str) -> list[Delta]:
        """Sends a prompt, and returns the streamed pieces of the answer."""
        pieces: list[Delta] = []
        version = (await agent.state()).version
        await agent.run_command(text)
        async with (
            asyncio.timeout(TIMEOUT),
            aclosing(self.running.watch(agent.id, version)) as seen,
        ):
            async for shown in seen:
                if isinstance(shown.what, Delta):
                    pieces.append(shown.what)
                elif isinstance(shown.what, Recorded) and isinstance(shown.what.event, _ENDS):
                    break
        return pieces

    async def idle(self, *agents: Agent) -> None:
        """Waits until none of these agents has an open turn."""
        async with asyncio.timeout(TIMEOUT):
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
        async with asyncio.timeout(TIMEOUT):
            async for recorded in agent.follow():
                if recorded.kind == kind:
                    return

    async def mail(self, agent: Agent, count: int) -> None:
        """Waits until this many letters are unread."""
        async with asyncio.timeout(TIMEOUT):
            state = await agent.state()
            if len(state.inbox) >= count:
                return
            async with aclosing(self.running.watch(agent.id, state.version)) as seen:
                async for _ in seen:
                    if len((await agent.state()).inbox) >= count:
                        return

    async def switch(self, agent: Agent, model: str) -> None:
        """Does what `/model` does."""
        change = await switch_model(self.db.connection, self.config, KEYS, model, AgentId(agent.id))
        if isinstance(change, Refusal):
            raise RefusedError(change)
        await self._done(Configure(agent.id, change))

    async def last_words(self, agent: Agent) -> str:
        """The last text in view."""
        parts = (await agent.request()).messages[-1].parts
        return next((part.text for part in reversed(parts) if isinstance(part, Text)), "")

    async def children(self, agent: Agent) -> list[Agent]:
        """The children, oldest first."""
        found = await self.db.agents(parent=agent.id)
        return [Agent(self.db.connection, each.agent) for each in reversed(found)]

    async def everyone(self) -> list[Agent]:
        """All agents."""
        found = await self.db.agents(limit=1_000)
        return [Agent(self.db.connection, each.agent) for each in found]

    async def hung_up(self, count: int) -> None:
        """Waits until the client has abandoned this many more requests."""
        async with asyncio.timeout(TIMEOUT):
            while True:
                given_up = [each for each in self.server.requests if each.outcome == "abandoned"]
                if len(given_up) >= self.abandoned + count:
                    self.abandoned = len(given_up)
                    return
                await asyncio.sleep(_GLANCE)

    async def _done(self, command: StartAgent | Configure) -> None:
        answer = await self.db.connection.dispatcher.dispatch(command, command_meta())
        assert isinstance(answer, Done), answer.sentence


@asynccontextmanager
async def open_system(
    wire: str, folder: Path, server: ScriptedModel, checks: Checks
) -> AsyncGenerator[SystemUnderTest]:
    """Opens a database in the folder and runs its agents."""
    for name, text in FILES.items():
        file = folder / "project" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    database = str(folder / "sapwood.db")
    config = Config(
        database=database,
        model=WIRES[wire],
        base_urls=base_urls(server),
        permissions=("allow write_file(**)", "allow shell(sleep *)", "allow shell(cat *)"),
    )
    connection = await connect(database)
    running = assemble(connection, config, KEYS)
    await running.start()
    try:
        yield SystemUnderTest(
            wire, config, Sapwood(connection), running, server, checks, folder / "project"
        )
    finally:
        await running.close()
        await connection.close()
