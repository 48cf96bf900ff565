"""A home with the real Codex, the adapter, and what the scripted model received from it."""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any  # requests are JSON

from proofs.agents_e2e.environment import ProofError, find_programs
from proofs.agents_e2e.home import Home
from sapwood.core.content import Text
from sapwood.core.ids import AgentId
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.settings import PermissionMode
from sapwood.core.turn import Turn
from sapwood.core.view.request import Message
from sapwood.programs.agent_provider import (
    History,
    HistoryTurn,
    ProviderAnswer,
    ProviderEvent,
    ProviderOptions,
    ProviderQuestion,
    TurnEnd,
)
from sapwood.programs.codex.provider import CodexProvider
from scripted_model import ScriptedModel

_WORDS = re.compile(r"TURN\d+|SUMMARY|PROBE\d*|NEUTRAL\d*")


def history(*rows: NativeRows | None, front: tuple[str, ...] = ()) -> History:
    """A history of these turns; None is a turn of another executor."""
    turns: list[HistoryTurn] = []
    for number, each in enumerate(rows):
        words = Text(f"NEUTRAL{number}")
        messages = (Message("user", (words,)), Message("assistant", (Text("so it is"),)))
        turns.append(HistoryTurn(Turn(AgentId("a"), number, None, (words,)), each, messages))
    return History(tuple(turns), front)


class CodexWorld:
    """One home, one adapter."""

    def __init__(self, home: Home, model: ScriptedModel) -> None:
        self.home = home
        self.model = model
        self.provider = self.new_provider()

    def new_provider(self) -> CodexProvider:
        """Another adapter for the same home, as another process has it."""
        return CodexProvider(self.home.data, self.home.environ)

    def options(self, mode: PermissionMode = "all") -> ProviderOptions:
        """Options for the project of this home."""
        return ProviderOptions(str(self.home.project), mode=mode)

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
        """A new session with turns that think, run a command and answer."""
        session = await self.provider.start(self.options())
        rows: list[NativeRows] = []
        for number in range(1, count + 1):
            script = f'[[think: hm]] [[tool: exec_command {{"cmd":"echo {number}"}}]] [[say: A]]'
            _, end = await self.ask(session, f"TURN{number} {script}", f"a:{number}")
            if end.rows is None:
                raise ProofError(f"turn {number} has no rows")
            rows.append(end.rows)
        return session, rows

    async def probe(self, session: ProgramSession, number: int = 0) -> TurnEnd:
        """One more turn, after which `received` tells what the model got."""
        session = await self.provider.start(self.options(), session)
        _, end = await self.ask(session, f"PROBE{number} [[say: p]]", f"p:{number}")
        return end

    @property
    def items(self) -> list[dict[str, Any]]:
        """The items of the last request, without the messages in front that Codex writes."""
        found: list[dict[str, Any]] = self.all_items
        return [item for item in found if not _is_announcement(item)]

    @property
    def all_items(self) -> list[dict[str, Any]]:
        """The items of the last request."""
        body: Any = self.model.requests[-1].body
        return body["input"]

    @property
    def received(self) -> list[str]:
        """The words of the last request that name turns, in order."""
        texts = [item for item in self.items if item.get("role") == "user"]
        return [word for item in texts for word in _WORDS.findall(json.dumps(item["content"]))]

    def files(self) -> dict[Path, bytes]:
        """Every rollout and its content."""
        return {path: path.read_bytes() for path in self.home.codex.rglob("rollout-*.jsonl")}


def _is_announcement(item: dict[str, Any]) -> bool:
    if item.get("role") in ("developer", "system"):
        return True
    return item.get("role") == "user" and "<environment_context>" in json.dumps(item["content"])


@asynccontextmanager
async def codex_world() -> AsyncGenerator[CodexWorld]:
    """A world that is gone afterwards, with everything that ran in it."""
    # Below the folder for temporary files Codex makes no helper programs for its sandbox.
    folder = TemporaryDirectory(prefix="providers-e2e-", dir="/var/tmp")
    with folder as root, ScriptedModel() as model:
        world = CodexWorld(Home(Path(root) / "home", find_programs(), model), model)
        try:
            yield world
        finally:
            await world.provider.close()
