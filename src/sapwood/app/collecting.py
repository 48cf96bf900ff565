"""Which transcripts to import: all that can be found, those of a folder, or named ones."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from sapwood.sources import (
    Found,
    Homes,
    NotATranscript,
    detected,
    discover,
    session_id,
    subagents_of,
)

__all__ = ["collect"]


def collect(
    paths: Iterable[Path], homes: Homes, sources: frozenset[str] = frozenset(), since: int = 0
) -> list[Found]:
    """The transcripts, newest first, each session's subagents after it.

    A path is a transcript or a folder: of a folder, the sessions that ran there, or if there are
    none, the transcripts that lie in it. Without any path, everything. `sources` and `since` (in
    microseconds) leave out the rest. Raises `NotATranscript` for a path that is neither.
    """
    wanted = [found for path in paths for found in _at(path, homes)] or None
    found = discover(homes) if wanted is None else wanted
    chosen = [
        each for each in found if (not sources or each.source in sources) and each.updated >= since
    ]
    return list(_with_subagents(chosen))


def _with_subagents(sessions: Iterable[Found]) -> Iterator[Found]:
    """Each session, its subagents after it, and at last those that older versions left loose."""
    folders: dict[Path, None] = {}
    for session in sessions:
        yield session
        yield from subagents_of(session)
        if session.source == "claude-code":
            folders[session.path.parent] = None
    for folder in folders:
        for path in sorted(folder.glob("agent-*.jsonl")):
            with suppress(NotATranscript):
                yield _named(path)


def _at(path: Path, homes: Homes) -> Iterator[Found]:
    if not path.is_dir():
        yield _named(path)
        return
    found = discover(homes, path.absolute())
    if not found:
        found = list(_inside(path))
    if not found:
        raise NotATranscript(path, "holds no transcript, and no session ran there")
    yield from found


def _inside(folder: Path) -> Iterator[Found]:
    for path in sorted(folder.rglob("*.jsonl")):
        with suppress(NotATranscript):
            yield _named(path)


def _named(path: Path) -> Found:
    path = path.absolute()
    source = detected(path)
    status = path.stat()
    return Found(
        source, session_id(path, source), path, "", status.st_mtime_ns // 1000, status.st_size
    )
