"""Commands on the session of another program: what happens to the session, and in which order."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import structs

from sapwood.app.connection import connect
from sapwood.app.conversation_service import offline_service
from sapwood.config.config_file import Config
from sapwood.conversation.answers import Changed
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.command_table import TABLE
from sapwood.core.ids import AgentId
from sapwood.imports.importer import Importer
from tests.programs.transcripts.writing import ClaudeFile


class _Sessions:
    """Sessions that only remember what was done with them."""

    def __init__(self) -> None:
        self.done: list[str] = []

    @asynccontextmanager
    async def exclusive(self, agent: AgentId) -> AsyncGenerator[None]:
        self.done.append("locked")
        yield
        self.done.append("unlocked")

    async def prepare(self, agent: AgentId, *, changes: bool = True) -> None:
        self.done.append("imported")

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
