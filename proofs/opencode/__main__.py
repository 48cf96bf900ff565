"""Every act and every trap on real sessions of opencode, checked by the requests.

`python -m proofs.opencode --kills 10` also kills the adapter's server and the adapter itself at
random moments around changes, and fails if a message is lost.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

from proofs.agents_e2e.environment import ProofError
from proofs.agents_e2e.namespace import enter_namespace, reaches_outside
from proofs.opencode.command_story import CommandStory
from proofs.opencode.environment import VERSION, find_opencode
from proofs.opencode.world import OpencodeWorld, history, opencode_world
from proofs.providers_e2e.act_checks import ActChecks
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.programs.agent_provider import (
    History,
    ProviderQuestion,
    ProviderReply,
    ProviderResult,
    SessionBusy,
)
from sapwood.programs.opencode.session_database import NAME, events_of
from sapwood.programs.opencode.session_log import read_log
from sapwood.programs.transcripts.session_reader import read_session


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="python -m proofs.opencode", description=__doc__)
    parser.add_argument("--kills", type=int, default=0, help="only this many kills, and no acts")
    parser.add_argument("--commands", action="store_true", help="only the commands, at rest")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        find_opencode()
        enter_namespace(arguments, "proofs.opencode")
    except ProofError as error:
        print(f"opencode: {error}", file=sys.stderr)
        return 1
    checks, started = ActChecks(), time.monotonic()
    checks.begin("opencode", "Every act and every trap that was found")
    checks.expect("no way leads out of here", not reaches_outside())
    if options.kills:
        asyncio.run(_kills(checks, options.kills, options.seed))
    else:
        asyncio.run(_commands(checks) if options.commands else run_traps(checks, []))
    total = checks.passed + checks.failed
    seconds = time.monotonic() - started
    print(f"opencode {VERSION}: {checks.passed} of {total} passed in {seconds:.0f} s")
    return int(checks.failed > 0)


async def _commands(checks: ActChecks) -> None:
    async with opencode_world() as world:
        await CommandStory(world, checks).run()


async def run_traps(checks: ActChecks, names: list[str]) -> None:
    """Tries every act and every trap; there are no `names` to choose some of them."""
    async with opencode_world() as world:
        info = await asyncio.to_thread(world.provider.prove)
        proved = info is not None and info.in_place
        checks.expect("the probe proves this version", proved, info.reason if info else "")
        session, rows = await world.turns(4)
        await _changes(world, checks, session, rows)
        await _own_compaction(world, checks)
        await _questions(world, checks)
        await _busy(world, checks)
        await _resume(world, checks)
        await CommandStory(world, checks).run()
        checks.expect("the model refused nothing", not world.model.rejections)


async def _changes(
    world: OpencodeWorld, checks: ActChecks, session: ProgramSession, rows: list[NativeRows]
) -> None:
    async def act(name: str, wanted: History, *expected: str) -> NativeRows | None:
        number = len(world.model.requests)
        synced = await world.provider.sync_session(session, wanted, world.options())
        checks.expect(f"{name}: the same session", synced.session.id == session.id)
        checks.expect(f"{name}: no difference", not synced.difference, synced.difference)
        end = await world.probe(session, number)
        received = world.received
        checks.expect(f"{name}: the request", received == [*expected, f"PROBE{number}"], received)
        return end.rows

    await act("trim", history(rows[1], rows[3]), "TURN2", "TURN4")
    await act("undo", history(*rows), "TURN1", "TURN2", "TURN3", "TURN4")
    await act("rewind", history(*rows[:2]), "TURN1", "TURN2")
    await act("summary", history(*rows[2:], front=("SUMMARY1",)), "SUMMARY1", "TURN3", "TURN4")
    await act("clear", history(front=("SUMMARY2",)), "SUMMARY2")
    await act("turns of others", history(rows[0], None, rows[3]), "TURN1", "NEUTRAL1", "TURN4")
    await world.provider.close(session)
    await act("undo at rest", history(*rows), "TURN1", "TURN2", "TURN3", "TURN4")
    before = read_log(world.root / ".local/share/opencode", session.id).in_view
    fork = await world.provider.sync_session(None, history(*rows[:2]), world.options())
    await world.probe(fork.session, 99)
    checks.expect("fork: the request", world.received == ["TURN1", "TURN2", "PROBE99"])
    after = read_log(world.root / ".local/share/opencode", session.id).in_view
    same = [each.id for each in before] == [each.id for each in after]
    checks.expect("fork: the source is unchanged", same)
    tools = [each for each in world.messages if each["role"] == "tool"]
    checks.expect("fork: with the tool results", [t["content"] for t in tools] == ["1\n", "2\n"])


async def _own_compaction(world: OpencodeWorld, checks: ActChecks) -> None:
    session, rows = await world.turns(2)
    live = world.provider._live[session.id]  # pyright: ignore[reportPrivateUsage]
    body = {"providerID": "scripted", "modelID": "m1"}
    await live.server.call("POST", f"/session/{session.id}/summarize", body)
    found = read_session(Path(session.path))
    checks.expect("its own compaction is read", len(found.boundaries) == 1)
    await world.probe(session, 1)
    checks.expect("after it the turns are gone", "TURN1" not in world.received, world.received)
    await world.provider.sync_session(session, history(*rows), world.options())
    await world.probe(session, 2)
    checks.expect("undone", world.received == ["TURN1", "TURN2", "PROBE2"], world.received)


async def _questions(world: OpencodeWorld, checks: ActChecks) -> None:
    session = await world.provider.start(world.options("ask"))
    command = json.dumps({"command": "touch asked.txt", "description": "try"})
    events, _ = await world.ask(session, f"TURN1 [[tool: bash {command}]] [[say: A]]", "q:1")
    kinds = [type(each) for each in events]
    asked = [each for each in events if isinstance(each, ProviderQuestion)]
    subjects = [each.subject for each in asked]
    checks.expect("a command is asked about", subjects == ["touch asked.txt"], subjects)
    in_order = kinds.index(ProviderReply) < kinds.index(ProviderQuestion)
    checks.expect("its call comes before the question", in_order, kinds)
    checks.expect("then its result", ProviderResult in kinds[kinds.index(ProviderQuestion) :])
    checks.expect("it ran", (world.root / "project/asked.txt").exists())
    denied = json.dumps({"command": "touch denied.txt", "description": "try"})
    prompt = f"TURN2 [[tool: bash {denied}]] [[say: A]]"
    await world.ask(session, prompt, "q:2", allow=False)
    checks.expect("a denied one does not run", not (world.root / "project/denied.txt").exists())
    sent = len(world.model.requests)
    repeated, _ = await world.ask(session, prompt, "q:2", allow=False)
    checks.expect("a turn is not sent twice", len(world.model.requests) == sent)
    checks.expect("its events come again", any(isinstance(e, ProviderReply) for e in repeated))
    await world.provider.close(session)


async def _busy(world: OpencodeWorld, checks: ActChecks) -> None:
    session, rows = await world.turns(1)
    running = asyncio.create_task(world.ask(session, "TURN2 [[sleep: 60]] [[say: A]]", "b:2"))
    await _until(lambda: "TURN2" in str(world.model.requests[-1].body))
    other = world.new_provider()
    for name, provider in (("here", world.provider), ("elsewhere", other)):
        try:
            await provider.sync_session(session, history(), world.options())
            refused = False
        except SessionBusy:
            refused = True
        checks.expect(f"no change during a turn, asked {name}", refused)
    await world.provider.interrupt(session)
    _, end = await running
    checks.expect("the turn is interrupted", end.status == "interrupted", end)
    await world.provider.sync_session(session, history(rows[0]), world.options())
    await world.probe(session, 5)
    checks.expect("then it is changed", world.received == ["TURN1", "PROBE5"], world.received)
    await other.close()


async def _resume(world: OpencodeWorld, checks: ActChecks) -> None:
    """A person goes on in opencode itself, which must have what Sapwood left there."""
    session, rows = await world.turns(3)
    await world.provider.sync_session(session, history(rows[0], rows[2]), world.options())
    await world.provider.close(session)
    process = await asyncio.create_subprocess_exec(
        *(f"{world.root}/bin/opencode", "run", "--session", session.id, "PROBE8 [[say: p]]"),
        cwd=world.root / "project",
        env=world.environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    async with asyncio.timeout(120):
        await process.wait()
    checks.expect("resumed", world.received == ["TURN1", "TURN3", "PROBE8"], world.received)


async def _until(is_true: Callable[[], bool], seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > until:
            raise ProofError("it did not happen in time")
        await asyncio.sleep(0.05)


async def _kills(checks: ActChecks, count: int, seed: int) -> None:
    """Kills the server, or a process that changes the session, at random moments."""
    chance = random.Random(seed)
    async with opencode_world() as world:
        await asyncio.to_thread(world.provider.prove)
        session, rows = await world.turns(4)
        home = world.root / ".local/share/opencode"
        wanted = (
            history(rows[1], rows[3]),
            history(*rows),
            history(*rows[2:], front=("SUMMARY1",)),
            history(rows[0]),
        )
        texts = {each.id: each.text for each in read_log(home, session.id).known.values()}
        for number in range(count):
            act: Awaitable[object]
            child = os.fork() if number % 2 else -1
            if child == 0:  # the adapter itself, as another process has it
                asyncio.run(_change(world, session, wanted[number % 4]))
                os._exit(0)
            if child > 0:
                await asyncio.sleep(chance.uniform(0.5, 4.0))
                os.kill(child, signal.SIGKILL)
                await asyncio.to_thread(os.waitpid, child, 0)
                _kill_opencode(home)
            else:
                await world.provider.start(world.options(), session)
                server = world.provider._live[session.id].server  # pyright: ignore[reportPrivateUsage]
                act = world.provider.sync_session(session, wanted[number % 4], world.options())
                task = asyncio.ensure_future(act)
                await asyncio.sleep(chance.uniform(0.0, 0.25))
                os.killpg(server.pid, signal.SIGKILL)
                await asyncio.gather(task, return_exceptions=True)
                await world.provider.close(session)
            log = read_log(home, session.id)
            found = {name: log.known[name].text for name in texts if name in log.known}
            checks.expect(f"kill {number}: no message is lost", found == texts)
            logged = {name for name in texts if name in _logged(home, session.id)}
            checks.expect(f"kill {number}: all are in its own log", logged == set(texts))
            with closing(sqlite3.connect(home / NAME)) as base:
                whole = base.execute("PRAGMA integrity_check").fetchone()[0]
            checks.expect(f"kill {number}: the database is whole", whole == "ok", whole)
        synced = await world.provider.sync_session(session, history(*rows), world.options())
        checks.expect("afterwards all come back", not synced.difference, synced.difference)
        await world.probe(session, 77)
        expected = ["TURN1", "TURN2", "TURN3", "TURN4", "PROBE77"]
        checks.expect("by the request", world.received == expected, world.received)


async def _change(world: OpencodeWorld, session: ProgramSession, wanted: History) -> None:
    await world.new_provider().sync_session(session, wanted, world.options())


def _logged(home: Path, session: str) -> str:
    return b"".join(each.data for each in events_of(home / NAME, session)).decode()


def _kill_opencode(home: Path) -> None:
    """Ends servers whose client was killed; they are found by the database that they have open."""
    from sapwood.programs.opencode.session_database import processes_with

    for process in processes_with(home / NAME) - {os.getpid()}:
        os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
