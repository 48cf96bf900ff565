"""An engine that is made when it is first needed: whoever only reads never pays for it."""

import asyncio
from importlib import import_module
from importlib.util import find_spec

from sapwood.app.assembling import engine_for
from sapwood.app.config import Config
from sapwood.core.ids import AgentId, Space
from sapwood.runtime.engine import Drive, Engine

__all__ = ["LateEngine"]

_SLOW = ("dbos", "pydantic_ai.direct")
"""Libraries that take their time to import, which a screen must not wait for."""


class LateEngine:
    """Stands for the configured engine until that is there."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._engine: Engine | None = None
        self._making = asyncio.Lock()

    async def launch(self, drive: Drive) -> None:
        """Makes the engine and starts it."""
        await (await self._made()).launch(drive)

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None:
        """Has this agent driven soon."""
        engine = await self._made()
        await engine.wake(space, agent, model=model, user=user, delay=delay)

    async def close(self) -> None:
        """Closes the engine, if there ever was one."""
        if self._engine is not None:
            await self._engine.close()

    async def warm_up(self) -> None:
        """Imports what the first call will need, beside whatever else goes on."""
        for name in _SLOW:
            if find_spec(name.partition(".")[0]) is not None:
                await asyncio.to_thread(import_module, name)

    async def _made(self) -> Engine:
        async with self._making:
            if self._engine is None:
                await self.warm_up()
                self._engine = engine_for(self._config)
            return self._engine
