"""The provider of pi, with a small program in place of the real one."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from sapwood.core.content import Text
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.turn import Turn
from sapwood.core.view.request import Message
from sapwood.programs.agent_provider import (
    History,
    HistoryTurn,
    ProviderAnswer,
    ProviderEvent,
    ProviderOptions,
    ProviderQuestion,
    ProviderReply,
    ProviderResult,
    SessionBusy,
    TurnEnd,
)
from sapwood.programs.pi.provider import PiProvider
from tests.programs.proved import keep_proof

FAKE = Path(__file__).with_name("fake_pi.py")


class Machine:
    """A home with the program in it."""

    def __init__(self, folder: Path) -> None:
        self.data, project = folder / "data", folder / "project"
        project.mkdir()
        (folder / "bin").mkdir()
        self.script = folder / "bin" / "pi"
        run = f"import runpy\nrunpy.run_path({str(FAKE)!r}, run_name='__main__')\n"
        self.script.write_text(f"#!{sys.executable}\n{run}")
        self.script.chmod(0o755)
        self.environ = {
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "HOME": str(folder),
            "PI_CODING_AGENT_DIR": str(folder / "pi"),
        }
        (folder / "pi" / "sessions" / "--project--").mkdir(parents=True)
        self.options = ProviderOptions(str(project))
        self.provider = self.restarted()
        self.prove()

    def restarted(self) -> PiProvider:
        self.provider = PiProvider(self.data, self.environ)
        return self.provider

    def prove(self, reason: str = "") -> None:
        keep_proof(self.data, "pi", self.script, reason=reason, environ=self.environ)

    async def ask(
        self, session: ProgramSession, text: str, turn: str = "", *, allow: bool = True
    ) -> list[ProviderEvent]:
        found: list[ProviderEvent] = []
        async for event in self.provider.send(session, (Text(text),), turn or text):
            found.append(event)
            if isinstance(event, ProviderQuestion):
                answer = ProviderAnswer(allow, "" if allow else "no shells here")
                await self.provider.answer(session, event.question, answer)
        return found

    async def turns(self, *texts: str) -> tuple[ProgramSession, list[NativeRows]]:
        session = await self.provider.start(self.options)
        ends = [ending(await self.ask(session, text)) for text in texts]
        return session, [end.rows for end in ends if end.rows is not None]

    async def says(self, session: ProgramSession, text: str) -> str:
        """The prompts in view, as the program answers them."""
        session = await self.provider.start(self.options, session)
        events = await self.ask(session, text)
        assert ending(events).difference == ""
        return said(events)


def said(events: list[ProviderEvent]) -> str:
    replies = [event for event in events if isinstance(event, ProviderReply)]
    return "".join(part.text for part in replies[-1].parts if isinstance(part, Text))


def content_of(session: ProgramSession) -> bytes:
    return Path(session.path).read_bytes()


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def ending(events: list[ProviderEvent]) -> TurnEnd:
    end = events[-1]
    assert isinstance(end, TurnEnd)
    return end


def history(*rows: NativeRows | None, front: tuple[str, ...] = ()) -> History:
    turns: list[HistoryTurn] = []
    for number, each in enumerate(rows):
        words = Text(f"neutral{number}")
        messages = (Message("user", (words,)), Message("assistant", (Text("so"),)))
        turns.append(HistoryTurn(Turn(AgentId("a"), number, None, (words,)), each, messages))
    return History(tuple(turns), front)


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncGenerator[Machine]:
    made = Machine(tmp_path)
    yield made
    await made.provider.close()


async def test_turns_run_and_name_their_rows(machine: Machine) -> None:
    session, rows = await machine.turns("one", "two")
    assert await machine.says(session, "three") == "one two three"
    assert len({each.passage.first for each in rows}) == 2
    assert rows[0].session.path == session.path


async def test_a_running_session_is_trimmed_and_the_trim_undone(machine: Machine) -> None:
    session, rows = await machine.turns("one", "two", "three")
    before = content_of(session)
    synced = await machine.provider.sync_session(
        session, history(rows[0], rows[2]), machine.options
    )
    assert (synced.by, synced.difference) == ("boundary", "")
    assert await machine.says(synced.session, "four") == "one three four"
    synced = await machine.provider.sync_session(session, history(*rows), machine.options)
    assert await machine.says(synced.session, "five") == "one two three five"
    assert content_of(session).startswith(before)


async def test_a_session_at_rest_is_rewound(machine: Machine) -> None:
    session, rows = await machine.turns("one", "two")
    await machine.provider.close()
    machine.restarted()
    await machine.provider.sync_session(session, history(rows[0]), machine.options)
    assert await machine.says(session, "three") == "one three"


async def test_a_fork_is_a_session_of_its_own(machine: Machine) -> None:
    session, rows = await machine.turns("one", "two")
    synced = await machine.provider.sync_session(None, history(rows[0], None), machine.options)
    assert (synced.by, synced.session.id != session.id) == ("new_session", True)
    assert await machine.says(synced.session, "three") == "one neutral1 three"
    assert await machine.says(session, "four") == "one two four"


async def test_a_turn_that_ran_is_told_and_not_sent_again(machine: Machine) -> None:
    session, _ = await machine.turns("one")
    again = await machine.ask(session, "one")
    assert said(again) == "one"
    assert ending(again).status == "completed"
    assert await machine.says(session, "two") == "one two"


async def test_a_prompt_that_was_never_answered_is_sent_again(machine: Machine) -> None:
    session, _ = await machine.turns("one")
    end = ending(await machine.ask(session, "DIE", "t2"))
    assert (end.status, end.reason) == ("failed", "pi exited.")
    session = await machine.provider.start(machine.options, session)
    assert said(await machine.ask(session, "two", "t2")) == "one two"


async def test_a_result_that_was_written_before_a_kill_is_reported(machine: Machine) -> None:
    session, _ = await machine.turns("one")
    reply, result, end = await machine.ask(session, "DIE LATE")
    assert isinstance(reply, ProviderReply)
    assert isinstance(result, ProviderResult)
    assert (result.call, result.content) == ("c1", "a.txt")
    assert isinstance(end, TurnEnd)
    assert end.status == "failed"


async def test_a_tool_is_asked_about(machine: Machine) -> None:
    session, _ = await machine.turns()
    events = await machine.ask(session, "ASK")
    question = next(event for event in events if isinstance(event, ProviderQuestion))
    assert (question.call, question.tool, question.subject) == ("c1", "bash", "ls")
    result = next(event for event in events if isinstance(event, ProviderResult))
    assert result.content == "allowed"
    events = await machine.ask(session, "ASK", "again", allow=False)
    result = next(event for event in events if isinstance(event, ProviderResult))
    assert result.content == "no shells here"


async def test_a_running_turn_is_interrupted_and_not_changed(machine: Machine) -> None:
    session, rows = await machine.turns("one")
    running = asyncio.create_task(machine.ask(session, "WAIT"))
    await asyncio.to_thread(wait_for, lambda: b"WAIT" in content_of(session))
    with pytest.raises(SessionBusy, match="runs a turn"):
        await machine.provider.sync_session(session, history(*rows), machine.options)
    await machine.provider.interrupt(session)
    assert ending(await running).status == "interrupted"


async def test_an_unproved_version_gets_a_new_session(machine: Machine) -> None:
    session, rows = await machine.turns("one", "two")
    machine.prove(reason="a request differed")
    synced = await machine.provider.sync_session(session, history(rows[1]), machine.options)
    assert synced.by == "new_session"
    assert "a request differed" in synced.loss
    assert await machine.says(synced.session, "three") == "two three"


async def test_without_the_program_it_is_said_how_to_install_it(tmp_path: Path) -> None:
    provider = PiProvider(tmp_path, {"PATH": "", "HOME": str(tmp_path)})
    assert provider.find() is None
    with pytest.raises(Failure, match="npm install"):
        await provider.start(ProviderOptions(str(tmp_path)))
