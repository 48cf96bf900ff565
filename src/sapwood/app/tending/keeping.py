"""Archives the end of a transcript, so that what a program drops can still be read.

In two steps: at once what was said, and a little later, where nobody waits, what it came to.
"""

import os
from contextlib import suppress
from pathlib import Path

from msgspec import structs

from sapwood.app.folders import archives_folder
from sapwood.app.journaling import note, now
from sapwood.app.tending.memory import Memory
from sapwood.app.tending.tended import MUCH, Tended, tending_folder
from sapwood.core.errors import SapwoodError
from sapwood.core.ledger import Ledger
from sapwood.core.session import Session
from sapwood.garden.archive import Archive
from sapwood.garden.archiving import archive_of, parse_archive, render_archive, write_archive
from sapwood.garden.filing import file_over

__all__ = ["complete_archives", "keep", "kept_archives"]

_REMEMBERED = 3


def keep(tended: Tended, why: str, said: str = "") -> None:
    """Writes an archive of what is in view, unless nothing was said since the last one.

    `said` is the last message, where the program told it.
    """
    tended.await_last(said)
    size = str(tended.size)
    session = tended.read() if tended.size >= 0 else Session("", tended.session, tended.folder)
    turns = session.in_view
    if not (turns or said) or tended.memory.get("archived") == size:
        return
    archive = archive_of(session, at=now(), turns=turns, ledger=Ledger(), last_said=said)
    path = str(write_archive(archives_folder(), archive))
    known = tended.memory.get("archives").splitlines()
    tended.memory.put("archives", "\n".join([*known, path][-_REMEMBERED:]))
    tended.memory.put("archived", size)
    _unfinished().put(os.path.basename(path), tended.path)
    says = f"{why}: {len(turns)} turn{'' if len(turns) == 1 else 's'}."
    about = {"source": session.source, "session": session.id, "folder": session.folder}
    note("archived", says, path=path, **about)


def complete_archives() -> None:
    """Adds decisions, files and open questions to archives that were made in haste."""
    waiting = _unfinished()
    for name in waiting.names():
        with suppress(SapwoodError, OSError):  # a transcript that is gone stops no other
            _complete(archives_folder() / name, waiting.get(name))
        waiting.forget(name)


def _complete(path: Path, transcript: str) -> None:
    made = _read(path)
    if made is not None:
        session = Tended(transcript, made.session, made.project).read(MUCH)
        found = archive_of(session, at=made.archived, topic=made.topic, turns=())
        file_over(path, render_archive(structs.replace(found, excerpt=made.excerpt)))


def kept_archives(memory: Memory) -> list[tuple[str, Archive]]:
    """The session's last archives that can still be read, the newest first, with their paths."""
    paths = reversed(memory.get("archives").splitlines())
    return [(path, archive) for path in paths if (archive := _read(Path(path))) is not None]


def _unfinished() -> Memory:
    """Names of archives that are to be completed, and the transcripts that they are of."""
    return Memory(tending_folder(), "unfinished")


def _read(path: Path) -> Archive | None:
    try:
        return parse_archive(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
