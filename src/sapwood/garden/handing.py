"""A handoff: the package with which another agent takes over.

Made of the ledger without a model, and written as plain text that a person can read too.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from sapwood.core.content import Text
from sapwood.core.ledger import FileTouched, Ledger, ledger_of
from sapwood.core.secrets import mask_secrets
from sapwood.core.session import Session
from sapwood.core.turn import Reply
from sapwood.garden.filing import file_new, slug

__all__ = [
    "HandedFile",
    "Handoff",
    "count_lines",
    "handoff_of",
    "lines_changed",
    "render_handoff",
    "write_handoff",
]

_VERBS = {
    "reviewer": "Review",
    "tester": "Test",
    "debugger": "Debug",
    "documenter": "Document",
    "writer": "Write about",
    "researcher": "Look into",
    "planner": "Plan",
}
_WORDS, _SAID, _REQUEST = 100, 800, 2_000
_LARGEST = 4_000_000


class HandedFile(Struct, frozen=True):
    """A file with what became of it; `lines` are those it has now, where it could be read."""

    path: str
    state: Literal["new", "modified", "deleted"]
    lines: int | None = None
    added: int | None = None
    removed: int | None = None


class Handoff(Struct, frozen=True):
    """Everything that another agent has to know. `made` is a time in ISO form."""

    target: str
    task: str
    request: str
    done: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    files: tuple[HandedFile, ...] = ()
    concerns: tuple[str, ...] = ()
    last_said: str = ""
    made: str = ""
    session: str = ""
    project: str = ""


def handoff_of(
    session: Session,
    target: str,
    *,
    at: str,
    task: str = "",
    topic: str = "",
    count: Callable[[str], int | None] = lambda path: None,
) -> Handoff:
    """The package for an agent. `count` tells how many lines a file of the project has."""
    ledger = ledger_of(session)
    about = topic or session.title or session.request
    return Handoff(
        target=target,
        task=task or f"{_VERBS.get(target.lower(), 'Go on with')}: {_cut(about, _WORDS)}",
        request=_cut(session.request, _REQUEST),
        done=tuple(_done(ledger)),
        decisions=tuple(each.text for each in ledger.decisions if each.reversed_by is None),
        files=tuple(_files(ledger, count)),
        concerns=tuple(_concerns(ledger)),
        last_said=_cut(_last_said(session), _SAID),
        made=at,
        session=session.id,
        project=session.folder,
    )


def render_handoff(handoff: Handoff) -> str:
    """The text of the package, with what looks like a secret masked."""
    verb = _VERBS.get(handoff.target.lower(), "know").lower()
    sections = {
        "What was done": handoff.done,
        f"Key decisions ({handoff.target} should know)": handoff.decisions,
        f"Files to {verb}": tuple(map(_file, handoff.files)),
        "Open concerns": handoff.concerns,
    }
    lines = [
        f"Task: {handoff.task}",
        f'Original request: "{handoff.request}"',
        *(
            f"{name}: {value}"
            for name, value in (("Project", handoff.project), ("Session", handoff.session))
            if value
        ),
        "",
    ]
    for title, entries in sections.items():
        lines += [f"## {title}", *(f"- {_cut(entry, _SAID)}" for entry in entries)]
        lines += [""] if entries else ["- none known", ""]
    if handoff.last_said:
        lines += ["## Last words of the agent before", handoff.last_said, ""]
    return mask_secrets("\n".join(lines))


def write_handoff(folder: Path, handoff: Handoff) -> Path:
    """Writes a new file, named by day and receiver, and returns its path."""
    stem = "-".join(filter(None, (slug(handoff.made[:10]), "to", slug(handoff.target))))
    return file_new(folder, stem, render_handoff(handoff))


def count_lines(project: Path, path: str) -> int | None:
    """How many lines a file inside a project has, or None where that cannot be said."""
    try:
        root = project.resolve()
        file = (root / path).resolve()
        if not file.is_relative_to(root) or not file.is_file():
            return None
        if file.stat().st_size > _LARGEST:
            return None
        content = file.read_bytes()
    except (OSError, ValueError):
        return None
    return None if b"\0" in content[:8_000] else len(content.splitlines())


def _done(ledger: Ledger) -> Iterator[str]:
    yield from (f"Created {file.path}" for file in ledger.files.created)
    yield from (f"Changed {file.path}" for file in ledger.files.changed)
    yield from (f"Deleted {file.path}" for file in ledger.files.deleted)
    newest = {run.command: run for run in ledger.tests}
    for run in newest.values():
        counts = {"passed": run.passed, "failed": run.failed}
        told = ", ".join(f"{n} {how}" for how, n in counts.items() if n is not None)
        yield f"Ran {_cut(run.command, _WORDS)}: {told or run.outcome}"


def _files(ledger: Ledger, count: Callable[[str], int | None]) -> Iterator[HandedFile]:
    def handed(file: FileTouched, state: Literal["new", "modified", "deleted"]) -> HandedFile:
        lines = None if state == "deleted" else count(file.path)
        if lines is None and state == "new" and file.added is not None:
            lines = file.added - (file.removed or 0)
        return HandedFile(file.path, state, lines, file.added, file.removed)

    yield from (handed(file, "new") for file in ledger.files.created)
    yield from (handed(file, "modified") for file in ledger.files.changed)
    yield from (handed(file, "deleted") for file in ledger.files.deleted)


def _concerns(ledger: Ledger) -> Iterator[str]:
    for left in ledger.failing:
        tests = f" ({', '.join(left.tests)})" if left.tests else ""
        error = f": {left.error}" if left.error else ""
        yield f"Fails: {_cut(left.command, _WORDS)}{tests}{error}"
    yield from (f"Open question: {each.text}" for each in ledger.questions)
    for each in ledger.decisions:
        if each.reversed_by is not None:
            yield f"Taken back in turn {each.reversed_by}: {each.text}"


def _last_said(session: Session) -> str:
    for turn in reversed(session.turns):
        for item in reversed(turn.items):
            parts = item.parts if isinstance(item, Reply) else ()
            if said := "\n".join(p.text for p in parts if isinstance(p, Text)).strip():
                return said
    return ""


def _file(file: HandedFile) -> str:
    counts = lines_changed(file.added, file.removed)
    state = f"{file.state} {counts}".rstrip() if file.state == "modified" else file.state
    lines = "" if file.lines is None else f"{file.lines} line{'' if file.lines == 1 else 's'}, "
    return f"{file.path} ({lines}{state})"


def lines_changed(added: int | None, removed: int | None) -> str:
    """Lines added and removed, as far as they are known.

    >>> lines_changed(45, 12), lines_changed(3, None), lines_changed(None, None)
    ('+45/-12', '+3', '')
    """
    known = (("+", added), ("-", removed))
    return "/".join(f"{sign}{number}" for sign, number in known if number is not None)


def _cut(text: str, room: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= room else f"{line[:room].rstrip()}…"
