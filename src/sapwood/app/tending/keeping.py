"""Archives the end of a transcript, so that what a program drops can still be read."""

from sapwood.app.folders import archives_folder
from sapwood.app.journaling import note, now
from sapwood.app.tending.memory import Memory
from sapwood.app.tending.transcripts import Transcript
from sapwood.garden.archive import Archive
from sapwood.garden.archiving import archive_of, parse_archive, write_archive

__all__ = ["keep", "kept_archives"]

_REMEMBERED = 3


def keep(transcript: Transcript, memory: Memory, why: str, said: str = "") -> None:
    """Writes an archive of what is in view, unless nothing was said since the last one.

    `said` is the last message, where the program told it.
    """
    transcript.await_last(said)
    session = transcript.read()
    turns = session.in_view
    seen = f"{transcript.path} {transcript.size}"
    if not turns or memory.get("archived") == seen:
        return
    archive = archive_of(session, at=now(), turns=turns, last_said=said)
    path = str(write_archive(archives_folder(), archive))
    known = memory.get("archives").splitlines()
    memory.put("archives", "\n".join([*known, path][-_REMEMBERED:]))
    memory.put("archived", seen)
    says = f"{why}: {_counted(archive, len(turns))}."
    note(
        "archived",
        says,
        source=session.source,
        session=session.id,
        folder=session.folder,
        path=path,
    )


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
