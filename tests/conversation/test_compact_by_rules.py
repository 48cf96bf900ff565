"""`/compact` of a session of another program: a summary by rules, which holds the one before it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

import pytest
from msgspec import structs

from sapwood.app.connection import Connection, connect
from sapwood.app.conversation_service import offline_service
from sapwood.config.config_file import Config
from sapwood.conversation.answers import Compacted
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.command_table import TABLE
from sapwood.core.commands import KeepLast
from sapwood.core.events import ContextSummarized
from sapwood.core.ids import AgentId, Space
from sapwood.core.refusals import SummaryOutdated
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.imports.importer import Importer
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.log import Log
from sapwood.turns.summary_basis import SummaryBasis, summary_basis
from tests.programs.transcripts.writing import ClaudeFile


class Session:
    """A session of a program that is at rest, and that nothing has to be written to."""

    def exclusive(self, agent: AgentId) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def prepare(self, agent: AgentId, *, changes: bool = True) -> None:
        """Does nothing."""

    async def sync_session(self, agent: AgentId) -> str:
        return ""


@pytest.fixture
async def connection() -> AsyncIterator[Connection]:
    connection = await connect(":memory:")
    yield connection
    await connection.close()


@pytest.fixture
def service(connection: Connection) -> ConversationService:
    services = offline_service(connection, Config()).services
    return ConversationService(structs.replace(services, sessions=Session()))


async def imported(connection: Connection, file: ClaudeFile) -> AgentId:
    importer = Importer(connection, idle_seconds=-1)
    done = await importer.bring(file.path)
    await importer.close()
    return done.agent


async def summary_after(
    service: ConversationService, agent: AgentId, args: str = ""
) -> ContextSummarized:
    """The summary of a `/compact` with these arguments."""
    done = await service.answer(agent, CommandStep(TABLE["compact"], args))
    assert isinstance(done, Compacted), done
    summary = (await service.services.space.dispatcher.open(agent)).live.summary
    assert summary is not None
    return summary


async def test_the_summary_of_the_program_and_what_it_stood_for_are_kept(
    connection: Connection, service: ConversationService, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Use oak instead of pine for the granary.")
    file.says("Oak it is.")
    file.row("system", subtype="compact_boundary", content="Conversation compacted")
    file.user("The granary is built with oak.", isCompactSummary=True)
    file.user("And the roof?")
    file.says("Of slate.")
    summary = await summary_after(service, await imported(connection, file))
    assert "The granary is built with oak." in summary.text
    assert "Use oak instead of pine for the granary." in summary.ledger


async def test_a_second_summary_holds_the_first_one_once(
    connection: Connection, service: ConversationService, tmp_path: Path
) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Use oak instead of pine for the granary.")
    file.says("Oak it is.")
    agent = await imported(connection, file)
    await summary_after(service, agent, "the names of the nests")
    for word in ("slate", "clay"):
        file.user(f"And a roof of {word}?")
        file.says("Why not.")
        await imported(connection, file)
        summary = await summary_after(service, agent)
        assert summary.text.count("that Sapwood built by rules") == 1
        assert summary.text.count("The user wants this to be kept: the names of the nests") == 1
        assert summary.ledger.count("Use oak instead of pine for the granary.") == 1


async def test_a_summary_of_turns_that_are_not_those_in_view_any_more_is_refused(
    connection: Connection,
    service: ConversationService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = ClaudeFile(tmp_path)
    for word in ("slate", "clay"):
        file.user(f"And a roof of {word}?")
        file.says("Why not.")
    agent = await imported(connection, file)
    dispatcher = service.services.space.dispatcher

    async def read_while_a_turn_is_cleared(
        log: Log, space: Space, state: State, turns: Sequence[Turn]
    ) -> SummaryBasis:
        basis = await summary_basis(log, space, state, turns)
        await dispatcher.dispatch(KeepLast(agent, 1), command_meta())
        return basis

    monkeypatch.setattr("sapwood.turns.summary_basis.summary_basis", read_while_a_turn_is_cleared)
    done = await service.answer(agent, CommandStep(TABLE["compact"], ""))
    assert done == SummaryOutdated()
    assert (await dispatcher.open(agent)).live.summary is None
