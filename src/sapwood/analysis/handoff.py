"""A handoff: the package that another agent needs to take over a session.

It is made from the ledger without a model, and rendered as plain text.
"""

from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct

from sapwood.analysis.ledger.entries import FileTouched, Ledger
from sapwood.analysis.ledger.ledger_builder import ledger_of
from sapwood.analysis.session import Session
from sapwood.core.content import Text
from sapwood.core.plural import counted
from sapwood.core.turn import Reply
from sapwood.core.turn_numbers import turn_words
from sapwood.redaction import mask_secrets

_SESSION = "Session: "
_VERBS = {
    "reviewer": "Review",
    "tester": "Test",
    "debugger": "Debug",
    "documenter": "Document",
    "writer": "Write about",
    "researcher": "Look into",
    "planner": "Plan",
}
_SHORT_TEXT, _REPLY, _REQUEST = 100, 800, 2_000


class HandoffFile(Struct, frozen=True):
    """A file and its final state; `lines` is its present number of lines, if known."""

    path: str
    state: Literal["new", "modified", "deleted"]
    lines: int | None = None
    added: int | None = None
    removed: int | None = None


class Handoff(Struct, frozen=True):
    """Everything that another agent has to know. `made` is a time in ISO format."""

    target: str
    task: str
    request: str
    done: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    files: tuple[HandoffFile, ...] = ()
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
    ledger: Ledger | None = None,
    count: Callable[[str], int | None] = lambda path: None,
) -> Handoff:
    """Returns the package for the agent `target`.

    `ledger` is that of the session; without it, it is computed. `count` returns the number of lines
    of a file of the project, or None.
    """
    ledger = ledger_of(session) if ledger is None else ledger
    about = topic or session.title or session.request
    return Handoff(
        target=target,
        task=task or f"{_VERBS.get(target.lower(), 'Go on with')}: {_cut(about, _SHORT_TEXT)}",
        request=_cut(session.request, _REQUEST),
        done=tuple(_done(ledger)),
        decisions=tuple(each.text for each in ledger.decisions if each.reversed_by is None),
        files=tuple(_files(ledger, count)),
        concerns=tuple(_concerns(ledger)),
        last_said=_cut(_last_reply(session), _REPLY),
        made=at,
        session=session.id,
        project=session.folder,
    )


def render_handoff(handoff: Handoff) -> str:
    """Returns the text of the package, with secrets masked."""
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
            f"{name}{value}"
            for name, value in (("Project: ", handoff.project), (_SESSION, handoff.session))
            if value
        ),
        "",
    ]
    for title, entries in sections.items():
        lines += [f"## {title}", *(f"- {_cut(entry, _REPLY)}" for entry in entries)]
        lines += [""] if entries else ["- none known", ""]
    if handoff.last_said:
        lines += ["## Last reply of the agent", handoff.last_said, ""]
    return mask_secrets("\n".join(lines))


def session_of_handoff(text: str) -> str:
    """The session from which a package was made, by the head of its text; empty if it has none."""
    head, _, _ = text.partition("\n## ")
    found = [line for line in head.splitlines() if line.startswith(_SESSION)]
    return found[-1].removeprefix(_SESSION) if found else ""


def _done(ledger: Ledger) -> Iterator[str]:
    yield from (f"Created {file.path}" for file in ledger.files.created)
    yield from (f"Changed {file.path}" for file in ledger.files.changed)
    yield from (f"Deleted {file.path}" for file in ledger.files.deleted)
    newest = {run.command: run for run in ledger.tests}
    for run in newest.values():
        counts = {"passed": run.passed, "failed": run.failed}
        result = ", ".join(f"{n} {name}" for name, n in counts.items() if n is not None)
        yield f"Ran {_cut(run.command, _SHORT_TEXT)}: {result or run.outcome}"


def _files(ledger: Ledger, count: Callable[[str], int | None]) -> Iterator[HandoffFile]:
    def handoff_file(
        file: FileTouched, state: Literal["new", "modified", "deleted"]
    ) -> HandoffFile:
        lines = None if state == "deleted" else count(file.path)
        if lines is None and state == "new" and file.added is not None:
            lines = file.added - (file.removed or 0)
        return HandoffFile(file.path, state, lines, file.added, file.removed)

    yield from (handoff_file(file, "new") for file in ledger.files.created)
    yield from (handoff_file(file, "modified") for file in ledger.files.changed)
    yield from (handoff_file(file, "deleted") for file in ledger.files.deleted)


def _concerns(ledger: Ledger) -> Iterator[str]:
    for each in ledger.failing:
        tests = f" ({', '.join(each.tests)})" if each.tests else ""
        error = f": {each.error}" if each.error else ""
        yield f"Fails: {_cut(each.command, _SHORT_TEXT)}{tests}{error}"
    yield from (f"Open question: {each.text}" for each in ledger.questions)
    for each in ledger.decisions:
        if each.reversed_by is not None:
            yield f"Reversed in {turn_words(each.reversed_by)}: {each.text}"


def _last_reply(session: Session) -> str:
    for turn in reversed(session.turns):
        for item in reversed(turn.items):
            parts = item.parts if isinstance(item, Reply) else ()
            if reply := "\n".join(p.text for p in parts if isinstance(p, Text)).strip():
                return reply
    return ""


def _file(file: HandoffFile) -> str:
    counts = lines_changed(file.added, file.removed)
    state = f"{file.state} {counts}".rstrip() if file.state == "modified" else file.state
    lines = "" if file.lines is None else f"{counted(file.lines, 'line')}, "
    return f"{file.path} ({lines}{state})"


def lines_changed(added: int | None, removed: int | None) -> str:
    """Returns the numbers of added and removed lines, as far as they are known.

    >>> lines_changed(45, 12), lines_changed(3, None), lines_changed(None, None)
    ('+45/-12', '+3', '')
    """
    known = (("+", added), ("-", removed))
    return "/".join(f"{sign}{number}" for sign, number in known if number is not None)


def _cut(text: str, room: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= room else f"{line[:room].rstrip()}…"
