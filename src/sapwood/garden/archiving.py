"""Archives as files: made of a session, written in a form that people read, and read back.

The form is plain text: a head between two lines of dashes, then sections. Nothing here asks a
model, so an archive can be made in the moment before a program compacts.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from sapwood.core.content import Text, ToolCall
from sapwood.core.ledger import Ledger
from sapwood.core.session import Session
from sapwood.core.turn import Reply, Turn
from sapwood.garden.archive import Archive
from sapwood.garden.filing import file_new, slug

__all__ = ["archive_of", "parse_archive", "read_archives", "render_archive", "write_archive"]

_HEAD = ("Topic", "Archived", "Session", "Project")
_SECTIONS = {
    "Key decisions": "decisions",
    "Files touched": "files",
    "Open questions": "questions",
}
_EXCERPT = "Context excerpt:"
_ROOM = 48_000
"""Characters of an excerpt: about what a person reads, and a model takes, at once."""
_MESSAGE, _RESULT = 4_000, 600
_LARGEST = 1_000_000
"""Bytes of an archive that are read."""


def archive_of(
    session: Session,
    *,
    at: str,
    topic: str = "",
    turns: Sequence[Turn] | None = None,
    ledger: Ledger | None = None,
    last_said: str = "",
) -> Archive:
    """What an archive keeps of a session: its ledger, or another, and an excerpt of these turns.

    `last_said` is the newest message, which may not be in the transcript yet.
    """
    if ledger is None:
        from sapwood.core.ledger import ledger_of  # late, because its rules take time to compile

        ledger = ledger_of(session)
    chosen = session.turns if turns is None else turns
    return Archive(
        topic=_one_line(topic or session.title or session.request)[:120] or "conversation",
        archived=at,
        session=session.id,
        project=session.folder,
        decisions=tuple(each.text for each in ledger.decisions if each.reversed_by is None),
        files=_files(ledger),
        questions=tuple(each.text for each in ledger.questions),
        excerpt=_excerpt(chosen, last_said),
    )


def _files(ledger: Ledger) -> tuple[str, ...]:
    kinds = {
        "created": ledger.files.created,
        "modified": ledger.files.changed,
        "deleted": ledger.files.deleted,
    }
    touched = [f"{file.path} ({kind})" for kind, files in kinds.items() for file in files]
    known = {file.path for files in kinds.values() for file in files}
    return (*touched, *(f"{f.path} (read)" for f in ledger.files.read if f.path not in known))


def _excerpt(turns: Sequence[Turn], last_said: str) -> str:
    """The newest of what was said, as much as there is room for, in the order it was said."""
    kept: list[str] = []
    room = _ROOM
    if last_said and not any(last_said in text for turn in turns[-1:] for text in turn.texts()):
        kept.append(f"Agent: {_cut(last_said, _MESSAGE)}")
    for turn in reversed(turns):
        for paragraph in reversed(list(_paragraphs(turn))):
            room -= len(paragraph)
            if room < 0:
                return "\n\n".join(("[…]", *reversed(kept)))
            kept.append(paragraph)
    return "\n\n".join(reversed(kept))


def _paragraphs(turn: Turn) -> Iterable[str]:
    asked = "\n".join(part.text for part in turn.prompt if isinstance(part, Text))
    if asked.strip():
        yield f"User: {_cut(asked, _MESSAGE)}"
    for item in turn.items:
        if not isinstance(item, Reply):
            if item.content.strip():
                yield f"Result{' (failed)' if item.error else ''}: {_cut(item.content, _RESULT)}"
            continue
        for part in item.parts:
            if isinstance(part, ToolCall):
                yield f"Tool: {part.name} {_cut(part.args, _RESULT)}"
            elif isinstance(part, Text) and part.text.strip():
                yield f"Agent: {_cut(part.text, _MESSAGE)}"


def render_archive(archive: Archive) -> str:
    """The text of an archive's file, with what looks like a secret masked.

    >>> print(render_archive(Archive("OAuth", "2026-01-02T03:04:05Z", decisions=("PKCE",))))
    ---
    Topic: OAuth
    Archived: 2026-01-02T03:04:05Z
    Session:
    Project:
    ---
    <BLANKLINE>
    Key decisions:
    - PKCE
    <BLANKLINE>
    """
    values = (archive.topic, archive.archived, archive.session, archive.project)
    lines = ["---"]
    lines += [
        f"{name}: {_one_line(value)}".rstrip() for name, value in zip(_HEAD, values, strict=True)
    ]
    lines += ["---", ""]
    for title, field in _SECTIONS.items():
        entries: tuple[str, ...] = getattr(archive, field)
        if entries:
            lines += [f"{title}:", *(f"- {_one_line(entry)}" for entry in entries), ""]
    if archive.excerpt:
        lines += [_EXCERPT, archive.excerpt, ""]
    from sapwood.core.secrets import mask_secrets  # reading needs none of its patterns

    return mask_secrets("\n".join(lines))


def parse_archive(text: str) -> Archive:
    """The archive that a file's text holds. What is missing is empty; nothing is refused.

    >>> parse_archive(render_archive(Archive("OAuth", files=("a.py (created)",)))).files
    ('a.py (created)',)
    """
    before, _, excerpt = text.partition(f"\n{_EXCERPT}\n")
    head: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    section: list[str] = []
    for line in before.splitlines():
        name, colon, value = line.partition(":")
        if line.startswith("- "):
            section.append(line[2:])
        elif colon and name in _HEAD and name not in head:
            head[name] = value.strip()
        elif line.endswith(":") and name in _SECTIONS:
            section = found.setdefault(_SECTIONS[name], [])
    return Archive(
        topic=head.get("Topic", ""),
        archived=head.get("Archived", ""),
        session=head.get("Session", ""),
        project=head.get("Project", ""),
        decisions=tuple(found.get("decisions", ())),
        files=tuple(found.get("files", ())),
        questions=tuple(found.get("questions", ())),
        excerpt=excerpt.strip("\n"),
    )


def write_archive(folder: Path, archive: Archive) -> Path:
    """Writes a new file, named by day, topic and session, and returns its path."""
    names = (archive.archived[:10], archive.topic, archive.session[:8])
    stem = "-".join(filter(None, map(slug, names)))
    return file_new(folder, stem or "archive", render_archive(archive))


def read_archives(folder: Path) -> Iterator[tuple[Path, Archive]]:
    """Every archive of a folder, the newest first. What cannot be read is passed over."""
    try:
        paths = [path for path in folder.iterdir() if path.suffix == ".txt"]
    except OSError:
        return
    found: list[tuple[Path, Archive]] = []
    for path in paths:
        with suppress(OSError), path.open("rb") as file:
            found.append((path, parse_archive(file.read(_LARGEST).decode("utf-8", "replace"))))
    yield from sorted(found, key=lambda each: (each[1].archived, each[0].name), reverse=True)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[:room].rstrip()} […]"
