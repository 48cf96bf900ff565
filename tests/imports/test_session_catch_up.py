"""Turns that were made in the program itself are recorded in the agent that Sapwood runs there."""

import json
from pathlib import Path

from sapwood.core.commands import (
    AddReply,
    Clear,
    CompleteTurn,
    RecordNative,
    RecordSync,
    StartAgent,
    StartTurn,
    Undo,
)
from sapwood.core.content import Text
from sapwood.core.events import SYSTEM
from sapwood.core.ids import AgentId, TranscriptRange
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.settings import Settings
from sapwood.imports.session_catch_up import catch_up
from sapwood.testing.claude_transcript import ClaudeTranscript
from sapwood.turns.program_sessions import needs_sync
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import SPACE, Desk

AGENT = AgentId("lead")


async def driven(desk: Desk, transcript: ClaudeTranscript) -> None:
    """An agent whose only turn, with two rows, ran in the session of this transcript."""
    session = ProgramSession("claude-code", transcript.session, str(transcript.path))
    transcript.ask("one").say("first")
    lines = transcript.path.read_bytes().splitlines(keepends=True)
    first, last = (json.loads(line)["uuid"] for line in lines)
    rows = NativeRows(session, TranscriptRange(first, last, len(lines[0])))
    await desk.do(StartAgent(AGENT, settings=Settings("claude-code")))
    state = (await desk.dispatcher.open(AGENT)).state
    await desk.do(RecordSync(AGENT, session, "nothing", state.context), actor=SYSTEM)
    await desk.do(StartTurn(AGENT, (Text("one"),)))
    await desk.do(AddReply(AGENT, (Text("first"),)))
    await desk.do(RecordNative(AGENT, rows), actor=SYSTEM)
    await desk.do(CompleteTurn(AGENT))


async def caught_up(desk: Desk, *, in_use: bool = False) -> int:
    """How many turns were new."""

    async def is_in_use() -> bool:
        return in_use

    return await catch_up(desk.dispatcher, desk.log, SPACE, AGENT, is_in_use)


async def test_new_turns_are_recorded_once_and_the_session_stays_in_step(tmp_path: Path) -> None:
    desk = Desk(MemoryLog())
    transcript = ClaudeTranscript(tmp_path / "4cfa198d-2bff-4ecc-8825-6583da7ea71a.jsonl")
    await driven(desk, transcript)
    assert await caught_up(desk) == 0
    transcript.ask("two").call("Bash", {"command": "ls"}, "a.py").say("second")
    assert await caught_up(desk) == 1
    assert await caught_up(desk) == 0
    opened = await desk.dispatcher.open(AGENT)
    assert [turn.prompt for turn in opened.live.turns] == [(Text("one"),), (Text("two"),)]
    assert not needs_sync(opened.state, "claude-code")
    transcript.ask("three").say("third")
    assert await caught_up(desk) == 1


async def test_nothing_is_recorded_while_the_session_lags_behind(tmp_path: Path) -> None:
    desk = Desk(MemoryLog())
    transcript = ClaudeTranscript(tmp_path / "4cfa198d-2bff-4ecc-8825-6583da7ea71a.jsonl")
    await driven(desk, transcript)
    transcript.ask("two").say("second")
    await desk.do(Clear(AGENT))
    assert await caught_up(desk) == 0
    await desk.do(Undo(AGENT))
    assert await caught_up(desk) == 1


async def test_a_turn_that_the_program_still_runs_is_recorded_when_it_has_ended(
    tmp_path: Path,
) -> None:
    desk = Desk(MemoryLog())
    transcript = ClaudeTranscript(tmp_path / "4cfa198d-2bff-4ecc-8825-6583da7ea71a.jsonl")
    await driven(desk, transcript)
    transcript.ask("two").say("second").ask("three").call("Bash", {"command": "ls"}, "a.py")
    assert await caught_up(desk, in_use=True) == 1
    assert await caught_up(desk, in_use=True) == 0
    transcript.say("third")
    assert await caught_up(desk, in_use=True) == 1
    transcript.ask("four").call("Bash", {"command": "ls"}, "a.py")
    assert await caught_up(desk) == 1  # nobody has it open: the turn will never end
    turns = (await desk.dispatcher.open(AGENT)).live.turns
    assert [turn.status for turn in turns[1:]] == ["completed", "completed", "interrupted"]
