"""Gives agents work: a new round whenever one has ended, as from another terminal."""

import asyncio

from proofs.crash_runtime.rounds import FOUNDER, SCOUT, Round
from sapwood.app.connection import Connection
from sapwood.core.commands import Command, StartAgent, StartTurn
from sapwood.core.content import Text
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.core.refusals import Refusal
from sapwood.core.settings import Settings, Workspace
from sapwood.turns.clock_and_ids import command_meta, new_agent_id
from sapwood.turns.scheduler import Engine

_GLANCE = 0.25
_CAP = 3_000
"""The cap of the history in tokens, small enough that windows move."""


class Workload:
    """The agents and the rounds that they were given."""

    def __init__(
        self, connection: Connection, engine: Engine, model: str, agents: int, folder: str
    ) -> None:
        self._connection = connection
        self._engine = engine
        self._model = model
        self._folder = folder
        self._founders = agents - agents // 2
        self._scouts = agents // 2
        self.given: list[Round] = []
        self.labels: dict[AgentId, str] = {}
        self._rounds: dict[AgentId, int] = {}

    async def start(self) -> None:
        """Starts the founders with their first rounds."""
        settings = Settings(model=self._model, cap=_CAP)
        for number in range(self._founders):
            agent, label = new_agent_id(), f"{FOUNDER}{number}"
            await self._do(StartAgent(agent, label, settings, Workspace(folder=self._folder)))
            self.labels[agent] = label
            scout = f"{SCOUT}{number}" if number < self._scouts else ""
            await self._give(agent, Round(label, 1, (self._next(number),), scout))

    async def run(self, until: asyncio.Event) -> None:
        """Gives every idle agent a new round, until `until` is set."""
        while not until.is_set():
            for summary in await self.team():
                if not summary.working:
                    await self._give(summary.agent, self._round(summary))
            await asyncio.sleep(_GLANCE)

    async def wait_until_idle(self, seconds: float) -> bool:
        """Waits until no agent has work; returns False if that takes longer than `seconds`."""
        for _ in range(round(seconds / _GLANCE)):
            if not any(summary.working for summary in await self.team()):
                return True
            await asyncio.sleep(_GLANCE)
        return False

    async def team(self) -> list[AgentSummary]:
        """All agents, scouts included."""
        team = await self._connection.log.agents(self._connection.space, limit=1_000)
        for summary in team:
            if summary.agent not in self.labels:
                self.labels[summary.agent] = _scout_of(
                    self.labels.get(summary.parent or summary.agent)
                )
        return team

    def _round(self, summary: AgentSummary) -> Round:
        label, number = self.labels[summary.agent], self._rounds.get(summary.agent, 1) + 1
        if summary.parent:
            return Round(label, number, (self.labels[summary.parent],))
        scouts = [agent for agent, name in self.labels.items() if name == _scout_of(label)]
        return Round(label, number, (self._next(int(label.removeprefix(FOUNDER))), *scouts[:1]))

    def _next(self, founder: int) -> str:
        return f"{FOUNDER}{(founder + 1) % self._founders}"

    async def _give(self, agent: AgentId, work: Round) -> None:
        await self._do(StartTurn(agent, (Text(work.prompt),)))
        self._rounds[agent] = work.number
        self.given.append(work)
        await self._engine.wake(self._connection.space, agent, model=self._model)

    async def _do(self, command: Command) -> None:
        done = await self._connection.dispatcher.dispatch(command, command_meta())
        if isinstance(done, Refusal):
            raise AssertionError(done.sentence)


def _scout_of(founder: str | None) -> str:
    return founder.replace(FOUNDER, SCOUT) if founder else "?"
