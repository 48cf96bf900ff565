"""Archives that hooks write, so that what a program drops from its context can still be read.

A hook writes the conversation at once. The background process adds decisions, files and open
questions later, because finding these takes longer than a hook may run.
"""

import os
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from msgspec import structs

from sapwood.analysis.ledger.entries import Ledger
from sapwood.analysis.session import Session, TopicArchive
from sapwood.config.folders import archives_folder
from sapwood.context_actions.archive_files import (
    archive_of,
    fills_archive,
    parse_archive,
    render_archive,
    write_archive,
)
from sapwood.context_actions.hook_memory import HookMemory, hook_memory_folder
from sapwood.core.errors import SapwoodError
from sapwood.core.plural import counted
from sapwood.hooks.watched_session import BACKGROUND_BYTES, WatchedSession
from sapwood.journal import add_to_journal, now
from sapwood.private_files import replace_file

_REMEMBERED = 3
"""How many archives of a session are remembered."""
_READING_SECONDS = 0.4
"""After this time no more of a transcript is read: the next part takes four times as long."""


def archive_session(watched: WatchedSession, reason: str, last_message: str = "") -> None:
    """Writes an archive of the turns in view, unless nothing was added since the last archive.

    `last_message` is the last message of the model, if the program passed it to the hook.
    """
    watched.wait_for_last_message(last_message)
    until = time.monotonic() + _READING_SECONDS
    session = Session("", watched.session, watched.folder)
    if watched.size >= 0:
        session = watched.read(is_enough=lambda s: _fills_archive(s) or time.monotonic() > until)
    turns = session.in_view
    archive = archive_of(session, at=now(), turns=turns, ledger=Ledger(), last_message=last_message)
    # The text and not the size of the transcript: a program adds rows when it clears or ends.
    digest = blake2b(archive.excerpt.encode("utf-8", "replace"), digest_size=16).hexdigest()
    if not (turns or last_message) or watched.memory.get("archived") == digest:
        return
    path = str(write_archive(archives_folder(), archive))
    known = watched.memory.get("archives").splitlines()
    watched.memory.put("archives", "\n".join([*known, path][-_REMEMBERED:]))
    watched.memory.put("archived", digest)
    _unfinished().put(os.path.basename(path), watched.path)
    message = f"{reason}: {counted(len(turns), 'turn')}."
    about = {"source": session.source, "session": session.id, "folder": session.folder}
    add_to_journal("archived", message, path=path, **about)


def _fills_archive(session: Session) -> bool:
    """Whether no earlier row of a transcript can add to an archive of what is in view.

    After an undo, turns that stand long before the newest rows are in view.
    """
    is_known = bool(session.boundaries) and not session.boundaries[-1].is_partial
    return is_known or fills_archive(session.in_view)


def complete_archives() -> None:
    """Adds decisions, files and open questions to the archives that hooks wrote."""
    unfinished = _unfinished()
    for name in unfinished.names():
        with suppress(SapwoodError, OSError):  # a missing transcript must not stop the others
            _complete(archives_folder() / name, unfinished.get(name))
        unfinished.forget(name)


def _complete(path: Path, transcript: str) -> None:
    written = _read(path)
    if written is not None:
        watched = WatchedSession(transcript, written.session, written.project)
        session = watched.read(BACKGROUND_BYTES)
        found = archive_of(
            session, at=written.archived, topic=written.topic, turns=(), ledger=_ledger(session)
        )
        replace_file(path, render_archive(structs.replace(found, excerpt=written.excerpt)))


def _ledger(session: Session) -> Ledger:
    """The ledger with what was declared and judged."""
    import asyncio

    from sapwood.analysis.declared_notes import stated_ledger
    from sapwood.analysis.ledger.ledger_builder import ledger_of
    from sapwood.app.connection import connect
    from sapwood.config.config_file import load_config
    from sapwood.context_actions.session_notes import SessionNotes

    stated = asyncio.run(SessionNotes(load_config(), connect).read(session))
    return stated_ledger(ledger_of(session), session, stated.notes, stated.judged)


def recent_archives(memory: HookMemory) -> list[tuple[str, TopicArchive]]:
    """The session's last archives that can still be read, the newest first, with their paths."""
    paths = reversed(memory.get("archives").splitlines())
    return [(path, archive) for path in paths if (archive := _read(Path(path))) is not None]


def _unfinished() -> HookMemory:
    """The names of archives to complete, each with the path of its transcript."""
    return HookMemory(hook_memory_folder(), "unfinished")


def _read(path: Path) -> TopicArchive | None:
    try:
        return parse_archive(path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
