"""The adapter as a whole, with a stand-in for Codex."""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from sapwood.core.content import Text
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Delta, Failure
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
from sapwood.programs.codex.provider import CodexProvider
from tests.programs.proved import keep_proof

FAKE = Path(__file__).parent / "fake_codex.py"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    keep_proof(tmp_path / "data", "codex", program)
    return {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "CODEX_HOME": str(tmp_path / "home"),
        "OPENAI_API_KEY": "any",
    }


@asynccontextmanager
async def provider(tmp_path: Path, environ: dict[str, str]) -> AsyncGenerator[CodexProvider]:
    codex = CodexProvider(tmp_path / "data", environ)
    try:
        yield codex
    finally:
        await codex.close()


def options(tmp_path: Path) -> ProviderOptions:
    return ProviderOptions(str(tmp_path / "project"))


def content(session: ProgramSession) -> bytes:
    return Path(session.path).read_bytes()


def append(session: ProgramSession, row: str) -> None:
    with Path(session.path).open("a") as file:
        file.write(row)


async def run(
    codex: CodexProvider, session: ProgramSession, text: str, turn: str
) -> tuple[list[ProviderEvent], TurnEnd]:
    events = [event async for event in codex.send(session, (Text(text),), turn)]
    end = events.pop()
    assert isinstance(end, TurnEnd)
    return events, end


def history(*rows: NativeRows | None, front: tuple[str, ...] = ()) -> History:
    messages = (Message("user", (Text("neutral"),)), Message("assistant", (Text("N"),)))
    turn = Turn(AgentId("a"), 1, None, (Text("neutral"),))
    return History(tuple(HistoryTurn(turn, each, messages) for each in rows), front)


async def four_turns(
    codex: CodexProvider, tmp_path: Path
) -> tuple[ProgramSession, list[NativeRows]]:
    session = await codex.start(options(tmp_path))
    rows: list[NativeRows] = []
    for number in range(4):
        _, end = await run(codex, session, f"turn {number}", f"a:{number}")
        assert end.rows is not None
        rows.append(end.rows)
    return session, rows


async def test_a_turn_is_yielded_in_order(tmp_path: Path, environ: dict[str, str]) -> None:
    async with provider(tmp_path, environ) as codex:
        session = await codex.start(options(tmp_path))
        events, end = await run(codex, session, "hello", "a:1")
        assert [type(event) for event in events] == [Delta, ProviderReply]
        assert end.status == "completed"
        assert end.rows is not None
        usage = await codex.usage(session)
        assert usage is not None
        assert usage.input == 9000
        assert await codex.start(options(tmp_path), session) == session


async def test_a_turn_that_was_sent_before_is_not_sent_again(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with provider(tmp_path, environ) as codex:
        session = await codex.start(options(tmp_path))
        events, end = await run(codex, session, "hello", "a:1")
        size = len(content(session))
        again, end_again = await run(codex, session, "hello", "a:1")
        assert again == events[1:]
        assert end_again.rows == end.rows
        assert len(content(session)) == size


async def test_a_turn_in_which_codex_died_is_interrupted_when_it_is_sent_again(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with provider(tmp_path, environ) as codex:
        session = await codex.start(options(tmp_path))
        await run(codex, session, "hello", "a:1")
        with pytest.raises(Failure) as failure:
            await run(codex, session, "die", "a:2")
        assert failure.value.again
        session = await codex.start(options(tmp_path), session)
        _, end = await run(codex, session, "die", "a:2")
        assert end.status == "interrupted"
        assert end.rows is not None


async def test_a_question_waits_for_its_answer(tmp_path: Path, environ: dict[str, str]) -> None:
    async with provider(tmp_path, environ) as codex:
        session = await codex.start(options(tmp_path))
        seen: list[ProviderEvent] = []
        async for event in codex.send(session, (Text("ask"),), "a:1"):
            seen.append(event)
            if isinstance(event, ProviderQuestion):
                assert (event.call, event.subject, event.folder) == ("call-1", "rm x", "/srv/wood")
                await codex.answer(session, event.question, ProviderAnswer(allowed=False))
        kinds = [type(event) for event in seen]
        assert kinds == [ProviderReply, ProviderQuestion, ProviderResult, ProviderReply, TurnEnd]
        result = seen[2]
        assert isinstance(result, ProviderResult)
        assert result.content == "decline"


async def test_a_change_is_refused_while_a_turn_runs(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with provider(tmp_path, environ) as codex:
        session, rows = await four_turns(codex, tmp_path)
        turn = asyncio.create_task(run(codex, session, "wait", "a:9"))
        for _ in range(200):
            with suppress(SessionBusy):
                await codex.require_at_rest(session)
                await asyncio.sleep(0.01)
                continue
            break
        size = len(content(session))
        with pytest.raises(SessionBusy, match="working on a turn"):
            await codex.sync_session(session, history(rows[0]), options(tmp_path))
        while not turn.done():
            await codex.interrupt(session)
            await asyncio.wait({turn}, timeout=0.05)
        _, end = await turn
        assert end.status == "interrupted"
        assert end.rows is not None
        assert len(content(session)) >= size


async def test_a_turn_that_is_being_started_can_be_interrupted(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with provider(tmp_path, environ) as codex:
        session, _ = await four_turns(codex, tmp_path)
        turn = asyncio.create_task(run(codex, session, "wait", "a:9"))
        await asyncio.sleep(0)
        await codex.interrupt(session)
        async with asyncio.timeout(30):
            _, end = await turn
        assert end.status == "interrupted"


@pytest.mark.parametrize(
    ("kept", "by"), [((0, 1, 2, 3), "nothing"), ((0, 1), "cut"), ((2, 3), "inject"), ((), "cut")]
)
async def test_a_running_thread_takes_a_history_over(
    tmp_path: Path, environ: dict[str, str], kept: tuple[int, ...], by: str
) -> None:
    async with provider(tmp_path, environ) as codex:
        session, rows = await four_turns(codex, tmp_path)
        wanted = history(*(rows[number] for number in kept))
        before = content(session)
        synced = await codex.sync_session(session, wanted, options(tmp_path))
        assert (synced.by, synced.loss) == (by, "")
        assert synced.session.id == session.id
        assert content(session) == before
        again = await codex.sync_session(synced.session, wanted, options(tmp_path))
        assert again.by == "nothing"
        _, end = await run(codex, again.session, "next", "a:9")
        assert end.difference == ""
        if by in ("cut", "inject"):
            (copy,) = (tmp_path / "data" / "programs" / "codex").iterdir()
            assert copy.read_bytes() == before
            assert copy.stat().st_mode & 0o077 == 0


async def test_an_undo_of_a_trim_restarts_the_server(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with provider(tmp_path, environ) as codex:
        session, rows = await four_turns(codex, tmp_path)
        trimmed = await codex.sync_session(session, history(*rows[2:]), options(tmp_path))
        undone = await codex.sync_session(trimmed.session, history(*rows), options(tmp_path))
        assert undone.by == "boundary"
        same = await codex.sync_session(undone.session, history(*rows), options(tmp_path))
        assert same.by == "nothing"
        _, end = await run(codex, same.session, "next", "a:9")
        assert (end.status, end.difference) == ("completed", "")


async def test_a_prompt_during_a_change_that_restarts_the_server_waits_for_it(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """A server changes the session in the background, and the next prompt comes meanwhile."""
    async with provider(tmp_path, environ) as codex:
        session, rows = await four_turns(codex, tmp_path)
        trimmed = await codex.sync_session(session, history(*rows[2:]), options(tmp_path))
        change = codex.sync_session(trimmed.session, history(*rows), options(tmp_path))
        same = codex.sync_session(trimmed.session, history(*rows), options(tmp_path))
        start = codex.start(options(tmp_path), trimmed.session)
        undone, again, session = await asyncio.gather(change, same, start)
        assert {undone.by, again.by} == {"boundary", "nothing"}
        _, end = await run(codex, session, "next", "a:9")
        assert (end.status, end.difference) == ("completed", "")


async def test_a_thread_at_rest_gets_a_row_and_can_be_undone(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with provider(tmp_path, environ) as codex:
        session, rows = await four_turns(codex, tmp_path)
        await codex.close()
        await codex.require_at_rest(session)
        before = content(session)
        synced = await codex.sync_session(
            session, history(rows[1], front=("S",)), options(tmp_path)
        )
        assert synced.by == "boundary"
        assert synced.rows[0] == f"@{len(before)}"
        after = content(session)
        assert after.startswith(before)
        undone = await codex.sync_session(session, history(*rows), options(tmp_path))
        assert content(session).startswith(after)
        assert (undone.by, undone.session.id) == ("boundary", session.id)
        again = await codex.sync_session(session, history(*rows), options(tmp_path))
        assert again.by == "nothing"


async def test_a_thread_that_another_codex_has_open_is_left_alone(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with provider(tmp_path, environ) as codex, provider(tmp_path, environ) as other:
        session, rows = await four_turns(codex, tmp_path)
        before = content(session)
        with pytest.raises(SessionBusy):
            await other.require_at_rest(session)
        with pytest.raises(SessionBusy):
            await other.sync_session(session, history(rows[0]), options(tmp_path))
        assert content(session) == before


async def test_a_program_that_failed_the_probe_gets_a_new_thread(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with provider(tmp_path, environ) as codex:
        session, rows = await four_turns(codex, tmp_path)
        before = content(session)
    keep_proof(tmp_path / "data", "codex", tmp_path / "bin" / "codex", reason="a turn was lost")
    async with provider(tmp_path, environ) as codex:
        found = codex.find()
        assert found is not None
        assert found.in_place is False
        synced = await codex.sync_session(session, history(rows[3]), options(tmp_path))
        assert synced.by == "new_session"
        assert synced.session.id != session.id
        assert "0.163.0 are not changed in place" in synced.loss
        assert "a turn was lost" in synced.loss
        assert content(session) == before


async def test_a_new_thread_begins_with_the_history_of_another_program(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with provider(tmp_path, environ) as codex:
        synced = await codex.sync_session(None, history(None, front=("S",)), options(tmp_path))
        assert synced.by == "new_session"
        assert len(synced.rows) == 3
        _, end = await run(codex, synced.session, "next", "a:1")
        assert (end.status, end.difference) == ("completed", "")


async def test_a_thread_that_somebody_else_changed_is_told(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with provider(tmp_path, environ) as codex:
        session, rows = await four_turns(codex, tmp_path)
        synced = await codex.sync_session(session, history(*rows[:2]), options(tmp_path))
        append(synced.session, '{"type":"compacted","payload":{"replacement_history":[]}}\n')
        _, end = await run(codex, synced.session, "next", "a:9")
        assert "had 0 items of history where 4 were expected" in end.difference


async def test_a_missing_program_says_how_to_get_it(tmp_path: Path) -> None:
    async with provider(tmp_path, {"PATH": str(tmp_path), "HOME": str(tmp_path)}) as codex:
        assert codex.find() is None
        with pytest.raises(Failure, match="npm install") as failure:
            await codex.start(options(tmp_path))
        assert failure.value.kind == "no_model"


async def test_without_a_login_codex_is_not_started(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    del environ["OPENAI_API_KEY"]
    async with provider(tmp_path, environ) as codex:
        with pytest.raises(Failure, match="codex login") as failure:
            await codex.start(options(tmp_path))
        assert failure.value.kind == "no_key"


async def test_closing_ends_every_server(tmp_path: Path, environ: dict[str, str]) -> None:
    async with provider(tmp_path, environ) as codex:
        session = await codex.start(options(tmp_path))
        await codex.close()
        await codex.require_at_rest(session)
        with pytest.raises(Failure):
            await run(codex, session, "hello", "a:1")


async def test_a_trimmed_thread_has_a_spare_server_until_it_is_closed(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    async with provider(tmp_path, environ) as codex:
        session, rows = await four_turns(codex, tmp_path)
        trimmed = await codex.sync_session(session, history(*rows[2:]), options(tmp_path))
        await codex.sync_session(trimmed.session, history(*rows), options(tmp_path))
        assert running(tmp_path)
        await codex.close()
    assert running(tmp_path) == []


def running(folder: Path) -> list[Path]:
    """The processes that have this folder in their environment."""
    paths = Path("/proc").glob("[0-9]*/environ")
    return [path for path in paths if str(folder).encode() in content_of(path)]


def content_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
