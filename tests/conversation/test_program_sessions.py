"""Commands on the session of another program: what happens to the session, and in which order."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import structs

from sapwood.app.connection import connect
from sapwood.app.conversation_service import offline_service
from sapwood.config.config_file import Config
from sapwood.conversation.answers import Changed, Compacted
from sapwood.conversation.call import BeforeStoring
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.command_table import TABLE
from sapwood.core.commands import CommandMeta, Compact, RecordSync
from sapwood.core.events import SYSTEM
from sapwood.core.ids import AgentId
from sapwood.core.program_session import ProgramSession
from sapwood.core.refusals import Refusal, SummaryOutdated
from sapwood.core.settings import Settings
from sapwood.imports.importer import Importer
from sapwood.turns.dispatch import Done
from tests.conversation.spaces import service_of
from tests.programs.transcripts.writing import ClaudeFile
from tests.turns.commanding import AGENT, Desk


class _Sessions:
    """Sessions that only remember what was done with them."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.imports = False
        self.on_prepare: Callable[[], Awaitable[None]] | None = None

    @asynccontextmanager
    async def exclusive(self, agent: AgentId) -> AsyncGenerator[None]:
        self.done.append("locked")
        yield
        self.done.append("unlocked")

    async def prepare(self, agent: AgentId, *, changes: bool = True) -> None:
        self.done.append("imported")
        if self.on_prepare is not None:
            await self.on_prepare()

    async def sync_session(self, agent: AgentId) -> str:
        self.done.append("changed")
        return "Resume it."


async def test_nobody_imports_the_session_until_it_has_followed_a_command(tmp_path: Path) -> None:
    connection = await connect(":memory:")
    file, sessions = ClaudeFile(tmp_path), _Sessions()
    for name in ("one", "two"):
        file.user(name)
        file.says(f"Done {name}.")
    agent = (await Importer(connection, idle_seconds=-1).bring(file.path)).agent
    services = structs.replace(offline_service(connection, Config()).services, sessions=sessions)
    answer = await ConversationService(services).answer(agent, CommandStep(TABLE["clear"], "1"))
    assert isinstance(answer, Changed)
    assert answer.message.endswith("Resume it.")
    assert sessions.done == ["locked", "imported", "changed", "unlocked"]
    await connection.close()


@pytest.mark.parametrize("meanwhile", ["nothing", "a turn in the session", "a weak summary"])
async def test_others_use_the_session_while_a_model_writes_a_summary(
    desk: Desk, meanwhile: str
) -> None:
    sessions = _Sessions()
    await desk.start(settings=Settings("claude-code"))
    await desk.turn("Which birds nest here?", "Herons.")
    state = (await desk.dispatcher.open(AGENT)).state
    session = ProgramSession("claude-code", "1", "/tmp/1.jsonl")
    await desk.do(RecordSync(AGENT, session, "nothing", state.context), actor=SYSTEM)

    async def write(
        agent: AgentId,
        keep: int,
        anyway: bool,
        why: CommandMeta,
        wanted: str,
        before_storing: BeforeStoring | None,
    ) -> Done | Refusal:
        context = (await desk.dispatcher.open(AGENT)).state.context
        sessions.done.append("asked")
        if meanwhile == "a weak summary":
            return Done("The summary is not shorter than what it replaces.")
        assert before_storing is not None
        sessions.imports = meanwhile == "a turn in the session"
        await before_storing()
        sessions.done.append("stored")
        return await desk.dispatcher.dispatch(Compact(agent, "Herons.", context=context), why)

    async def import_one() -> None:
        if sessions.imports:
            await desk.turn("And storks?", "No.")

    sessions.on_prepare = import_one
    services = structs.replace(service_of(desk).services, sessions=sessions, compact=write)
    answer = await ConversationService(services).answer(AGENT, CommandStep(TABLE["compact"]))
    locked, unlocked = ["locked", "imported"], ["unlocked"]
    expected: dict[str, tuple[type, list[str]]] = {
        "nothing": (Compacted, [*locked, "stored", "changed", *unlocked]),
        "a turn in the session": (SummaryOutdated, [*locked, "stored", *unlocked]),
        "a weak summary": (Compacted, []),
    }
    kind, end = expected[meanwhile]
    assert isinstance(answer, kind)
    assert sessions.done == [*locked, *unlocked, "asked", *end]
