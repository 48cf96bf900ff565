"""The provider of Claude Code, with a small program in place of the real one."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from msgspec import structs

from sapwood.core.content import Text, ToolCall
from sapwood.core.model_calls import Failure
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.view.request import Message
from sapwood.programs.agent_provider import (
    AgentProvider,
    History,
    HistoryTurn,
    ProviderEvent,
    ProviderOptions,
    ProviderReply,
    SessionBusy,
    TurnEnd,
)
from sapwood.programs.claude_code.provider import ClaudeCodeProvider
from tests.programs.claude_code.claude_sessions import native_turn, neutral_turn
from tests.programs.proved import keep_proof

FAKE = Path(__file__).with_name("fake_claude.py")


class Machine:
    """A home with the program in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        (folder / "bin").mkdir()
        script = folder / "bin" / "claude"
        script.write_text(
            f"#!{sys.executable}\nimport runpy\nrunpy.run_path({str(FAKE)!r}, "
            "run_name='__main__')\n"
        )
        script.chmod(0o755)
        self.environ = {
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "HOME": str(folder),
            "CLAUDE_CONFIG_DIR": str(folder / "claude"),
        }
        self.options = ProviderOptions(str(self.project))
        self.providers: list[ClaudeCodeProvider] = []

    def provider(self, **environ: str) -> ClaudeCodeProvider:
        made = ClaudeCodeProvider(self.folder / "data", {**self.environ, **environ})
        self.providers.append(made)
        return made

    def keep_proof(self, reason: str = "") -> None:
        data, path = self.folder / "data", self.folder / "bin" / "claude"
        keep_proof(data, "claude-code", path, reason=reason, environ=self.environ)


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncGenerator[Machine]:
    made = Machine(tmp_path)
    made.keep_proof()
    yield made
    for each in made.providers:
        await each.close()


async def events_of(
    provider: AgentProvider, session: ProgramSession, text: str, turn: str
) -> list[ProviderEvent]:
    return [event async for event in provider.send(session, (Text(text),), turn)]


async def ended(provider: AgentProvider, session: ProgramSession, text: str, turn: str) -> TurnEnd:
    end = (await events_of(provider, session, text, turn))[-1]
    assert isinstance(end, TurnEnd)
    return end


def content(session: ProgramSession) -> bytes:
    path = Path(session.path)
    return path.read_bytes() if path.exists() else b""


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - another process writes the file
            await asyncio.sleep(0.01)


def rows_of(end: TurnEnd) -> NativeRows:
    assert end.rows is not None
    return end.rows


async def test_a_turn_is_told_with_its_rows_and_its_cost(machine: Machine) -> None:
    provider = machine.provider()
    session = await provider.start(machine.options)
    reply, end = await events_of(provider, session, "Hello.", "a:1")
    assert isinstance(reply, ProviderReply)
    assert reply.parts == (Text("You said: Hello."),)
    assert isinstance(end, TurnEnd)
    assert (end.status, end.difference) == ("completed", "")
    assert end.usage is not None
    assert end.usage.cost == 250_000
    rows = [json.loads(line) for line in content(session).decode().splitlines()]
    assert [rows_of(end).passage.first, rows_of(end).passage.last] == [r["uuid"] for r in rows]
    assert await provider.start(machine.options, session) == session


async def test_its_sessions_are_in_the_programs_own_list(machine: Machine) -> None:
    provider = machine.provider(CLAUDE_CODE_ENTRYPOINT="cli")
    session = await provider.start(machine.options)
    await ended(provider, session, "Hello.", "a:1")
    rows = [json.loads(line) for line in content(session).decode().splitlines()]
    assert {row["entrypoint"] for row in rows} == {"sdk-sapwood"}  # the list leaves sdk-cli out


async def test_the_program_is_found_with_its_version(machine: Machine) -> None:
    found = machine.provider().find()
    assert found is not None
    assert (found.version, found.in_place, found.logged_in) == ("2.1.325", True, False)
    key = machine.provider(ANTHROPIC_API_KEY="x").find()
    assert key is not None
    assert key.logged_in


async def test_a_missing_program_says_what_to_do(machine: Machine) -> None:
    provider = machine.provider(PATH="/nowhere", SAPWOOD_CLAUDE="")
    assert provider.find() is None
    with pytest.raises(Failure, match="Install it") as failure:
        await provider.start(machine.options)
    assert failure.value.kind == "no_model"


async def test_a_turn_that_was_sent_is_told_again_by_another_process(machine: Machine) -> None:
    first = machine.provider()
    session = await first.start(machine.options)
    end = await ended(first, session, "Hello.", "a:1")
    await first.close()
    second = machine.provider()
    await second.start(machine.options, session)
    reply, again = await events_of(second, session, "Hello.", "a:1")
    assert isinstance(reply, ProviderReply)
    assert isinstance(again, TurnEnd)
    assert again.rows == end.rows
    assert content(session).decode().count("You said") == 1


async def test_a_prompt_without_an_answer_is_sent_again_and_is_there_once(
    machine: Machine,
) -> None:
    provider = machine.provider()
    session = await provider.start(machine.options)
    one = await ended(provider, session, "One.", "a:1")
    dead = await ended(provider, session, "DIE", "a:2")
    assert dead.status == "failed"
    assert "exited in the middle" in dead.reason
    await provider.start(machine.options, session)
    two = await ended(provider, session, "Two.", "a:2")
    assert two.status == "completed"
    both = History((native_turn(rows_of(one)), native_turn(rows_of(two))))
    assert (await provider.sync_session(session, both, machine.options)).by == "nothing"


async def test_a_killed_turn_of_which_not_everything_was_written_names_no_rows(
    machine: Machine,
) -> None:
    provider = machine.provider()
    session = await provider.start(machine.options)
    reply, dead = await events_of(provider, session, "DIE UNWRITTEN", "a:1")
    assert isinstance(reply, ProviderReply)
    assert isinstance(dead, TurnEnd)
    assert (dead.status, dead.rows) == ("failed", None)  # the next turn writes the turn again


async def test_a_call_of_the_history_that_the_program_does_not_send_is_told(
    machine: Machine,
) -> None:
    provider = machine.provider(FAKE_REQUESTS="1")
    session = await provider.start(machine.options)
    one = native_turn(rows_of(await ended(provider, session, "One.", "a:1")))
    assert (await provider.sync_session(session, History((one,)), machine.options)).by == "nothing"
    two = await ended(provider, session, "Two.", "a:2")
    assert two.difference == ""
    lost = Message("assistant", (ToolCall("toolu_1", "Bash", "{}"),))
    both = History((structs.replace(one, messages=(lost,)), native_turn(rows_of(two))))
    assert (await provider.sync_session(session, both, machine.options)).by == "nothing"
    told = (await ended(provider, session, "Three.", "a:3")).difference
    assert told == "Claude Code did not send a call of 'Bash', which is in the live history."


async def test_a_trim_keeps_the_session_and_starts_the_program_again(machine: Machine) -> None:
    provider = machine.provider()
    session = await provider.start(machine.options)
    ends = [await ended(provider, session, f"{n}.", f"a:{n}") for n in range(3)]
    before = content(session)
    history = History((native_turn(rows_of(ends[2])),))
    synced = await provider.sync_session(session, history, machine.options)
    assert (synced.by, synced.session) == ("boundary", session)
    assert content(session).startswith(before)
    assert (await ended(provider, session, "More.", "a:3")).status == "completed"


async def test_a_program_that_failed_the_probe_gets_a_new_session(machine: Machine) -> None:
    machine.keep_proof("after a trim, the request had prompt 1 where nothing was expected")
    provider = machine.provider()
    session = await provider.start(machine.options)
    end = await ended(provider, session, "Hello.", "a:1")
    before = content(session)
    history = History((native_turn(rows_of(end)),))
    synced = await provider.sync_session(session, history, machine.options)
    assert synced.by == "new_session"
    assert synced.session.id != session.id
    assert "2.1.325 are not changed in place, because in a test session after a trim" in synced.loss
    assert content(session) == before
    assert "You said: Hello." in content(synced.session).decode()


async def test_a_session_can_begin_with_turns_from_elsewhere(machine: Machine) -> None:
    provider = machine.provider()
    history = History((HistoryTurn(neutral_turn("Ours?", "Ours.")),), ("A summary.",))
    synced = await provider.sync_session(None, history, machine.options)
    session = await provider.start(machine.options, synced.session)
    end = await ended(provider, session, "Go on.", "a:1")
    whole = History((*history.turns, native_turn(rows_of(end))), history.front)
    assert (await provider.sync_session(session, whole, machine.options)).by == "nothing"


async def test_nothing_is_changed_while_a_turn_runs(machine: Machine) -> None:
    provider = machine.provider()
    session = await provider.start(machine.options)
    turn = asyncio.create_task(ended(provider, session, "WAIT", "a:1"))
    await until(lambda: b"WAIT" in content(session))
    with pytest.raises(SessionBusy, match="working on a turn"):
        await provider.sync_session(session, History(()), machine.options)
    with pytest.raises(SessionBusy, match="working on a turn"):
        await provider.require_at_rest(session)
    other = machine.provider()
    with pytest.raises(SessionBusy, match="process"):
        await other.sync_session(session, History(()), machine.options)
    await provider.interrupt(session)
    assert (await turn).status == "interrupted"


async def test_closing_ends_the_process(machine: Machine) -> None:
    provider = machine.provider()
    session = await provider.start(machine.options)
    listed = [path.stem for path in (machine.folder / "claude" / "sessions").glob("*.json")]
    await provider.close(session)
    for pid in listed:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
