"""Every trap of Claude Code that was found, tried with the real program.

What is asserted is what the model received, and what is in Claude Code's own files.
`python -m proofs.providers_e2e.claude_traps [NAME…]` tries all of them, or some.
"""

import asyncio
import json
import os
import signal
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any  # rows are JSON

from msgspec import structs

from proofs.agents_e2e.checks import Checks
from proofs.agents_e2e.environment import ProofError, find_programs
from proofs.agents_e2e.namespace import enter_namespace, reaches_outside
from proofs.providers_e2e.claude_world import ClaudeWorld, claude_world, history
from proofs.providers_e2e.kept_proofs import fail_probe, forget_proofs
from sapwood.core.model_calls import Delta, Failure
from sapwood.core.program_session import ProgramSession
from sapwood.programs.agent_provider import (
    ProviderQuestion,
    ProviderReply,
    ProviderResult,
    SessionBusy,
)
from sapwood.programs.claude_code.row_forms import RowContext, boundary_row
from sapwood.programs.claude_code.transcript import read_transcript

_WAITING = b'"command":"tail -f /dev/null"'
"""The call of a command that never ends, as it is in a transcript."""


async def live_trim(world: ClaudeWorld, checks: Checks) -> None:
    """Turns at the beginning leave a running session, which keeps its id; undo brings them back."""
    session, rows = await world.turns(4)
    before = world.content(session)
    await world.probe(session)
    whole = world.messages[:-1]
    synced = await world.provider.sync_session(session, history(*rows[2:]), world.options())
    checks.expect("a live trim appends a boundary", synced.by == "boundary", synced.by)
    end = await world.probe(synced.session, 1)
    received = ["TURN3", "TURN4", "PROBE1"]
    checks.expect("exactly two turns are left", world.received == received, world.received)
    kinds = {block["type"] for message in world.messages for block in message["content"]}
    wanted = {"text", "thinking", "tool_use", "tool_result"}
    checks.expect("calls, results and reasoning go with them", kinds == wanted, kinds)
    checks.expect("nothing differed", end.difference == "", end.difference)
    checks.expect("the session keeps its id", synced.session.id == session.id)
    undone = await world.provider.sync_session(session, history(*rows), world.options())
    await world.probe(undone.session, 2)
    checks.expect("undo restores the identical history", world.messages[:-1] == whole)
    checks.expect("the former content is a prefix", world.content(session).startswith(before))


async def any_subset(world: ClaudeWorld, checks: Checks) -> None:
    """At rest any turns can be kept, with texts in front; later resumes stay as they are."""
    session, rows = await world.turns(5)
    await world.provider.close()
    wanted = history(rows[1], rows[4], front=("SUMMARY of the rest", "SUMMARY more"))
    synced = await world.provider.sync_session(session, wanted, world.options())
    await world.probe(synced.session)
    received = ["SUMMARY", "SUMMARY", "TURN2", "TURN5", "PROBE0"]
    checks.expect("texts and subset are sent", world.received == received, world.received)
    ran = world.home.run("claude", "-p", "--resume", session.id, "PROBE1 [[say: p]]")
    checks.expect("another process waits", ran.returncode == 0, ran.stderr)
    await world.provider.close()
    ran = world.home.run("claude", "-p", "--resume", session.id, "PROBE2 [[say: p]]")
    checks.expect("`claude --resume` goes on", ran.returncode == 0, ran.stderr)
    checks.expect("it stays trimmed", world.received[:4] == received[:4], world.received)
    checks.expect("and grows", world.received[-1] == "PROBE2", world.received)


async def nothing_kept(world: ClaudeWorld, checks: Checks) -> None:
    """An empty history, and texts without a turn: no answer is put into the model's mouth."""
    session, rows = await world.turns(2)
    await world.provider.close()
    empty = await world.provider.sync_session(session, history(), world.options())
    await world.probe(empty.session)
    checks.expect("only the prompt is sent", world.received == ["PROBE0"], world.received)
    checks.expect("in the same session", empty.session.id == session.id)
    texts = await world.provider.sync_session(session, history(front=("SUMMARY",)), world.options())
    end = await world.probe(texts.session, 1)
    received = ["SUMMARY", "PROBE1"]
    checks.expect("only the text and the prompt", world.received == received, world.received)
    roles = {message["role"] for message in world.messages}
    checks.expect("the model said nothing", roles == {"user"}, roles)
    checks.expect("nothing differed", end.difference == "", end.difference)
    await world.provider.sync_session(session, history(*rows), world.options())
    await world.probe(session, 2)
    received = ["TURN1", "TURN2", "PROBE2"]
    checks.expect("undo brings everything back", world.received == received, world.received)


async def unknown_row(world: ClaudeWorld, checks: Checks) -> None:
    """One unknown id brings the whole history back; a double id loses it. We never write either."""
    session, rows = await world.turns(2)
    await world.provider.close()
    kept = read_transcript(Path(session.path)).place
    last = rows[1].passage
    for name, listed, wanted in (
        ("an unknown id voids the boundary", [str(uuid.uuid4()), last.last], ["TURN1", "TURN2"]),
        ("an id twice breaks the history", [last.first, last.last, last.first], ["PROBE9"]),
    ):
        original = world.content(session)
        _append(session, world, listed)
        world.home.run("claude", "-p", "--resume", session.id, "PROBE9 [[say: p]]")
        received = world.received[: len(wanted)]
        checks.expect(name, received == wanted, world.received)
        world.replace(session, original)
    synced = await world.provider.sync_session(session, history(rows[1]), world.options())
    listed = world.rows(session)[-1]["compactMetadata"]["preservedMessages"]["uuids"]
    checks.expect("our list has known rows", set(listed) <= kept.keys(), listed)
    checks.expect("each of them once", len(set(listed)) == len(listed))
    await world.probe(synced.session)
    checks.expect("it holds", world.received == ["TURN2", "PROBE0"], world.received)


async def rewind(world: ClaudeWorld, checks: Checks) -> None:
    """The running program cuts its last turns itself; a boundary brings them back."""
    session, rows = await world.turns(4)
    before = world.content(session)
    cut = await world.provider.sync_session(session, history(*rows[:2]), world.options())
    checks.expect("the program cuts its end", cut.by == "cut", cut.by)
    await world.probe(session)
    received = ["TURN1", "TURN2", "PROBE0"]
    checks.expect("the rest is sent", world.received == received, world.received)
    undone = await world.provider.sync_session(session, history(*rows), world.options())
    checks.expect("its undo is a boundary", undone.by == "boundary", undone.by)
    await world.probe(session, 1)
    received = ["TURN1", "TURN2", "TURN3", "TURN4", "PROBE1"]
    checks.expect("all turns are back", world.received == received, world.received)
    cut = await world.provider.sync_session(session, history(), world.options())
    checks.expect("it cuts everything", cut.by == "cut", cut.by)
    await world.probe(session, 2)
    checks.expect("nothing is left", world.received == ["PROBE2"], world.received)
    trimmed = await world.provider.sync_session(session, history(rows[3]), world.options())
    checks.expect("a boundary follows a cut", trimmed.by == "boundary", trimmed.by)
    cut = await world.provider.sync_session(session, history(), world.options())
    await world.probe(session, 3)
    checks.expect(
        "a cut follows a boundary", world.received == ["PROBE3"], (cut.by, world.received)
    )
    checks.expect("the former content is a prefix", world.content(session).startswith(before))


async def edit_after_trim(world: ClaudeWorld, checks: Checks) -> None:
    """A file that was read in a turn that left can still be edited, unless it has changed."""
    options = structs.replace(world.options(), model="claude-sonnet-4-5")  # which must read first
    session = await world.provider.start(options)
    same, other = world.home.project / "same.txt", world.home.project / "other.txt"
    for path in (same, other):
        path.write_text("alpha\n")
    reads = " ".join(f'Read {{"file_path":"{path}"}}' for path in (same, other))
    await world.ask(session, f"TURN1 [[tools: {reads}]] [[say: A]]", "a:1")
    os.utime(other, (time.time() + 60, time.time() + 60))
    _, end = await world.ask(session, "TURN2 [[say: A]]", "a:2")
    await world.provider.sync_session(session, history(end.rows), options)
    for path, works in ((same, True), (other, False)):
        edit = f'[[tool: Edit {{"file_path":"{path}","old_string":"alpha","new_string":"beta"}}]]'
        await world.ask(session, f"TURN3 {edit} [[say: A]]", f"a:{path.name}")
        done = path.read_text() == "beta\n"
        checks.expect(f"{path.name} is {'' if works else 'not '}edited", done is works)


async def elsewhere(world: ClaudeWorld, checks: Checks) -> None:
    """Turns of another program join a session; a conversation of another one begins here."""
    session, rows = await world.turns(2)
    synced = await world.provider.sync_session(
        session, history(rows[0], None, rows[1], None), world.options()
    )
    checks.expect("in the same session", synced.session.id == session.id, synced)
    end = await world.probe(session)
    received = ["TURN1", "NEUTRAL1", "TURN2", "NEUTRAL3", "PROBE0"]
    checks.expect("all are sent in order", world.received == received, world.received)
    checks.expect("nothing differed", end.difference == "", end.difference)
    again = await world.provider.sync_session(
        session, history(rows[0], None, rows[1], None, end.rows), world.options()
    )
    checks.expect("the same history needs no change", again.by == "nothing", again.by)
    new = await world.provider.sync_session(
        None, history(None, front=("SUMMARY",)), world.options()
    )
    await world.probe(new.session, 1)
    received = ["SUMMARY", "NEUTRAL0", "PROBE1"]
    checks.expect("a new session begins with them", world.received == received, world.received)


async def fork(world: ClaudeWorld, checks: Checks) -> None:
    """A fork is a session of its own with the native rows; the parent stays as it is."""
    session, rows = await world.turns(3)
    await world.probe(session)
    whole = world.messages[:-1]
    before = world.content(session)
    forked = await world.provider.sync_session(None, history(*rows), world.options())
    checks.expect("it has its own id", forked.session.id != session.id)
    await world.probe(forked.session)
    checks.expect("it sends the same messages", world.messages[:-1] == whole)
    checks.expect("the parent's file is the same", world.content(session) == before)
    ids = {row["sessionId"] for row in world.rows(forked.session) if "sessionId" in row}
    checks.expect("its rows name it", ids == {forked.session.id}, ids)


async def open_elsewhere(world: ClaudeWorld, checks: Checks) -> None:
    """A session that another process has open is left alone; so is one in the middle of a turn."""
    session, rows = await world.turns(2)
    before, other = world.content(session), world.new_provider()
    checks.expect("an open session", await _is_busy(other.require_at_rest(session)))
    refused = other.sync_session(session, history(rows[1]), world.options())
    checks.expect("is not changed", await _is_busy(refused) and world.content(session) == before)
    sent = len(world.model.requests)
    turn = asyncio.create_task(world.ask(session, "TURN3 [[sleep: 2]] [[say: A]]", "a:3"))
    await _until(lambda: len(world.model.requests) > sent)
    changed = world.provider.sync_session(session, history(rows[1]), world.options())
    checks.expect("a running turn", await _is_busy(changed))
    _, end = await turn
    checks.expect("goes on", end.status == "completed", end)
    await world.provider.close()
    await other.require_at_rest(session)
    synced = await other.sync_session(session, history(rows[1]), world.options())
    checks.expect("at rest it is changed", synced.by == "boundary", synced.by)


async def permissions(world: ClaudeWorld, checks: Checks) -> None:
    """A command is asked for between call and result; a refusal reaches the model."""
    session = await world.provider.start(world.options())
    command = '[[tool: Bash {"command":"touch made"}]] [[say: A]]'
    events, _ = await world.ask(session, f"TURN1 {command}", "a:1")
    kinds = [type(event) for event in events if not isinstance(event, Delta)]
    order = [ProviderReply, ProviderQuestion, ProviderResult, ProviderReply]
    checks.expect("it is asked between call and result", kinds == order, kinds)
    asked = [event.subject for event in events if isinstance(event, ProviderQuestion)]
    checks.expect("with the command", asked == ["touch made"], asked)
    checks.expect("allowed, it runs", (world.home.project / "made").exists())
    refused = command.replace("made", "never")
    events, _ = await world.ask(session, f"TURN2 {refused}", "a:2", allow=False)
    checks.expect("refused, it does not", not (world.home.project / "never").exists())
    results = [event for event in events if isinstance(event, ProviderResult)]
    checks.expect("the model is told", results and results[0].error, results)
    write = f'[[tool: Write {{"file_path":"{world.home.project}/new.txt","content":"x"}}]]'
    session = await world.provider.start(world.options("accept-edits"), session)
    events, _ = await world.ask(session, f"TURN3 {write} [[say: A]]", "a:3")
    asked = [event for event in events if isinstance(event, ProviderQuestion)]
    checks.expect("an edit is accepted", (world.home.project / "new.txt").exists() and not asked)
    session = await world.provider.start(world.options("read-only"), session)
    await world.ask(session, f"TURN4 {refused}", "a:4")
    checks.expect("read-only writes nothing", not (world.home.project / "never").exists())


async def interrupted(world: ClaudeWorld, checks: Checks) -> None:
    """An interrupted turn ends at once, has rows, and can be cut off and brought back."""
    session, rows = await world.turns(1)
    script = 'TURN2 [[tool: Bash {"command":"tail -f /dev/null"}]] [[say: late]]'
    turn = asyncio.create_task(world.ask(session, script, "a:2"))
    await _until(lambda: _WAITING in world.content(session))
    started = time.monotonic()
    await world.provider.interrupt(session)
    _, end = await turn
    checks.expect("it ends at once", time.monotonic() - started < 5)
    checks.expect("as interrupted, with rows", end.status == "interrupted" and end.rows, end)
    same = await world.provider.sync_session(session, history(rows[0], end.rows), world.options())
    checks.expect("its history is what the rows say", same.by == "nothing", same)
    await world.provider.sync_session(session, history(rows[0]), world.options())
    await world.probe(session)
    checks.expect("it is cut off", world.received == ["TURN1", "PROBE0"], world.received)
    await world.provider.sync_session(session, history(rows[0], end.rows), world.options())
    await world.probe(session, 1)
    received = ["TURN1", "TURN2", "PROBE1"]
    checks.expect("and brought back", world.received == received, world.received)


async def killed(world: ClaudeWorld, checks: Checks) -> None:
    """The program is killed in the middle of a turn: the turn is never doubled."""
    session, _ = await world.turns(1)
    sent = len(world.model.requests)
    turn = asyncio.create_task(world.ask(session, "TURN2 [[sleep: 30]] [[say: A]]", "a:2"))
    await _until(lambda: len(world.model.requests) > sent and b"TURN2" in world.content(session))
    _kill(world)
    _, end = await turn
    checks.expect("the turn fails", end.status == "failed", end)
    checks.expect("and says why", "exited in the middle" in end.reason, end.reason)
    world.provider = world.new_provider()
    session = await world.provider.start(world.options(), session)
    _, end = await world.ask(session, "TURN2 [[say: A]]", "a:2")
    checks.expect("sent again, it is answered", end.status == "completed", end)
    checks.expect("once", world.received == ["TURN1", "TURN2"], world.received)
    sent = len(world.model.requests)
    world.provider = await _again(world)
    session = await world.provider.start(world.options(), session)
    events, end = await world.ask(session, "TURN2 [[say: A]]", "a:2")
    told = [type(event) for event in events] == [ProviderReply] and end.status == "completed"
    checks.expect("sent once more, it is told as it was", told, events)
    checks.expect("without a request", len(world.model.requests) == sent)


async def killed_after_a_tool(world: ClaudeWorld, checks: Checks) -> None:
    """A turn that was killed after a tool has run: the tool does not run twice."""
    session, _ = await world.turns(1)
    script = 'TURN2 [[tool: Bash {"command":"echo x >> count; echo RAN"}]] [[sleep: 30]] [[say: A]]'
    turn = asyncio.create_task(world.ask(session, script, "a:2"))
    await _until(lambda: b'"content":"RAN"' in world.content(session))
    _kill(world)
    await turn
    world.provider = world.new_provider()
    session = await world.provider.start(world.options(), session)
    events, end = await world.ask(session, script, "a:2")
    checks.expect("sent again, it is told as it was", end.status == "interrupted", end)
    results = [event for event in events if isinstance(event, ProviderResult)]
    checks.expect("with its result", len(results) == 1, events)
    ran = (world.home.project / "count").read_text()
    checks.expect("the tool ran once", ran == "x\n", ran)
    await world.probe(session)
    received = ["TURN1", "TURN2", "PROBE0"]
    checks.expect("it is in the history once", world.received == received, world.received)


async def killed_in_a_tool(world: ClaudeWorld, checks: Checks) -> None:
    """A turn that was killed while a tool ran: its call gets a result, and it stays in view."""
    session, rows = await world.turns(1)
    script = 'TURN2 [[tool: Bash {"command":"tail -f /dev/null"}]] [[say: A]]'
    turn = asyncio.create_task(world.ask(session, script, "a:2"))
    await _until(lambda: _WAITING in world.content(session))
    _kill(world)
    _, end = await turn
    world.provider = world.new_provider()
    await world.probe(session)
    received = ["TURN1", "TURN2", "PROBE0"]
    checks.expect("it stays in view", world.received == received, world.received)
    results = [block for block in _blocks(world) if block["type"] == "tool_result"]
    checks.expect("its call has a result", "interrupted" in str(results[-1]), results[-1])
    trimmed = await world.provider.sync_session(
        session, history(rows[0], end.rows), world.options()
    )
    await world.probe(session, 1)
    received = ["TURN1", "TURN2", "PROBE1"]
    checks.expect("also after a change", world.received == received, (trimmed, world.received))


async def torn_row(world: ClaudeWorld, checks: Checks) -> None:
    """A row that a crash cut off stays; what is appended begins on a line of its own."""
    session, rows = await world.turns(2)
    await world.provider.close()
    before = world.content(session) + b'{"parentUuid":"x","type":"assist'
    world.replace(session, before)
    await world.provider.sync_session(session, history(rows[1]), world.options())
    checks.expect("the former content is a prefix", world.content(session).startswith(before))
    await world.probe(session)
    checks.expect("the program opens it", world.received == ["TURN2", "PROBE0"], world.received)


async def own_compaction(world: ClaudeWorld, checks: Checks) -> None:
    """The program's own compaction can be taken back, and its summary can be kept out."""
    session, rows = await world.turns(3)
    await world.provider.close()
    ran = world.home.run("claude", "-p", "--resume", session.id, "/compact")
    checks.expect("it compacts", ran.returncode == 0, ran.stderr)
    synced = await world.provider.sync_session(session, history(*rows), world.options())
    checks.expect("a boundary takes it back", synced.by == "boundary", synced.by)
    await world.probe(session)
    received = ["TURN1", "TURN2", "TURN3", "PROBE0"]
    checks.expect("all turns are sent", world.received == received, world.received)


async def failed_probe(world: ClaudeWorld, checks: Checks) -> None:
    """After a failed probe the session is left alone, and a new one gets the history."""
    session, rows = await world.turns(2)
    await world.provider.close()
    before = world.content(session)
    fail_probe(world.home, "claude-code")
    try:
        synced = await world.new_provider().sync_session(session, history(rows[1]), world.options())
    finally:
        forget_proofs(world.home)
    checks.expect("a new session is written", synced.by == "new_session", synced.by)
    checks.expect("and that is said", "not changed in place" in synced.loss, synced.loss)
    checks.expect("the old one stays as it is", world.content(session) == before)
    await world.probe(synced.session)
    checks.expect("it has the history", world.received == ["TURN2", "PROBE0"], world.received)


async def lost_session(world: ClaudeWorld, checks: Checks) -> None:
    """A transcript that was swept away is written again from the private copy."""
    session, rows = await world.turns(2)
    await world.provider.close()
    await world.provider.sync_session(session, history(rows[1]), world.options())
    world.replace(session, None)
    synced = await world.provider.sync_session(session, history(*rows), world.options())
    checks.expect("the session keeps its id", synced.session.id == session.id, synced)
    await world.probe(synced.session)
    received = ["TURN1", "TURN2", "PROBE0"]
    checks.expect("all turns are sent", world.received == received, world.received)
    kinds = {block["type"] for message in world.messages for block in message["content"]}
    checks.expect("with their reasoning", "thinking" in kinds, kinds)


async def verbatim(world: ClaudeWorld, checks: Checks) -> None:
    """A prompt is sent as it is: no file for `@`, no command for `/`."""
    (world.home.project / "secret.txt").write_text("NOT FOR THE MODEL")
    session = await world.provider.start(world.options())
    for number, text in enumerate(("TURN1 @secret.txt [[say: A]]", "/cost TURN2 [[say: A]]")):
        await world.ask(session, text, f"a:{number}")
        sent = [block.get("text") for block in world.messages[-1]["content"]]
        checks.expect(f"'{text[:12]}' is sent as it is", sent == [text], sent)
    body: Any = world.model.requests[-1].body
    checks.expect("the file is not read", "NOT FOR THE MODEL" not in json.dumps(body))


def _blocks(world: ClaudeWorld) -> list[dict[str, Any]]:
    return [block for message in world.messages for block in message["content"]]


def _append(session: ProgramSession, world: ClaudeWorld, kept: list[str]) -> None:
    row = boundary_row(RowContext(session.id, str(world.home.project), "2.1.325"), kept)
    with Path(session.path).open("ab") as file:
        file.write(row.encoded(None))


def _kill(world: ClaudeWorld) -> None:
    """Kills every Claude Code of this home, by its process id."""
    for path in (world.home.claude / "sessions").glob("*.json"):
        os.killpg(int(path.stem), signal.SIGKILL)


async def _again(world: ClaudeWorld) -> Any:
    await world.provider.close()
    return world.new_provider()


async def _is_busy(act: Awaitable[object]) -> bool:
    try:
        await act
    except SessionBusy:
        return True
    return False


async def _until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise ProofError("what was waited for did not happen")
        await asyncio.sleep(0.02)


Trap = Callable[[ClaudeWorld, Checks], Awaitable[None]]
TRAPS: dict[str, Trap] = {
    each.__name__: each
    for each in (
        live_trim,
        any_subset,
        nothing_kept,
        unknown_row,
        rewind,
        edit_after_trim,
        elsewhere,
        fork,
        open_elsewhere,
        permissions,
        interrupted,
        killed,
        killed_after_a_tool,
        killed_in_a_tool,
        torn_row,
        own_compaction,
        failed_probe,
        lost_session,
        verbatim,
    )
}


async def run_traps(checks: Checks, names: list[str]) -> None:
    """Tries traps, each in a home of its own."""
    for name in names or TRAPS:
        print(f"\n{name}: {TRAPS[name].__doc__}", flush=True)
        async with claude_world() as world:
            try:
                await TRAPS[name](world, checks)
            except (Failure, SessionBusy, ProofError) as error:
                checks.expect(f"{name} runs to its end", False, f"{type(error).__name__}: {error}")
            refused = world.model.rejections
            checks.expect("the model refused nothing", not refused, refused)


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if a check failed."""
    try:
        find_programs()
        enter_namespace(arguments, "proofs.providers_e2e.claude_traps")
    except ProofError as error:
        print(f"claude-traps: {error}", file=sys.stderr)
        return 1
    checks, started = Checks(), time.monotonic()
    checks.expect("no way leads out of here", not reaches_outside())
    asyncio.run(run_traps(checks, arguments))
    seconds = time.monotonic() - started
    total = checks.passed + checks.failed
    print(f"claude-traps: {checks.passed} of {total} passed in {seconds:.0f} s")
    return int(checks.failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
