"""A process that waits until a session is closed, and then brings it to what was asked for.

Usually the hook at the end of a session does that. A program may run no hooks: Codex runs none that
the user has not reviewed, and without the plugin there are none. A session that is closed already,
or whose program was killed, calls none either. Then the command that was given with `--later`
starts this process. It ends when the session follows, or after a day; the next command on the
session does the same.

A person may open the session again before the change was made. Its program has read the old history
then, so the hook at its start says what to do.
"""

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.context_actions.hook_memory import HookMemory, hook_memory_folder
from sapwood.hooks.watched_session import start_process

if TYPE_CHECKING:
    from sapwood.app.connection import Connection
    from sapwood.conversation.late_changes import LateChange
    from sapwood.conversation.session_changes import SessionChanges
    from sapwood.core.ids import AgentId


_SECONDS = 86_400.0
_PAUSE = 0.5
_PAUSE_AFTER_FAILURE = 60.0


async def watch_if_needed(
    connection: "Connection", agent: "AgentId", environ: Mapping[str, str]
) -> bool:
    """Remembers that the session of an agent lags behind, if it does.

    Starts the process unless a hook will run at the end of the session; returns whether it was
    started.
    """
    from sapwood.app.conversation_service import LazySessionChanges

    held = (await connection.dispatcher.open(agent)).state.session
    changes = LazySessionChanges(connection).changes
    if held is None or not await changes.is_behind(agent):
        return False
    memory = HookMemory(hook_memory_folder(), held.session.id)
    memory.put("waiting", agent)
    if _has_end_hook(memory, held.session.program) and await _is_open(changes, agent):
        return False
    start_process([agent, held.session.id], environ, "sapwood.hooks.session_watcher")
    return True


def _has_end_hook(memory: HookMemory, program: str) -> bool:
    """Whether a hook will run at the end of the session: one ran there, and it has not ended."""
    from sapwood.programs.installation.installer import read_record

    if not memory.get("transcript") or memory.number("ended"):
        return False
    return read_record(program) is not None


async def _is_open(changes: "SessionChanges", agent: "AgentId") -> bool:
    """Whether a program has the session open. One that was killed ran no hook at its end."""
    from sapwood.core.errors import RefusedError
    from sapwood.core.refusals import SessionInUse

    try:
        await changes.prepare(agent)
    except RefusedError as refused:
        return isinstance(refused.refusal, SessionInUse)
    return False


def record_late_change(change: "LateChange") -> None:
    """Remembers, and writes into the journal, what became of a change that had to wait.

    A change that may still be made stays remembered as waiting.
    """
    from sapwood.journal import add_to_journal

    if not change.problem:
        record_change(change.session)
        return
    memory = HookMemory(hook_memory_folder(), change.session)
    if change.new_session:
        memory.forget("waiting")
        memory.put("continued", change.new_session)
    add_to_journal("failed", change.problem, session=change.session)


def record_change(session: str) -> None:
    """Remembers, and writes into the journal, that a session has what was requested in it."""
    from sapwood.journal import add_to_journal

    memory = HookMemory(hook_memory_folder(), session)
    memory.forget("waiting")
    memory.put("changed", int(time.time() * 1_000))
    message = "The session now has the history that you requested there."
    add_to_journal("changed", message, session=session)


async def is_behind(agent: str, environ: Mapping[str, str]) -> bool:
    """Whether the session of an agent does not have the history that was requested."""
    from sapwood.app.connection import connect
    from sapwood.app.conversation_service import LazySessionChanges
    from sapwood.config.config_file import load_config
    from sapwood.core.ids import AgentId

    config = load_config(environ)
    connection = await connect(config.address, config.space)
    try:
        return await LazySessionChanges(connection).changes.is_behind(AgentId(agent))
    finally:
        await connection.close()


def main(agent: str, session: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Waits for the end of the session. Returns whether it was changed then.

    One process waits for a session; another one that is started meanwhile ends at once.
    """
    from sapwood.journal import add_to_journal
    from sapwood.private_files import release_lock, try_lock

    folder = Path(HookMemory(hook_memory_folder(), session).folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = try_lock(folder / "watcher.lock")
    if lock is None:
        return False
    try:
        return asyncio.run(_watch(agent, environ))
    except Exception as error:
        message = f"Stopped waiting for the session: {type(error).__name__}: {error}"
        add_to_journal("failed", message, session=session)
        return False
    finally:
        release_lock(lock)


async def _watch(agent: str, environ: Mapping[str, str]) -> bool:
    from sapwood.app.connection import connect
    from sapwood.app.conversation_service import LazySessionChanges
    from sapwood.config.config_file import load_config
    from sapwood.conversation.late_changes import sync_when_closed
    from sapwood.core.ids import AgentId

    told: str | None = None
    config, until = load_config(environ), time.monotonic() + _SECONDS
    connection = await connect(config.address, config.space)
    try:
        changes = LazySessionChanges(connection).changes
        while time.monotonic() < until and await changes.is_behind(AgentId(agent)):
            made = await sync_when_closed(changes, AgentId(agent), attempts=1, seconds=0)
            if made is None:
                await asyncio.sleep(_PAUSE)
                continue
            if made.problem != told:  # the same failure is reported once
                record_late_change(made)
                told = made.problem
            if not made.again:
                return not made.problem
            await asyncio.sleep(_PAUSE_AFTER_FAILURE)
        return False
    finally:
        await connection.close()


if __name__ == "__main__":
    own_agent, own_session = sys.argv[1:]
    main(own_agent, own_session)
