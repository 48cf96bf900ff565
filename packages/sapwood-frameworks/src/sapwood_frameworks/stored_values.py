"""The class `StoredValues`: values of a framework that are no messages, such as its state.

They are kept as the turns of an agent of their own, each with all values as JSON. The newest turn
counts; the older ones stay in the log.
"""

import json
from contextlib import suppress
from typing import cast

from sapwood.api import Agent
from sapwood.core.commands import RecordTurn, StartAgent
from sapwood.core.content import Note, RecordedReply, Text
from sapwood.core.errors import RefusedError
from sapwood.core.events import TurnRecorded
from sapwood.core.ids import AgentId
from sapwood_frameworks.conversation import Database, agent_id

Values = dict[str, object]


class StoredValues:
    """Named values under one name, in any process."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        self._id = AgentId(agent_id(f"values/{name}"))

    async def read(self) -> Values:
        """Returns the values; none if nothing was stored."""
        agent = await self._agent()
        for recorded in await agent.events(limit=1, backward=True):
            if isinstance(recorded.event, TurnRecorded):
                values = json.loads(recorded.event.prompt[0].text)
                return cast("Values", values)
        return {}

    async def update(self, changes: Values) -> None:
        """Sets the given values; the others stay."""
        if not changes:
            return
        values = {**await self.read(), **changes}
        agent = await self._agent()
        with suppress(RefusedError):  # it was started before
            await agent.do(StartAgent(self._id, self._name[:200], script=True))
        note = Note("program", json.dumps(values, ensure_ascii=False, default=str))
        await agent.do(RecordTurn(self._id, (note,), (RecordedReply((Text("stored"),)),)))

    async def _agent(self) -> Agent:
        return Agent((await self._database.db()).connection, self._id)
