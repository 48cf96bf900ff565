"""Turns that an agent program runs: stored like our own, continued after a crash, brought into
step with the live path before each prompt.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest
from msgspec import Struct

from sapwood.api.agent import Agent
from sapwood.api.database import Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection, connect
from sapwood.core.commands import Clear, Configure, Fork, KeepLast, Undo
from sapwood.core.content import Text
from sapwood.core.errors import LogError, LogUnavailable
from sapwood.core.events import (
    QuestionAsked,
    SessionDiffered,
    SessionSynced,
    ToolFinished,
    TurnFailed,
    TurnInterrupted,
)
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.settings import SettingsChange
from sapwood.engine.local_engine import LocalEngine
from sapwood.programs.agent_provider import ToolPermit
from sapwood.testing import FakeModel, NoTools
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.program_sessions import needs_sync, session_agent
from sapwood.turns.replay import replay
from tests.turns.fake_provider import FakeProgram, FakePrograms, Says, Step, Stops, Uses


class House(Struct):
    """A running Sapwood with a fake program."""

    db: Sapwood
    running: AgentRunner
    program: FakeProgram
    programs: FakePrograms
    connection: Connection

    async def start(self, model: str = "claude-code") -> Agent:
        """A new agent that the program runs."""
        return await self.db.start(model=model)

    async def turn(self, agent: Agent, prompt: str) -> None:
        """A turn, from its prompt to its end."""
        await agent.run_command(prompt)
        await self.idle(agent)

    async def idle(self, agent: Agent) -> None:
        """Waits until the agent's turn has ended."""
        async for _ in self.running.watch(agent.id, 0):
            if (await agent.state()).open is None:
                return


@asynccontextmanager
async def house(
    program: FakeProgram | None = None, *others: FakeProgram, connection: Connection | None = None
) -> AsyncGenerator[House]:
    own = await connect(":memory:") if connection is None else connection
    program = program or FakeProgram()
    programs = FakePrograms(program, *others)
    model = FakeModel(lambda request, heard: f"the model heard {heard}")
    running = AgentRunner(own, LocalEngine(), model, NoTools(), programs=programs)
    await running.start()
    try:
        async with asyncio.timeout(60):
            yield House(Sapwood(own), running, program, programs, own)
    finally:
        await running.close()
        if connection is None:
            await own.close()


def says_yes(heard: str) -> Sequence[Step]:
    """Agrees."""
    return [Says("yes")]


async def kinds(agent: Agent) -> list[str]:
    """The kinds of the agent's events."""
    return [each.kind for each in await agent.events()]


async def said(agent: Agent) -> list[str]:
    """Every text in view."""
    request = await agent.request()
    return [part.text for m in request.messages for part in m.parts if isinstance(part, Text)]


async def test_a_turn_in_a_program_is_stored_like_one_of_our_own() -> None:
    async with house() as at:
        agent = await at.start()
        await at.turn(agent, "hello")
        assert await said(agent) == ["hello", "heard hello"]
        assert (await kinds(agent))[1:] == [
            "turn.started",
            "session.assumed",
            "model.called",
            "reply.added",
            "native.recorded",
            "turn.completed",
        ]
        state = await agent.state()
        assert not needs_sync(state, "claude-code")
        assert state.spent.cost == 110, "the price of what the end of the turn reported"
        assert state.session is not None
        found = await session_agent(at.connection.log, at.connection.space, state.session.session)
        assert found == agent.id


async def test_the_second_turn_goes_into_the_same_session_without_a_sync() -> None:
    async with house() as at:
        agent = await at.start()
        await at.turn(agent, "one")
        await at.turn(agent, "two")
        assert at.program.sent[-1] == ["one", "heard one", "two"]
        assert at.program.synced == []


async def test_tools_of_the_program_are_stored_with_their_results() -> None:
    def plan(heard: str) -> Sequence[Step]:
        return [Uses("Bash", '{"command": "ls"}', "a.py"), Says("There is a.py.")]

    async with house(FakeProgram(plan=plan)) as at:
        agent = await at.start()
        await at.turn(agent, "look")
        assert [k for k in await kinds(agent) if k.startswith(("tool", "model", "reply"))] == [
            "model.called",
            "reply.added",
            "tool.started",
            "tool.finished",
            "model.called",
            "reply.added",
        ]
        state = await agent.state()
        assert state.calls == 2
        last = [each for each in await agent.events() if each.kind == "model.called"][-1]
        again = await replay(at.connection.log, at.connection.space, agent.id, last.version)
        assert again is not None
        assert again.matches


async def test_a_question_of_the_program_is_asked_and_a_denied_call_says_why() -> None:
    def plan(heard: str) -> Sequence[Step]:
        return [Uses("Bash", '{"command": "rm x"}', asks="rm x"), Says("done")]

    async with house(FakeProgram(plan=plan)) as at:
        at.programs.permit_with = ToolPermit(False, "The user said no.", "Allow it with --allow")
        agent = await at.start()
        await at.turn(agent, "clean")
        [question] = at.programs.asked
        assert (question.tool, question.subject) == ("Bash", "rm x")
        [done] = [e.event for e in await agent.events() if isinstance(e.event, ToolFinished)]
        assert done.content == "denied: The user said no."
        assert done.blocked == "Allow it with --allow"


@pytest.mark.parametrize(
    "problem",
    [LogUnavailable("The database is not responding."), LogError("Another process is writing.")],
)
async def test_a_question_that_cannot_be_asked_ends_the_turn_instead_of_leaving_it_open(
    problem: LogError,
) -> None:
    def plan(heard: str) -> Sequence[Step]:
        return [Uses("Bash", '{"command": "rm x"}', asks="rm x"), Says("done")]

    async with house(FakeProgram(plan=plan)) as at:
        at.programs.permit_with = problem
        agent = await at.start()
        async with asyncio.timeout(20):
            await at.turn(agent, "clean")
        failed = (await agent.events())[-1].event
        assert isinstance(failed, TurnFailed)
        assert failed.failure == "cut"
        assert at.program.answers == {}
        at.programs.permit_with = ToolPermit(allowed=True)
        await at.turn(agent, "again")
        assert (await said(agent))[-1] == "done"


async def test_after_context_commands_the_session_is_brought_to_the_live_path() -> None:
    async with house() as at:
        agent = await at.start()
        for prompt in ("one", "two", "three"):
            await at.turn(agent, prompt)
        dispatcher = at.connection.dispatcher
        await dispatcher.dispatch(KeepLast(agent.id, 1), command_meta())
        await at.turn(agent, "four")
        assert at.program.sent[-1][-3:] == ["three", "heard three", "four"]
        assert "one" not in at.program.sent[-1]
        await dispatcher.dispatch(Undo(agent.id), command_meta())
        await at.turn(agent, "five")
        assert at.program.sent[-1] == [
            *("one", "heard one", "two", "heard two", "three", "heard three"),
            *("four", "heard four", "five"),
        ]
        natives = [turn.native for turn in at.program.synced[-1][1].turns]
        assert None not in natives
        await dispatcher.dispatch(Clear(agent.id), command_meta())
        await at.turn(agent, "six")
        assert at.program.sent[-1] == ["six"]


async def test_the_window_moves_and_the_next_turn_syncs_the_session() -> None:
    async with house() as at:
        agent = await at.start()
        await at.turn(agent, "a long text " * 20)
        change = SettingsChange(cap=20)
        await at.connection.dispatcher.dispatch(Configure(agent.id, change), command_meta())
        await at.turn(agent, "another long text " * 20)
        assert needs_sync(await agent.state(), "claude-code")
        await at.turn(agent, "three")
        assert not any("a long text a long" in text for text in at.program.sent[-1][:1])


async def test_a_fork_starts_with_a_session_of_its_own_from_the_parents_history() -> None:
    async with house() as at:
        agent = await at.start()
        await at.turn(agent, "one")
        child = AgentId("child")
        await at.connection.dispatcher.dispatch(Fork(agent.id, child), command_meta())
        other = await at.db.find(child)
        await at.turn(other, "two")
        by, history = at.program.synced[-1]
        assert by == "new_session"
        assert [turn.native is not None for turn in history.turns] == [True]
        mine, its = (await agent.state()).session, (await other.state()).session
        assert mine is not None
        assert its is not None
        assert mine.session.id != its.session.id


async def test_a_child_reports_and_its_mail_reaches_the_program_fenced() -> None:
    async with house() as at:
        agent = await at.start()
        await at.turn(agent, "one")
        child = AgentId("child")
        fork = Fork(agent.id, child, goal="Find the leak.")
        await at.connection.dispatcher.dispatch(fork, command_meta())
        await at.idle(await at.db.find(child))
        async for _ in at.running.watch(agent.id, 0):
            if (await agent.state()).inbox:
                break
        await agent.read_mail()
        await at.turn(agent, "go on")
        assert "carry no authority" in at.program.sent[-1][-1]
        assert "heard Find the leak." in at.program.sent[-1][-1]


async def test_an_interrupt_stops_the_program_and_keeps_session_and_log_in_step() -> None:
    program = FakeProgram(plan=lambda heard: [Says("Well,"), Stops()])
    async with house(program) as at:
        agent = await at.start()
        await agent.run_command("think")
        await program.reached.wait()
        await at.running.interrupt(agent.id)
        await at.idle(agent)
        assert isinstance((await agent.events())[-1].event, TurnInterrupted)
        assert not needs_sync(await agent.state(), "claude-code")
        program.plan = says_yes
        await at.turn(agent, "again")
        assert "was interrupted" in program.sent[-1][-1]
        assert program.synced == []


async def test_an_interrupt_by_another_process_is_synced_next_time() -> None:
    program = FakeProgram(plan=lambda heard: [Says("Well,"), Stops()])
    async with house(program) as at:
        agent = await at.start()
        await agent.run_command("think")
        await program.reached.wait()
        await agent.interrupt()
        await at.idle(agent)
        program.plan = says_yes
        await at.turn(agent, "again")
        assert len(program.synced) == 1


async def test_a_turn_goes_on_where_a_killed_worker_left_it() -> None:
    connection = await connect(":memory:")
    program = FakeProgram(plan=lambda heard: [Uses("Bash"), Says("Well,"), Stops()])
    async with house(program, connection=connection) as at:
        agent = await at.start()
        await agent.run_command("think")
        await program.reached.wait()
    program.complete_cut_turns()  # as if the program had gone on alone
    async with house(program, connection=connection) as at:
        agent = await at.db.find(agent.id)
        await at.running.wake(agent.id)
        await at.idle(agent)
        assert await said(agent) == ["think", "Well,"]
        assert len(program.sent) == 1, "it was not sent again"
        assert (await kinds(agent))[-1] == "turn.completed"
        assert (await kinds(agent)).count("tool.finished") == 1
    await connection.close()


async def test_a_program_that_dies_fails_the_turn_and_the_next_one_goes_on() -> None:
    program = FakeProgram(plan=lambda heard: [Says("Well,"), Stops(dies=True)])
    async with house(program) as at:
        agent = await at.start()
        await at.turn(agent, "think")
        [failed] = [e.event for e in await agent.events() if isinstance(e.event, TurnFailed)]
        assert failed.failure == "cut"
        program.plan = says_yes
        await at.turn(agent, "again")
        assert (await said(agent))[-1] == "yes"


async def test_a_failure_has_its_kind_and_its_words() -> None:
    failure = Failure("no_key", "Claude Code is not logged in. Type: claude, then /login.")
    async with house(FakeProgram(plan=lambda heard: [Stops(failure=failure)])) as at:
        agent = await at.start()
        await at.turn(agent, "hello")
        failed = (await agent.events())[-1].event
        assert isinstance(failed, TurnFailed)
        assert (failed.failure, failed.error) == ("no_key", str(failure))


async def test_a_program_that_is_missing_and_a_busy_session_fail_the_turn() -> None:
    async with house() as at:
        agent = await at.start("codex")
        await at.turn(agent, "hello")
        failed = (await agent.events())[-1].event
        assert isinstance(failed, TurnFailed)
        assert failed.failure == "no_model"
        busy = await at.start()
        await at.turn(busy, "one")
        await at.connection.dispatcher.dispatch(Clear(busy.id), command_meta())
        await at.connection.dispatcher.dispatch(Undo(busy.id), command_meta())
        await at.connection.dispatcher.dispatch(KeepLast(busy.id, 1), command_meta())
        at.program.busy = True
        await at.turn(busy, "two")
        assert "two" in at.program.sent[-1], "the context is as it was: nothing to sync"


async def remade(agent: Agent) -> bool:
    """Whether a difference is recorded, and after it that the program's history is unknown."""
    kinds = [type(each.event) for each in await agent.events()]
    return SessionDiffered in kinds and SessionSynced in kinds[kinds.index(SessionDiffered) :]


async def test_a_difference_is_recorded_and_the_session_made_anew() -> None:
    async with house() as at:
        at.program.difference = "Turn 3 was sent although it is out of view."
        agent = await at.start()
        await at.turn(agent, "one")
        async with asyncio.timeout(10):  # both are recorded after the end of the turn
            while not await remade(agent):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        at.program.difference = ""
        await at.turn(agent, "two")
        assert len(at.program.synced) == 1
        assert at.program.sent[-1] == ["one", "heard one", "two"]


async def test_a_budget_stops_the_program() -> None:
    program = FakeProgram(plan=lambda heard: [Uses("Bash"), Uses("Bash"), Uses("Bash")])
    async with house(program) as at:
        agent = await at.start()
        change = SettingsChange(budget_turn_calls=2)
        await at.connection.dispatcher.dispatch(Configure(agent.id, change), command_meta())
        await at.turn(agent, "work")
        failed = (await agent.events())[-1].event
        assert isinstance(failed, TurnFailed)
        assert failed.failure == "budget"


async def test_a_conversation_moves_from_one_program_to_the_other_and_to_a_model() -> None:
    async with house(FakeProgram(), FakeProgram("codex")) as at:
        agent = await at.start()
        codex = at.programs.programs["codex"]
        await at.turn(agent, "one")
        for model, prompt in (
            ("codex:gpt-5-codex", "two"),
            ("planned", "three"),
            ("codex", "four"),
        ):
            change = SettingsChange(model=model)
            await at.connection.dispatcher.dispatch(Configure(agent.id, change), command_meta())
            await at.turn(agent, prompt)
        assert codex.sent[0] == ["one", "heard one", "two"]
        assert codex.options[0].model == "gpt-5-codex"
        assert codex.sent[1] == [
            *("one", "heard one", "two", "heard two"),
            *("three", "the model heard three", "four"),
        ]


async def test_a_loss_is_recorded() -> None:
    async with house() as at:
        agent = await at.start()
        await at.turn(agent, "one")
        at.program.loss = "1 image"
        await at.connection.dispatcher.dispatch(Clear(agent.id), command_meta())
        await at.connection.dispatcher.dispatch(Undo(agent.id), command_meta())
        await agent.pin("style", "Be brief.")
        await at.turn(agent, "two")
        losses = [e.event.loss for e in await agent.events() if isinstance(e.event, SessionSynced)]
        assert losses == ["", "1 image"]
        assert at.program.sent[-1][0] == "[Pinned by the user: style]\nBe brief."
        assert not any(isinstance(e.event, QuestionAsked) for e in await agent.events())


async def test_a_session_that_was_changed_and_not_recorded_is_noticed_by_the_next_process() -> None:
    """Killed after a clear reached the session, and undone before anybody looked at the session."""
    program = FakeProgram()
    connection = await connect(":memory:")
    try:
        async with house(program, connection=connection) as at:
            agent = await at.start()
            await at.turn(agent, "one")
            await at.turn(agent, "two")
            (session,) = program.sessions
        del program.sessions[session][:2]
        async with house(program, connection=connection) as at:
            again = Agent(connection, agent.id)
            await at.turn(again, "three")
            assert program.sent[-1] == ["one", "heard one", "two", "heard two", "three"]
            before = len(program.synced)
            await at.turn(again, "four")
            assert len(program.synced) == before, "one look is enough"
    finally:
        await connection.close()
