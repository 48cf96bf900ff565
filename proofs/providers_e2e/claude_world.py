"""A home with the real Claude Code, the adapter, and what the scripted model received from it."""

import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any  # requests and rows are JSON

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
from sapwood.programs.claude_code.provider import ClaudeCodeProvider
from scripted_model import ScriptedModel

_WORDS = re.compile(r"TURN\d+|SUMMARY|PROBE\d*|NEUTRAL\d*|No response requested")


def history(*rows: NativeRows | None, front: tuple[str, ...] = ()) -> History:
    """A history of these turns; None is a turn of another executor."""
    turns: list[HistoryTurn] = []
    for number, each in enumerate(rows):
        words = Text(f"NEUTRAL{number}")
        messages = (Message("user", (words,)), Message("assistant", (Text("so it is"),)))
        turns.append(HistoryTurn(Turn(AgentId("a"), number, None, (words,)), each, messages))
    return History(tuple(turns), front)


class ClaudeWorld:
    """One home, one adapter."""

    def __init__(self, home: Home, model: ScriptedModel) -> None:
        self.home = home
        self.model = model
        self.provider = self.new_provider()

    def new_provider(self, environ: Mapping[str, str] | None = None) -> ClaudeCodeProvider:
        """Another adapter for the same home, as another process has it."""
        return ClaudeCodeProvider(self.home.data, {**self.home.environ, **(environ or {})})

    def options(self, mode: PermissionMode = "ask") -> ProviderOptions:
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
        """A new session with turns that think, run commands in parallel and answer."""
        session = await self.provider.start(self.options())
        rows: list[NativeRows] = []
        for number in range(1, count + 1):
            calls = f'Bash {{"command":"echo {number}"}} Bash {{"command":"echo again"}}'
            script = f"[[think: hm]] [[say: I look.]] [[and]] [[tools: {calls}]] [[say: A]]"
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
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the last request, without those that the program adds itself."""
        body: Any = self.model.requests[-1].body
        found = [_bare(message) for message in body["messages"] if message["role"] != "system"]
        return [message for message in found if message["content"]]

    @property
    def received(self) -> list[str]:
        """The words of the last request that name turns, in order."""
        found: list[str] = []
        for message in self.messages:
            for block in message["content"]:
                found += _WORDS.findall(block.get("text", ""))[:1]
        return found

    def content(self, session: ProgramSession) -> bytes:
        """The transcript of a session."""
        return Path(session.path).read_bytes()

    def replace(self, session: ProgramSession, content: bytes | None) -> None:
        """Writes the transcript of a session anew, or removes it."""
        if content is None:
            Path(session.path).unlink()
        else:
            Path(session.path).write_bytes(content)

    def forget_copies(self) -> None:
        """Removes the private copies of sessions, as if none had been changed yet."""
        for path in (self.home.data / "sessions" / "claude-code").glob("*.jsonl"):
            path.unlink()

    def rows(self, session: ProgramSession) -> list[dict[str, Any]]:
        """The rows of a session."""
        return [json.loads(line) for line in self.content(session).splitlines() if line]


def _bare(message: dict[str, Any]) -> dict[str, Any]:
    """A message without reminders and without marks for the cache."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    kept = [
        {name: block[name] for name in block if name != "cache_control"}
        for block in blocks
        if not block.get("text", "").startswith("<system-reminder>")
    ]
    return {"role": message["role"], "content": kept}


@asynccontextmanager
async def claude_world() -> AsyncGenerator[ClaudeWorld]:
    """A world that is gone afterwards, with everything that ran in it."""
    allowed = {"anthropic": ["safeguards"]}  # sent from a terminal
    with (
        TemporaryDirectory(prefix="providers-e2e-") as folder,
        ScriptedModel(allow=allowed) as model,
    ):
        world = ClaudeWorld(Home(Path(folder) / "home", find_programs(), model), model)
        try:
            yield world
        finally:
            await world.provider.close()
