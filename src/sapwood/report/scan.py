"""Reads the sessions of all programs on this machine, one at a time, in several processes.

Nothing is stored, no model is called, and no other program's file is changed.
"""

import gc
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from msgspec import Struct, structs

from sapwood.core.errors import SapwoodError
from sapwood.core.ids import Space
from sapwood.programs.registry import program, programs_with
from sapwood.programs.transcripts.discovery import NotATranscript, program_homes
from sapwood.programs.transcripts.session_files import FoundSession
from sapwood.programs.transcripts.session_reader import read_session
from sapwood.programs.transcripts.transcript_events import unmasked
from sapwood.report.figures import Report, SessionFigures, SweptSession, session_figures
from sapwood.tokens.estimators import FeatureCounter
from sapwood.turns.log import Log

_BATCH = 8_000_000
"""Bytes that a process is given at a time."""
_SMALL = 32_000_000
"""Bytes up to which starting other processes would take longer than reading."""
_MAX_PROCESSES = 4
_MAX_AGENTS = 10_000
_PREFIX = 8
"""Characters of a session's id that are shown if no other session begins with them."""

OnProgress = Callable[[int], None]


class Selection(Struct, frozen=True):
    """Which sessions a report is about; empty values select all.

    `since` is in microseconds since 1970. `project` is a folder: sessions that ran in it or below.
    """

    since: int = 0
    programs: frozenset[str] = frozenset()
    project: Path | None = None


class FoundFiles(Struct, frozen=True):
    """The transcripts of a selection, and a sentence for each that cannot be opened."""

    sessions: tuple[FoundSession, ...]
    problems: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """All bytes to be read."""
        return sum(each.size for each in self.sessions)


def find_sessions(selection: Selection) -> FoundFiles:
    """Finds the transcripts, the newest first. Subagents are left out."""
    found: dict[tuple[str, str], FoundSession] = {}
    problems: list[str] = []
    homes = program_homes()
    for each in programs_with("sessions"):
        if selection.programs and each.name not in selection.programs:
            continue
        sessions = program(each.name).sessions
        listed = sorted(sessions.find(homes[each.name]), key=lambda one: -one.updated)
        for one in listed:
            key = each.name, one.id if sessions.has_several_files else str(one.path)
            if key in found:  # an earlier file of the same session
                found[key] = structs.replace(found[key], size=found[key].size + one.size)
            elif one.updated >= selection.since:
                found[key] = one
    chosen = list(found.values())
    if selection.project is not None:
        chosen = list(_of_project(chosen, selection.project, problems))
    return FoundFiles(tuple(sorted(chosen, key=lambda one: -one.updated)), tuple(problems))


def _of_project(
    sessions: Iterable[FoundSession], project: Path, problems: list[str]
) -> Iterator[FoundSession]:
    for each in sessions:
        try:
            opened = program(each.source).sessions.opened(each)
        except OSError as error:
            problems.append(str(NotATranscript(each.path, f"cannot be read: {error.strerror}")))
            continue
        if opened.folder and Path(opened.folder).is_relative_to(project):
            yield opened


def make_report(files: FoundFiles, made: int, on_progress: OnProgress = lambda _: None) -> Report:
    """Reads the transcripts and returns the figures of all that have a turn."""
    sessions: list[SessionFigures] = []
    problems = list(files.problems)
    for batch in _read_all(files.sessions, files.size, on_progress):
        for each in batch:
            if isinstance(each, str):
                problems.append(each)
            elif each.turns or each.compactions:
                sessions.append(each)
    sessions.sort(key=lambda each: (-each.updated, each.id))
    return Report(made, _with_commands(sessions), problems=tuple(sorted(problems)))


async def swept_sessions(log: Log, space: Space, selection: Selection) -> tuple[SweptSession, ...]:
    """The sessions that their programs deleted and the log has, the newest first."""
    agents = await log.agents(space, limit=_MAX_AGENTS)
    there = {(each.source, each.id) for each in find_sessions(Selection()).sessions}
    names = {each.name for each in programs_with("provider")}
    wanted = names & selection.programs if selection.programs else names
    gone = [
        each
        for each in agents
        if each.source in wanted
        and each.parent is None
        and (each.source, each.session) not in there
        and each.updated >= selection.since
        and (selection.project is None or Path(each.folder).is_relative_to(selection.project))
    ]
    return tuple(
        SweptSession(
            program=each.source,
            id=each.session,
            title=each.name or each.session,
            restore=f"sapwood restore {each.session} --to {each.source}",
        )
        for each in sorted(gone, key=lambda one: -one.updated)
    )


def _read_all(
    sessions: Sequence[FoundSession], size: int, on_progress: OnProgress
) -> Iterator[list[SessionFigures | str]]:
    if size <= _SMALL or len(sessions) < 2:
        for each in sessions:
            yield [read_figures(each)]
            on_progress(each.size)
        return
    processes = min(_MAX_PROCESSES, os.cpu_count() or 1, len(sessions))
    pool = ProcessPoolExecutor(processes, initializer=_leave_interrupts_to_parent)
    try:
        sizes = {pool.submit(_read_batch, batch): batch for batch in _batches(sessions)}
        for done in as_completed(sizes):
            yield done.result()
            on_progress(sum(each.size for each in sizes[done]))
    except BrokenProcessPool as error:
        raise SapwoodError(
            "The system ended a process of the report, probably because memory ran out. To read "
            "fewer sessions, type: sapwood report --since 30d"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _batches(sessions: Sequence[FoundSession]) -> Iterator[list[FoundSession]]:
    """The sessions in batches, the largest first, so that no process ends long after the others."""
    batch: list[FoundSession] = []
    for each in sorted(sessions, key=lambda one: -one.size):
        batch.append(each)
        if sum(one.size for one in batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _read_batch(sessions: Sequence[FoundSession]) -> list[SessionFigures | str]:
    return [read_figures(each) for each in sessions]


def read_figures(found: FoundSession) -> SessionFigures | str:
    """The figures of one session, or a sentence that says why there are none.

    Secrets in results are not masked: no result is in the figures.
    """
    enabled = gc.isenabled()
    gc.disable()  # a session has no cycles, and looking for them takes a third of the time
    try:
        session = read_session(found.path, found.source, mask=unmasked)
        return session_figures(session, FeatureCounter(), found.size)
    except NotATranscript as error:
        return str(error)
    finally:
        if enabled:
            gc.enable()


def _with_commands(sessions: Sequence[SessionFigures]) -> tuple[SessionFigures, ...]:
    """The sessions with the commands that bring their turns back into view."""
    ids = [each.id for each in sessions]
    return tuple(
        structs.replace(each, restore=_command(each, ids)) if each.is_compacted else each
        for each in sessions
    )


def _command(session: SessionFigures, ids: Sequence[str]) -> str:
    start = session.id[:_PREFIX]
    name = start if sum(each.startswith(start) for each in ids) == 1 else session.id
    if program(session.program).runs_turns:
        return f"sapwood undo --session {name}"
    return f"sapwood import {session.path}"
