"""A home with the real opencode, the adapter, and what the scripted model received from it."""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any  # requests are JSON

from proofs.agents_e2e.environment import ProofError
from proofs.opencode.environment import opencode_environment
from proofs.providers_e2e.codex_world import history
from sapwood.core.content import Text
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.settings import PermissionMode
from sapwood.programs.agent_provider import (
    ProviderAnswer,
    ProviderEvent,
    ProviderOptions,
    ProviderQuestion,
    TurnEnd,
)
from sapwood.programs.opencode.provider import OpencodeProvider
from scripted_model import ModelRequest, ScriptedModel

__all__ = ["OpencodeWorld", "history", "opencode_world"]

_COMPACTION = "Do not mention the summary process"
"""What only opencode's request for a summary has. The conversation is in the same prompt."""
_WORDS = re.compile(r"TURN\d+|SUMMARY\d*|PROBE\d*|NEUTRAL\d*")


def _summary(request: ModelRequest) -> str | None:
    return "SUMMARY of the turns" if _COMPACTION in request.prompt else None


class OpencodeWorld:
    """One home, one adapter."""

    def __init__(self, root: Path, model: ScriptedModel) -> None:
        self.root = root
        self.model = model
        self.environ = opencode_environment(root, model)
        self.provider = self.new_provider()

    def new_provider(self) -> OpencodeProvider:
        """Another adapter for the same home, as another process has it."""
        return OpencodeProvider(self.root / "data", self.environ)

    def options(self, mode: PermissionMode = "all") -> ProviderOptions:
        """Options for the project of this home."""
        return ProviderOptions(str(self.root / "project"), mode=mode)

    async def ask(
        self, session: ProgramSession, text: str, turn: str, *, allow: bool = True
    ) -> tuple[list[ProviderEvent], TurnEnd]:
        """Runs a turn. Every question gets the same answer."""
        events: list[ProviderEvent] = []
        async for event in self.provider.send(session, (Text(text),), turn):
            events.append(event)
            if isinstance(event, ProviderQuestion):
                await self.provider.answer(session, event.question, ProviderAnswer(allow))
        end = events.pop()
        if not isinstance(end, TurnEnd):
            raise ProofError(f"the turn {turn} had no end")
        return events, end

    async def turns(self, count: int) -> tuple[ProgramSession, list[NativeRows]]:
        """A new session with turns that run a command and answer."""
        session = await self.provider.start(self.options())
        rows: list[NativeRows] = []
        for number in range(1, count + 1):
            command = json.dumps({"command": f"echo {number}", "description": "try"})
            script = f"[[tool: bash {command}]] [[say: A{number}]]"
            _, end = await self.ask(session, f"TURN{number} {script}", f"a:{number}")
            if end.rows is None or end.status != "completed":
                raise ProofError(f"turn {number} ended as {end}")
            rows.append(end.rows)
        return session, rows

    async def probe(self, session: ProgramSession, number: int = 0) -> TurnEnd:
        """One more turn, after which `received` tells what the model got."""
        session = await self.provider.start(self.options(), session)
        _, end = await self.ask(session, f"PROBE{number} [[say: p]]", f"p:{number}")
        return end

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the last request of a turn, without those of the system."""
        for request in reversed(self.model.requests):
            body: Any = request.body
            if body.get("tools"):
                return [each for each in body["messages"] if each["role"] != "system"]
        return []

    @property
    def received(self) -> list[str]:
        """The words of the last request that name turns, in order."""
        return [
            word
            for each in self.messages
            if each["role"] != "tool"
            for word in _WORDS.findall(json.dumps(each["content"]))
        ]


@asynccontextmanager
async def opencode_world() -> AsyncGenerator[OpencodeWorld]:
    """A world that is gone afterwards, with everything that ran in it."""
    folder = TemporaryDirectory(prefix="opencode-", dir="/var/tmp", ignore_cleanup_errors=True)
    with folder as root, ScriptedModel() as model:
        model.script(_summary)
        world = OpencodeWorld(Path(root) / "home", model)
        try:
            yield world
        finally:
            await world.provider.kill()
            await world.provider.close()
