"""The background process of a hook: prepares answers, completes archives, imports the session and
has it judged.

Hooks start it with `WatchedSession.start_background_work` and do not wait for it.
"""

import asyncio
import fcntl
import os
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.context_actions.hook_memory import forget_old, hook_memory_folder
from sapwood.core.plural import counted
from sapwood.hooks.hook_archives import complete_archives
from sapwood.hooks.prepared_context import prepare
from sapwood.hooks.watched_session import LAST_REPLY_BYTES, WatchedSession
from sapwood.journal import add_to_journal

if TYPE_CHECKING:
    from sapwood.config.config_file import Config
    from sapwood.core.token_count import Counter
    from sapwood.turns.open_agent import OpenAgent

if TYPE_CHECKING:
    from sapwood.config.config_file import Config
    from sapwood.context_actions.session_judge import JudgeOutcome


TURNS_BETWEEN = 20
"""New turns after which a session is judged again."""


def count_turns(watched: WatchedSession, new_turns: int) -> None:
    """Remembers how many turns came since the session was last judged."""
    if new_turns:
        watched.memory.put("unjudged", watched.memory.number("unjudged") + new_turns)


def judge_if_due(watched: WatchedSession, environ: Mapping[str, str]) -> bool:
    """Has the configured judge judge the session if it is due. Returns whether it said something.

    Without a judge nothing happens.
    """
    from sapwood.config.config_file import load_config

    config, memory = load_config(environ), watched.memory
    if config.tending.judge in ("", "off"):
        return False
    if memory.number("unjudged") < (1 if memory.number("ended") else TURNS_BETWEEN):
        return False
    memory.put("unjudged", 0)  # a judge that fails is asked again after as many turns
    return _judge(watched, config, environ)


def _judge(watched: WatchedSession, config: "Config", environ: Mapping[str, str]) -> bool:
    from sapwood.core.errors import SapwoodError
    from sapwood.core.model_calls import Failure

    about = {"session": watched.session, "folder": watched.folder}
    judge = config.tending.judge
    try:
        outcome = asyncio.run(_outcome(watched, config, environ))
    except (Failure, SapwoodError, OSError) as error:
        message = (
            f"{judge} could not judge the session: {error} The results of the rules are unchanged."
        )
        add_to_journal("failed", message, **about)
        return False
    if outcome.result != "nothing":
        kind = "judged" if outcome.result == "judged" else "failed"
        add_to_journal(kind, outcome.describe(judge), **about)
    return outcome.result == "judged"


async def _outcome(
    watched: WatchedSession, config: "Config", environ: Mapping[str, str]
) -> "JudgeOutcome":
    from msgspec import structs

    from sapwood.app.connection import connect
    from sapwood.app.judges import ask_judge
    from sapwood.config.api_keys import load_keys
    from sapwood.context_actions.session_judge import JudgeReply, SessionJudge
    from sapwood.programs.transcripts.session_reader import read_session

    keys = load_keys(environ)

    async def ask(prompt: str) -> JudgeReply:
        return await ask_judge(config, prompt, keys, environ)

    found = await asyncio.to_thread(read_session, Path(watched.path))
    folder = found.folder or watched.folder
    session = structs.replace(found, id=watched.session or found.id, folder=folder)
    return await SessionJudge(config, connect, ask).judge(session, tuple(keys.values()))


_MEMORY_SECONDS = 30 * 86_400.0
"""How long hooks remember a session."""
_DATABASE_SECONDS = 5.0
_LOOKS, _LOOK_SECONDS = 40, 0.5
"""How often, and how many seconds apart, is looked whether a session that ends is closed."""


def main(path: str, session: str, folder: str, environ: Mapping[str, str] = os.environ) -> None:
    """Does all the work for one session. An error becomes a journal entry."""
    watched = WatchedSession(path, session, folder)
    try:
        with single_flight(watched.memory.folder, "prepare") as may_run:
            if may_run:
                watched.wait_for_last_message()
                prepare(watched, environ)
                complete_archives()
        _remember_window(watched)
        forget_old(hook_memory_folder(), time.time() - _MEMORY_SECONDS)
        with single_flight(watched.memory.folder, "import") as may_run:
            if may_run:
                count_turns(watched, _import_session(watched, environ))
        with single_flight(watched.memory.folder, "judge") as may_run:
            if may_run and judge_if_due(watched, environ):
                prepare(watched, environ)
    except Exception as error:
        message = f"Indexing stopped: {type(error).__name__}: {error}"
        add_to_journal("failed", message, session=session, folder=folder)


@contextmanager
def single_flight(folder: str, work: str) -> Generator[bool]:
    """Yields whether the caller may do this work; no other process does it meanwhile.

    One process works and one waits. A third gets False, because the waiting one will do its work.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    waiting = os.open(os.path.join(folder, f"{work}-waiting.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    working = os.open(os.path.join(folder, f"{work}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        may_run = try_lock(waiting)
        if may_run:
            fcntl.flock(working, fcntl.LOCK_EX)
            fcntl.flock(waiting, fcntl.LOCK_UN)
        yield may_run
    finally:
        os.close(working)
        os.close(waiting)


def try_lock(file: int) -> bool:
    """Locks an open file, unless another process has locked it. Returns whether it did."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remember_window(watched: WatchedSession) -> None:
    """Remembers the model's context window, for warnings in sessions without a status line."""
    if not watched.memory.number("window"):
        from sapwood.context_actions.session_finder import assumed_window

        session = watched.read(LAST_REPLY_BYTES)
        window = session.window or assumed_window(session)
        watched.memory.put("window", window or "")


def _import_session(watched: WatchedSession, environ: Mapping[str, str]) -> int:
    """Imports what is new in the session and its subagents, so that it can be searched.

    Returns the number of new turns.
    """
    from sapwood.config.config_file import load_config

    ended = bool(watched.memory.number("ended"))
    turns = asyncio.run(_import_turns(watched, load_config(environ), ended=ended))
    if turns:
        message = f"Imported {counted(turns, 'new turn')}."
        add_to_journal("indexed", message, session=watched.session, folder=watched.folder)
    return turns


async def _import_turns(watched: WatchedSession, config: "Config", *, ended: bool) -> int:
    """Imports the new turns and returns their number. If the session has `ended`, changes that
    were asked for while it was open are brought to it.
    """
    from sapwood.app.connection import connect
    from sapwood.app.conversation_service import LazySessionChanges
    from sapwood.config.config_file import prepare_folder
    from sapwood.conversation.late_changes import sync_when_closed
    from sapwood.conversation.session_changes import extend_private_copy
    from sapwood.hooks.session_watcher import record_late_change
    from sapwood.imports.importer import Importer, select_transcripts

    path = Path(watched.path)
    prepare_folder(config)
    connection = await connect(config.address, config.space, patience=_DATABASE_SECONDS)
    importer = Importer(connection)
    try:
        found = await asyncio.to_thread(select_transcripts, [path])
        results = [await importer.bring(each.path, each.source) for each in found]
        problem = next((each.problem for each in results if each.problem), "")
        if problem:
            add_to_journal("failed", f"Importing stopped: {problem}", session=path.stem)
        elif results:
            opened = await connection.dispatcher.open(results[0].agent)
            _remember_turns_that_matter(watched, opened)
            _remember_return_cost(watched, opened, connection.counter_for(""))
            await asyncio.to_thread(extend_private_copy, path, results[0].source)
        if ended and results and not problem:
            changes, agent = LazySessionChanges(connection).changes, results[0].agent
            made = await sync_when_closed(changes, agent, attempts=_LOOKS, seconds=_LOOK_SECONDS)
            if made is not None:
                record_late_change(made)
        return sum(each.turns for each in results)
    finally:
        await importer.close()
        await connection.close()


def _remember_turns_that_matter(watched: WatchedSession, opened: "OpenAgent") -> None:
    """Remembers their numbers, as `bring` takes them, for the notice after a compaction.

    A second line has the numbers of all turns in view.
    """
    from sapwood.analysis.compaction_warning import turns_that_matter
    from sapwood.analysis.ledger.ledger_builder import ledger_of

    turns = opened.live.turns
    if turns:
        ledger = ledger_of(turns, opened.state.workspace.folder)
        lists = turns_that_matter(ledger), [turn.number for turn in turns]
        watched.memory.put("matter", "\n".join(" ".join(map(str, each)) for each in lists))


def _remember_return_cost(watched: WatchedSession, opened: "OpenAgent", counter: "Counter") -> None:
    """Remembers what coming back costs once the provider's cache has ended, and when that is."""
    from sapwood.conversation.cut_preview import session_return_cost
    from sapwood.core.turn import Reply
    from sapwood.programs.registry import program

    tail = watched.read(LAST_REPLY_BYTES)
    usages = [
        item.usage
        for turn in tail.turns
        for item in turn.items
        if isinstance(item, Reply) and item.usage
    ]
    lifetime = "1h" if usages and usages[-1].cache_hour else "5m"
    found = session_return_cost(tail.model, lifetime, tail.used, opened.live, counter)
    if found is None:
        watched.memory.forget("cold")
        return
    cost, seconds = found
    line = cost.sentence(program(tail.source).own_command)
    watched.memory.put("cold", f"{tail.updated // 1_000_000 + seconds}\n{line}")


if __name__ == "__main__":
    _, own_path, own_session, own_folder = sys.argv
    main(own_path, own_session, own_folder)
