"""Archives as files: made from a session, written as plain text, and read back.

An archive has a head between two lines of dashes, then sections. No model is called, so a hook can
write one just before a program compacts.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from sapwood.analysis.ledger.entries import Ledger
from sapwood.analysis.session import Session, TopicArchive
from sapwood.config.folders import archives_folder
from sapwood.core.content import Text, ToolCall
from sapwood.core.turn import Reply, Turn
from sapwood.private_files import slug, write_new_file

_HEAD = ("Topic", "Archived", "Session", "Project")
_SECTIONS = {
    "Key decisions": "decisions",
    "Files touched": "files",
    "Open questions": "questions",
}
_EXCERPT = "Context excerpt:"
_ROOM = 48_000
"""Characters of an excerpt: about as much as a person or a model reads at once."""
_MESSAGE, _RESULT = 4_000, 600
_LARGEST = 1_000_000
"""Bytes that are read of an archive."""


def archive_of(
    session: Session,
    *,
    at: str,
    topic: str = "",
    turns: Sequence[Turn] | None = None,
    ledger: Ledger | None = None,
    last_message: str = "",
) -> TopicArchive:
    """Makes an archive of a session: from its ledger, or `ledger`, and an excerpt of `turns`.

    `last_message` is the newest message, which may not be in the transcript yet.
    """
    if ledger is None:
        # Imported late, because its rules take time to compile.
        from sapwood.analysis.ledger.ledger_builder import ledger_of

        ledger = ledger_of(session)
    chosen = session.turns if turns is None else turns
    return TopicArchive(
        topic=_one_line(topic or session.title or session.request)[:120] or "conversation",
        archived=at,
        session=session.id,
        project=session.folder,
        decisions=tuple(each.text for each in ledger.decisions if each.reversed_by is None),
        files=_files(ledger),
        questions=tuple(each.text for each in ledger.questions),
        excerpt=_excerpt(chosen, last_message),
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


def fills_archive(turns: Sequence[Turn]) -> bool:
    """Whether an archive has no room for more than these turns."""
    return sum(len(text) for turn in turns for text in _paragraphs(turn)) > _ROOM


def _excerpt(turns: Sequence[Turn], last_message: str) -> str:
    """The newest paragraphs that fit into the excerpt, in their order."""
    kept: list[str] = []
    room = _ROOM
    if last_message and not any(
        last_message in text for turn in turns[-1:] for text in turn.texts()
    ):
        kept.append(f"Agent: {_cut(last_message, _MESSAGE)}")
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


def render_archive(archive: TopicArchive) -> str:
    """The text of an archive's file; everything that looks like a secret is masked.

    >>> print(render_archive(TopicArchive("OAuth", "2026-01-02T03:04:05Z", decisions=("PKCE",))))
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
    from sapwood.redaction import mask_secrets  # imported late: reading an archive does not need it

    return mask_secrets("\n".join(lines))


def parse_archive(text: str) -> TopicArchive:
    """Parses the text of an archive's file. Missing parts are empty; nothing is refused.

    >>> parse_archive(render_archive(TopicArchive("OAuth", files=("a.py (created)",)))).files
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
    return TopicArchive(
        topic=head.get("Topic", ""),
        archived=head.get("Archived", ""),
        session=head.get("Session", ""),
        project=head.get("Project", ""),
        decisions=tuple(found.get("decisions", ())),
        files=tuple(found.get("files", ())),
        questions=tuple(found.get("questions", ())),
        excerpt=excerpt.strip("\n"),
    )


def write_archive(folder: Path, archive: TopicArchive) -> Path:
    """Writes a new file, named after day, topic and session, and returns its path."""
    names = (archive.archived[:10], archive.topic, archive.session[:8])
    stem = "-".join(filter(None, map(slug, names)))
    return write_new_file(folder, stem or "archive", render_archive(archive))


def read_archives(folder: Path) -> Iterator[tuple[Path, TopicArchive]]:
    """Every archive of a folder, the newest first. A file that cannot be read is skipped."""
    try:
        paths = [path for path in folder.iterdir() if path.suffix == ".txt"]
    except OSError:
        return
    found: list[tuple[Path, TopicArchive]] = []
    for path in paths:
        with suppress(OSError), path.open("rb") as file:
            found.append((path, parse_archive(file.read(_LARGEST).decode("utf-8", "replace"))))
    yield from sorted(found, key=lambda each: (each[1].archived, each[0].name), reverse=True)


def archived_topics(session: Session) -> frozenset[str]:
    """The topics of a session that have an archive, in lower case."""
    archives = [archive for _, archive in read_archives(archives_folder())]
    return frozenset(each.topic.casefold() for each in archives if each.session == session.id)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[:room].rstrip()} […]"
