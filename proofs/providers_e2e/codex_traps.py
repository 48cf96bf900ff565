"""Every trap of Codex that was found, tried with the real program.

What is asserted is what the model received, and what is in Codex's own files.
`python -m proofs.providers_e2e.codex_traps [NAME…]` tries all of them, or some.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable

import msgspec

from proofs.agents_e2e.checks import Checks
from proofs.agents_e2e.codex import Codex
from proofs.agents_e2e.environment import ProofError, find_programs
from proofs.agents_e2e.namespace import enter_namespace, reaches_outside
from proofs.providers_e2e.codex_world import CodexWorld, codex_world, history
from proofs.providers_e2e.kept_proofs import fail_probe, forget_proofs
from sapwood.core.model_calls import Delta, Failure
from sapwood.core.program_session import ProgramSession
from sapwood.programs.agent_provider import (
    ProviderQuestion,
    ProviderReply,
    ProviderResult,
    SessionBusy,
)
from sapwood.programs.codex.app_server import AppServer, CodexRefused
from sapwood.programs.codex.sessions import current_file
from sapwood.programs.codex.thread_history import RolloutReader

_ANYWHERE = ("--skip-git-repo-check", "--disable", "plugins")


async def live_trim(world: CodexWorld, checks: Checks) -> None:
    """Turns at the beginning leave a running thread, which keeps its id."""
    session, rows = await world.turns(4)
    await world.probe(session, 9)
    whole = world.items[:-1]
    before = world.files()
    synced = await world.provider.sync_session(session, history(*rows[2:]), world.options())
    checks.expect("a live trim injects", synced.by == "inject", synced.by)
    end = await world.probe(synced.session)
    checks.expect("exactly two turns are left", world.received == ["TURN3", "TURN4", "PROBE0"])
    roles = [item.get("role") for item in world.all_items]
    checks.expect("instructions stay in front", roles[:3] == ["developer", "developer", "user"])
    kinds = {item["type"] for item in world.items}
    wanted = {"message", "reasoning", "function_call", "function_call_output"}
    checks.expect("calls, results and reasoning go with them", kinds == wanted, kinds)
    unchanged = world.items[:-1] == whole[len(whole) // 2 :]
    checks.expect("they are sent unchanged", unchanged, (whole, world.items))
    checks.expect("the thread keeps its id", synced.session.id == session.id)
    checks.expect("nothing differed", end.difference == "", end.difference)
    kept_files = all(path.read_bytes() == content for path, content in before.items())
    checks.expect("the old file is the same, byte for byte", kept_files)
    await world.provider.close()
    await world.probe(synced.session, 1)
    expected = ["TURN3", "TURN4", "PROBE0", "PROBE1"]
    checks.expect("it survives a restart of the server", world.received == expected)


async def live_undo(world: CodexWorld, checks: Checks) -> None:
    """The undo of a live trim, at once and after a turn, gives the identical history back."""
    session, rows = await world.turns(3)
    await world.probe(session)
    whole = world.items[:-1]
    options = world.options()
    history_whole = history(*rows)
    cut = await world.provider.sync_session(session, history_whole, options)
    checks.expect("the probe is cut off", cut.by == "cut", cut.by)
    trimmed = await world.provider.sync_session(cut.session, history(rows[2]), options)
    undone = await world.provider.sync_session(trimmed.session, history_whole, options)
    await world.probe(undone.session, 1)
    checks.expect("undo restores the identical history", world.items[:-1] == whole)
    trimmed = await world.provider.sync_session(undone.session, history(rows[1]), options)
    end = await world.probe(trimmed.session, 2)
    checks.expect("another trim follows", world.received == ["TURN2", "PROBE2"], world.received)
    again = await world.provider.sync_session(trimmed.session, history(*rows, end.rows), options)
    await world.probe(again.session, 3)
    expected = ["TURN1", "TURN2", "TURN3", "PROBE2", "PROBE3"]
    checks.expect("turns since the trim stay when it is undone", world.received == expected)
    checks.expect("the thread kept its id", again.session.id == session.id)


async def rewind(world: CodexWorld, checks: Checks) -> None:
    """A rewind is a cut, and its undo appends what was cut off."""
    session, rows = await world.turns(3)
    cut = await world.provider.sync_session(session, history(rows[0]), world.options())
    checks.expect("a rewind cuts", cut.by == "cut", cut.by)
    undone = await world.provider.sync_session(cut.session, history(*rows), world.options())
    checks.expect("its undo injects", undone.by == "inject", undone.by)
    await world.probe(undone.session)
    expected = ["TURN1", "TURN2", "TURN3", "PROBE0"]
    checks.expect("all turns are back", world.received == expected, world.received)


async def turns_listed(world: CodexWorld, checks: Checks) -> None:
    """Injected items are not in Codex's list of turns; a row at rest leaves all turns listed."""
    session, rows = await world.turns(3)
    await world.provider.close()
    before = world.files()
    at_rest = await world.provider.sync_session(session, history(rows[2]), world.options())
    checks.expect("a trim at rest appends a boundary", at_rest.by == "boundary", at_rest.by)
    grown = all(path.read_bytes().startswith(content) for path, content in before.items())
    checks.expect("the former content is a prefix", grown)
    with Codex(world.home) as codex:
        codex.call("thread/resume", threadId=session.id)
        listed = codex.call("thread/read", threadId=session.id, includeTurns=True)
    turns = listed["thread"]["turns"]
    checks.expect("all turns stay listed after a trim at rest", len(turns) == 3, len(turns))
    await world.probe(at_rest.session)
    checks.expect("one turn is sent", world.received == ["TURN3", "PROBE0"], world.received)


async def at_rest(world: CodexWorld, checks: Checks) -> None:
    """A thread at rest: any subset, a summary, an undo, in place."""
    session, rows = await world.turns(4)
    await world.probe(session)
    whole, front = world.items[:-1], world.all_items[:3]
    await world.provider.close()
    options = world.options()
    subset = history(rows[0], rows[3], front=("SUMMARY of the rest",))
    synced = await world.provider.sync_session(session, subset, options)
    checks.expect("it keeps its id", synced.session.id == session.id)
    end = await world.probe(synced.session, 1)
    expected = ["SUMMARY", "TURN1", "TURN4", "PROBE1"]
    checks.expect("summary and subset are sent", world.received == expected, world.received)
    checks.expect("the beginning of the request is the same", world.all_items[:3] == front)
    checks.expect("nothing differed", end.difference == "", end.difference)
    await world.provider.close()
    undone = await world.provider.sync_session(synced.session, history(*rows), options)
    ran = world.home.run("codex", "exec", *_ANYWHERE, "resume", session.id, "PROBE2 [[say: p]]")
    checks.expect("`codex exec resume` goes on", ran.returncode == 0, ran.stderr)
    checks.expect("undo restores the identical history", world.items[: len(whole)] == whole)
    checks.expect("in the same thread", undone.session.id == session.id)


async def legacy(world: CodexWorld, checks: Checks) -> None:
    """A rollout that an older version wrote has no numbers and cannot be reverted."""
    session, _ = await world.turns(2)
    await world.provider.close()
    path = current_file(world.home.codex, session.id)
    if path is None:
        raise ProofError("the thread has no file")
    other = "01a1e0e5-0000-7000-8000-000000000001"
    _write_legacy(path.read_bytes(), path.with_name(path.name.replace(session.id, other)), other)
    old = ProgramSession("codex", other)
    await world.probe(old)
    checks.expect("it is opened", world.received == ["TURN1", "TURN2", "PROBE0"], world.received)
    end = await world.provider.sync_session(old, history(None), world.options())
    checks.expect("a running one is changed by a row", end.by == "boundary", end.by)
    await world.probe(end.session, 1)
    checks.expect("it has the history", world.received == ["NEUTRAL0", "PROBE1"], world.received)


def _write_legacy(content: bytes, path: os.PathLike[str], thread: str) -> None:
    rows = [msgspec.json.decode(line) for line in content.splitlines()]
    with open(path, "wb") as file:
        for row in rows:
            if row["type"] not in ("session_meta", "response_item"):
                continue
            row.pop("ordinal")
            if row["type"] == "session_meta":
                kept = ("timestamp", "cwd", "originator", "source", "model_provider")
                about = {name: row["payload"][name] for name in kept}
                row["payload"] = {**about, "id": thread, "cli_version": "0.40.0"}
            file.write(msgspec.json.encode(row) + b"\n")


async def open_turn(world: CodexWorld, checks: Checks) -> None:
    """Codex accepts a change in the middle of a turn and loses the turn; we refuse it."""
    session, rows = await world.turns(2)
    sent = len(world.model.requests)
    turn = asyncio.create_task(world.ask(session, "TURN3 [[sleep: 2]] [[say: late]]", "a:3"))
    await _until(lambda: len(world.model.requests) > sent)
    refused = ""
    try:
        await world.provider.sync_session(session, history(rows[1]), world.options())
    except SessionBusy as busy:
        refused = str(busy)
    checks.expect("a change in the middle of a turn is refused", "working on a turn" in refused)
    _, end = await turn
    checks.expect("the turn ends as if nothing had been", end.status == "completed", end)
    await world.probe(session)
    expected = ["TURN1", "TURN2", "TURN3", "PROBE0"]
    checks.expect("it is in the history", world.received == expected, world.received)


async def orphans(world: CodexWorld, checks: Checks) -> None:
    """A result without its call is dropped, and an open call gets a result: send whole turns."""
    environ = {**os.environ, **world.home.environ}
    server = await AppServer.start(
        str(world.home.root / "bin" / "codex"), str(world.home.project), environ
    )
    try:
        opened = await server.call("thread/start", cwd=str(world.home.project))
        thread = opened["thread"]["id"]
        output = {"type": "function_call_output", "call_id": "gone", "output": "ORPHAN"}
        call = {"type": "function_call", "call_id": "open", "name": "exec_command"}
        items = [output, {**call, "arguments": "{}"}]
        await server.call("thread/inject_items", threadId=thread, items=items)
        given = [{"type": "text", "text": "PROBE [[say: p]]"}]
        sent = len(world.model.requests)
        await server.call("turn/start", threadId=thread, input=given)
        await _until(lambda: len(world.model.requests) > sent)
        outputs = [item for item in world.items if item["type"] == "function_call_output"]
        checks.expect("an orphan is dropped", "ORPHAN" not in str(world.items))
        checks.expect("an open call gets 'aborted'", "aborted" in str(outputs), outputs)
        gone = ""
        try:
            await server.call("thread/rollback", threadId=thread, numTurns=1)
        except CodexRefused as error:
            gone = str(error)
        checks.expect("`thread/rollback` is gone", "unknown variant" in gone, gone)
    finally:
        await server.kill()


async def fork(world: CodexWorld, checks: Checks) -> None:
    """A fork is a thread of its own that lists its turns; the parent stays as it is."""
    session, rows = await world.turns(3)
    before = world.files()
    synced = await world.provider.sync_session(None, history(*rows[:2]), world.options())
    checks.expect("a fork is a new thread", synced.session.id != session.id)
    await world.probe(synced.session)
    checks.expect("it ends there", world.received == ["TURN1", "TURN2", "PROBE0"], world.received)
    same = all(path.read_bytes() == content for path, content in before.items())
    checks.expect("the parent's file is the same", same)
    await world.provider.close(synced.session)
    with Codex(world.home) as codex:
        codex.call("thread/resume", threadId=synced.session.id)
        read = codex.call("thread/read", threadId=synced.session.id, includeTurns=True)
    checks.expect("Codex lists its turns", len(read["thread"]["turns"]) == 3)
    await world.probe(session, 1)
    expected = ["TURN1", "TURN2", "TURN3", "PROBE1"]
    checks.expect("the parent goes on alone", world.received == expected, world.received)
    part = await world.provider.sync_session(None, history(rows[1], None), world.options())
    await world.probe(part.session, 2)
    expected = ["TURN2", "NEUTRAL1", "PROBE2"]
    checks.expect("a part of it is injected", world.received == expected, world.received)


async def permissions(world: CodexWorld, checks: Checks) -> None:
    """A command is asked for; a refusal reaches the model; edits are accepted in their mode."""
    session = await world.provider.start(world.options("ask"))
    command = '[[tool: exec_command {"cmd":"touch made"}]] [[say: A]]'
    events, _ = await world.ask(session, f"TURN1 {command}", "a:1")
    asked = [event for event in events if isinstance(event, ProviderQuestion)]
    kinds = [type(event) for event in events if not isinstance(event, Delta)]
    order = [ProviderReply, ProviderQuestion, ProviderResult, ProviderReply]
    checks.expect("it is asked between call and result", kinds == order, kinds)
    checks.expect("with the command", [each.subject for each in asked] == ["touch made"])
    checks.expect("allowed, it runs", (world.home.project / "made").exists(), events)
    command = command.replace("made", "never")
    await world.ask(session, f"TURN2 {command}", "a:2", allow=False)
    checks.expect("refused, it does not", not (world.home.project / "never").exists())
    checks.expect("the model is told", "rejected" in str(world.items[-1]), world.items[-1])
    session = await world.provider.start(world.options("accept-edits"), session)
    events, _ = await world.ask(session, f"TURN3 {_PATCH} [[say: A]]", "a:3")
    questions = [event for event in events if isinstance(event, ProviderQuestion)]
    checks.expect("an edit is accepted", (world.home.project / "new.txt").exists())
    checks.expect("without a question", not questions, questions)
    diffs = [event.diff for event in events if isinstance(event, ProviderResult)]
    checks.expect("its diff is told", any("hello" in diff for diff in diffs), diffs)
    session = await world.provider.start(world.options("read-only"), session)
    await world.ask(session, f"TURN4 {command}", "a:4")
    checks.expect("read-only writes nothing", not (world.home.project / "never").exists())


_PATCH = (
    '[[tool: exec_command {"cmd":"apply_patch <<\'EOF\'\\n*** Begin Patch\\n'
    '*** Add File: new.txt\\n+hello\\n*** End Patch\\nEOF"}]]'
)


async def interrupted(world: CodexWorld, checks: Checks) -> None:
    """An interrupted turn has rows, and is part of the history."""
    session, rows = await world.turns(1)
    script = 'TURN2 [[tool: exec_command {"cmd":"sleep 30"}]] [[say: late]]'
    turn = asyncio.create_task(world.ask(session, script, "a:2"))
    path = current_file(world.home.codex, session.id)
    if path is None:
        raise ProofError("the thread has no file")
    await _until(lambda: b"sleep 30" in path.read_bytes() and b'"call_id"' in path.read_bytes())
    started = time.monotonic()
    await world.provider.interrupt(session)
    _, end = await turn
    checks.expect("it ends at once", time.monotonic() - started < 5)
    checks.expect("as interrupted, with rows", end.status == "interrupted" and end.rows, end)
    same = await world.provider.sync_session(session, history(rows[0], end.rows), world.options())
    checks.expect("its history is what the rows say", same.by == "nothing", same.by)
    cut = await world.provider.sync_session(session, history(rows[0]), world.options())
    undone = await world.provider.sync_session(
        cut.session, history(rows[0], end.rows), world.options()
    )
    await world.probe(undone.session)
    expected = ["TURN1", "TURN2", "PROBE0"]
    checks.expect("it can be cut off and brought back", world.received == expected)


async def killed(world: CodexWorld, checks: Checks) -> None:
    """Codex is killed in the middle of a turn: the turn is not doubled when it is sent again."""
    session, _ = await world.turns(1)
    sent = len(world.model.requests)
    script = 'TURN2 [[tool: exec_command {"cmd":"echo two"}]] [[sleep: 30]] [[say: late]]'
    turn = asyncio.create_task(world.ask(session, script, "a:2"))
    await _until(lambda: len(world.model.requests) > sent + 1)
    _kill_servers(world)
    failed = ""
    try:
        await turn
    except Failure as failure:
        failed = str(failure) if failure.again else ""
    checks.expect("the turn fails and may be sent again", failed, failed)
    world.provider = world.new_provider()
    session = await world.provider.start(world.options(), session)
    events, end = await world.ask(session, script, "a:2")
    checks.expect("sent again, it is told as it was", end.status == "interrupted", end)
    results = [event for event in events if isinstance(event, ProviderResult)]
    checks.expect("with its result", len(results) == 1, events)
    await world.probe(session)
    expected = ["TURN1", "TURN2", "PROBE0"]
    checks.expect("it is there once", world.received == expected, world.received)


def _kill_servers(world: CodexWorld) -> None:
    """Kills every Codex of this home, by its process id."""
    name = str(world.home.root)
    for folder in os.listdir("/proc"):
        if not folder.isdigit():
            continue
        try:
            with open(f"/proc/{folder}/environ", "rb") as file:
                environ = file.read()
            with open(f"/proc/{folder}/cmdline", "rb") as file:
                command = file.read()
        except OSError:
            continue
        if name.encode() in environ and b"app-server" in command:
            os.kill(int(folder), signal.SIGKILL)


async def two_writers(world: CodexWorld, checks: Checks) -> None:
    """A thread that another process has open is left alone, and ours is left alone by others."""
    session, rows = await world.turns(2)
    other = world.new_provider()
    before = world.files()
    refused = 0
    for act in (
        other.require_at_rest(session),
        other.sync_session(session, history(rows[1]), world.options()),
    ):
        try:
            await act
        except SessionBusy:
            refused += 1
    checks.expect("an open thread is not changed by others", refused == 2, refused)
    checks.expect("its file is the same", world.files() == before)
    ran = world.home.run("codex", "exec", *_ANYWHERE, "resume", session.id, "PROBE9 [[say: p]]")
    refusal = "active writer" in ran.stderr
    checks.expect("Codex itself refuses a second writer", refusal, ran.stderr)
    await world.provider.close()
    await other.require_at_rest(session)
    synced = await other.sync_session(session, history(rows[1]), world.options())
    checks.expect("at rest it is changed", synced.by == "boundary", synced.by)


async def torn_row(world: CodexWorld, checks: Checks) -> None:
    """A row that was cut off by a crash stays; what is appended begins on a line of its own."""
    session, rows = await world.turns(2)
    await world.provider.close()
    path = current_file(world.home.codex, session.id)
    if path is None:
        raise ProofError("the thread has no file")
    with path.open("ab") as file:
        file.write(b'{"timestamp":"2026-11-15T20:00:00.000Z","type":"respon')
    before = path.read_bytes()
    synced = await world.provider.sync_session(session, history(rows[1]), world.options())
    checks.expect("the former content is a prefix", path.read_bytes().startswith(before))
    await world.probe(synced.session)
    checks.expect("Codex opens it", world.received == ["TURN2", "PROBE0"], world.received)


async def own_compaction(world: CodexWorld, checks: Checks) -> None:
    """Codex's own compaction is read, and can be taken back."""
    session, rows = await world.turns(2)
    await world.provider.close()
    with Codex(world.home) as codex:
        codex.call("thread/resume", threadId=session.id)
        codex.compact(session.id)
    path = current_file(world.home.codex, session.id)
    if path is None:
        raise ProofError("the thread has no file")
    found = RolloutReader(world.home.codex).read(path)
    checks.expect("its compaction is read", len(found.epochs) == 2, len(found.epochs))
    session = await world.provider.start(world.options(), session)
    synced = await world.provider.sync_session(session, history(*rows), world.options())
    await world.probe(synced.session)
    expected = ["TURN1", "TURN2", "PROBE0"]
    checks.expect("all turns come back", world.received == expected, world.received)


async def failed_probe(world: CodexWorld, checks: Checks) -> None:
    """A program that failed the probe: the thread is left alone, and a new one gets the history."""
    session, rows = await world.turns(2)
    before = world.files()
    fail_probe(world.home, "codex")
    try:
        synced = await world.provider.sync_session(session, history(rows[1]), world.options())
    finally:
        forget_proofs(world.home)
    checks.expect("a new session is written", synced.by == "new_session", synced.by)
    checks.expect("and that is said", "not changed in place" in synced.loss, synced.loss)
    same = all(path.read_bytes() == content for path, content in before.items())
    checks.expect("the old one stays as it is", same)
    await world.probe(synced.session)
    checks.expect("it has the history", world.received == ["TURN2", "PROBE0"], world.received)


async def other_program(world: CodexWorld, checks: Checks) -> None:
    """A conversation of another program goes on in Codex, and its own turns join in."""
    synced = await world.provider.sync_session(None, history(None, None), world.options())
    end = await world.probe(synced.session)
    expected = ["NEUTRAL0", "NEUTRAL1", "PROBE0"]
    checks.expect("its turns are sent", world.received == expected, world.received)
    checks.expect("nothing differed", end.difference == "", end.difference)
    await world.provider.close()
    back = await world.provider.sync_session(
        synced.session, history(None, None, end.rows), world.options()
    )
    checks.expect("the same history needs no change", back.by == "nothing", back.by)


async def _until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise ProofError("what was waited for did not happen")
        await asyncio.sleep(0.02)


Trap = Callable[[CodexWorld, Checks], Awaitable[None]]
TRAPS: dict[str, Trap] = {
    each.__name__: each
    for each in (
        live_trim,
        live_undo,
        rewind,
        turns_listed,
        at_rest,
        legacy,
        open_turn,
        orphans,
        fork,
        permissions,
        interrupted,
        killed,
        two_writers,
        torn_row,
        own_compaction,
        failed_probe,
        other_program,
    )
}


async def run_traps(checks: Checks, names: list[str]) -> None:
    """Tries traps, each in a home of its own."""
    for name in names or TRAPS:
        print(f"\n{name}: {TRAPS[name].__doc__}", flush=True)
        async with codex_world() as world:
            try:
                await TRAPS[name](world, checks)
            except (Failure, SessionBusy, ProofError, CodexRefused) as error:
                checks.expect(f"{name} runs to its end", False, f"{type(error).__name__}: {error}")
            checks.expect("the model refused nothing", not world.model.rejections)


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if a check failed."""
    try:
        find_programs()
        enter_namespace(arguments, "proofs.providers_e2e.codex_traps")
    except ProofError as error:
        print(f"codex-traps: {error}", file=sys.stderr)
        return 1
    checks, started = Checks(), time.monotonic()
    checks.expect("no way leads out of here", not reaches_outside())
    asyncio.run(run_traps(checks, arguments))
    seconds = time.monotonic() - started
    total = checks.passed + checks.failed
    print(f"codex-traps: {checks.passed} of {total} passed in {seconds:.0f} s")
    return int(checks.failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
