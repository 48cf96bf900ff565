"""Archives the end of a transcript, so that what a program drops can still be read."""

from sapwood.app.folders import archives_folder
from sapwood.app.journaling import note, now
from sapwood.app.tending.memory import Memory
from sapwood.app.tending.moment import Moment
from sapwood.app.tending.transcripts import await_last, read_tail
from sapwood.garden.archive import Archive
from sapwood.garden.archiving import archive_of, parse_archive, write_archive

__all__ = ["keep", "kept_archives"]

_REMEMBERED = 3


def keep(moment: Moment, transcript: str, why: str, said: str = "") -> None:
    """Writes an archive of what is in view, unless nothing was said since the last one."""
    await_last(transcript, said)
    session = read_tail(transcript)
    seen = f"{transcript} {len(session.turns)} {session.updated} {session.used}"
    if not session.in_view or moment.memory.get("archived") == seen:
        return
    archive = archive_of(session, at=now(), turns=session.in_view, last_said=said)
    path = str(write_archive(archives_folder(), archive))
    known = moment.memory.get("archives").splitlines()
    moment.memory.put("archives", "\n".join([*known, path][-_REMEMBERED:]))
    moment.memory.put("archived", seen)
    says = f"{why}: {_counted(archive, len(session.in_view))}."
    folder = session.folder or moment.told.folder
    note("archived", says, source=session.source, session=session.id, folder=folder, path=path)


def kept_archives(memory: Memory) -> list[tuple[str, Archive]]:
    """The session's last archives that can still be read, the newest first, with their paths."""
    found: list[tuple[str, Archive]] = []
    for path in reversed(memory.get("archives").splitlines()):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                found.append((path, parse_archive(file.read())))
        except OSError:
            continue
    return found


def _counted(archive: Archive, turns: int) -> str:
    parts = {
        "turn": turns,
        "decision": len(archive.decisions),
        "file": len(archive.files),
        "open question": len(archive.questions),
    }
    return ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for word, n in parts.items() if n)
