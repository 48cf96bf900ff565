"""Selects the transcripts to import: all that are found, those of a folder, or given files."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from sapwood.programs.registry import program
from sapwood.programs.transcripts.discovery import (
    NotATranscript,
    ProgramHomes,
    discover,
    program_homes,
    subagents_of,
)
from sapwood.programs.transcripts.session_files import FoundSession
from sapwood.programs.transcripts.session_reader import detect_file, session_id


def session_folders() -> tuple[Path, ...]:
    """The folders in which the programs of this user keep their sessions."""
    return tuple(program_homes().values())


def select_transcripts(
    paths: Iterable[Path],
    homes: ProgramHomes | None = None,
    sources: frozenset[str] = frozenset(),
    since: int = 0,
) -> list[FoundSession]:
    """Returns the transcripts, the newest first, each followed by those of its subagents.

    A path is a transcript or a folder. A folder selects the sessions that ran in it; if there are
    none, the transcripts that it contains. Without a path, every session is selected. `sources`
    and `since` (in microseconds) limit the selection; `homes` are the folders of the programs, by
    default those of this user. Raises `NotATranscript` for other paths.
    """
    homes = homes or program_homes()
    wanted = [found for path in paths for found in _at(path, homes)] or None
    found = discover(homes) if wanted is None else wanted
    chosen = [
        each for each in found if (not sources or each.source in sources) and each.updated >= since
    ]
    return list(_with_subagents(chosen))


def _with_subagents(sessions: Iterable[FoundSession]) -> Iterator[FoundSession]:
    """Each session and its subagents, then subagents that older versions stored beside sessions."""
    folders: dict[tuple[str, Path], None] = {}
    for session in sessions:
        yield session
        yield from subagents_of(session)
        folders[session.source, session.path.parent] = None
    for source, folder in folders:
        for path in sorted(program(source).sessions.subagents_in(folder)):
            with suppress(NotATranscript):
                yield _named(path)


def _at(path: Path, homes: ProgramHomes) -> Iterator[FoundSession]:
    if not path.is_dir():
        yield _named(path)
        return
    found = discover(homes, path.absolute())
    if not found:
        found = list(_inside(path))
    if not found:
        raise NotATranscript(path, "contains no transcript, and no session ran there")
    yield from found


def _inside(folder: Path) -> Iterator[FoundSession]:
    for path in sorted(folder.rglob("*.jsonl")):
        with suppress(NotATranscript):
            yield _named(path)


def _named(path: Path) -> FoundSession:
    path = path.absolute()
    source = detect_file(path)
    status = path.stat()
    return FoundSession(
        source, session_id(path, source), path, "", status.st_mtime_ns // 1000, status.st_size
    )
