"""The actions `archive` and `resume`: archives of a session, and the prompt that continues it.

The action `handoff`: writes a package for another agent.
"""

from collections.abc import Sequence
from pathlib import Path

from sapwood.analysis.chapter_report import ChapterReport
from sapwood.analysis.chapters.chapter_builder import chapters_of
from sapwood.analysis.focus import FocusStack
from sapwood.analysis.handoff import Handoff, handoff_of, render_handoff
from sapwood.analysis.ledger.entries import Ledger
from sapwood.analysis.ledger.ledger_builder import ledger_of
from sapwood.analysis.prune_advice import turns_on
from sapwood.analysis.resumption import resumption_prompt
from sapwood.analysis.session import Session, TopicArchive
from sapwood.config.folders import archives_folder, handoffs_folder
from sapwood.context_actions.archive_files import (
    archive_of,
    archived_topics,
    read_archives,
    render_archive,
    write_archive,
)
from sapwood.context_actions.context_answers import (
    ResumptionPrompt,
    WrittenArchive,
    WrittenArchives,
    WrittenHandoff,
)
from sapwood.context_actions.context_request import ContextRequest
from sapwood.context_actions.session_input import SessionInput
from sapwood.core.errors import SapwoodError
from sapwood.core.history_size import size_of
from sapwood.core.refusals import nearest
from sapwood.core.token_count import Counter
from sapwood.journal import add_to_journal, now
from sapwood.private_files import slug, write_new_file

_MAX_ARCHIVES = 3
"""How many archives a resumption prompt may mention."""


def archive(request: ContextRequest, source: SessionInput, counter: Counter) -> WrittenArchives:
    """Archives the turns in view, one chapter, every one out of focus, or every one."""
    session = source.session
    if not session.turns:
        raise SapwoodError("There is nothing to archive: the session has no turns yet.")
    chosen = _chosen_turns(request, source, counter)
    written = [_write(source, topic, turns, counter) for topic, turns in chosen.items()]
    return WrittenArchives(tuple(written))


def resume(
    request: ContextRequest,
    source: SessionInput | None,
    project: str,
    counter: Counter,
) -> ResumptionPrompt:
    """The prompt that lets a model continue the session, with the archives of its project."""
    session = source.session if source else Session("sapwood", "", project)
    archives = _archives_for(session, project)
    if not session.turns and not archives:
        raise SapwoodError("There is nothing to resume: this folder has no sessions or archives.")
    prompt = resumption_prompt(
        session,
        counter,
        focus=source.declared.goals if source else (),
        archives=archives,
        budget=request.budget,
        ledger=source.ledger(live=True) if source else None,
    )
    count = counter.count(prompt)
    return ResumptionPrompt(prompt, count.tokens, count.exact, session.id)


def _archives_for(session: Session, project: str) -> list[TopicArchive]:
    """The newest archives of the session; if it has none, those of its project."""
    archives = [archive for _, archive in read_archives(archives_folder())]
    own = [archive for archive in archives if session.id and archive.session == session.id]
    others = [archive for archive in archives if project and archive.project == project]
    return (own or others)[:_MAX_ARCHIVES]


def _chosen_turns(
    request: ContextRequest, source: SessionInput, counter: Counter
) -> dict[str, tuple[int, ...]]:
    """Each chapter to archive, with the numbers of its turns; "" is what is in view."""
    session = source.session
    if not (request.topic or request.background or request.all):
        numbers = session.numbers
        in_view = dict.fromkeys(numbers[place] for place in session.indexes_in_view)
        return {"": tuple(in_view or dict.fromkeys(numbers))}
    report = chapters_of(session, counter, source.declared)
    if request.topic:
        return {request.topic: _turns_of(request.topic, session, report)}
    if request.all:
        names = [chapter.name for chapter in report.chapters]
    else:
        names = _names_out_of_focus(source.focus, session, report)
        if not names:
            raise SapwoodError(
                "No chapter of this session is in the background or judged to be off the task, or "
                "all of them are archived. Nothing was archived."
            )
    return {name: _turns_of(name, session, report) for name in names}


def _names_out_of_focus(focus: FocusStack, session: Session, report: ChapterReport) -> list[str]:
    background = [each.name for each in focus.background]
    archived = archived_topics(session)
    names = (*background, *report.archive)
    found = [name for name in names if turns_on(name, session, report)]
    return [name for name in dict.fromkeys(found) if name.casefold() not in archived]


def _turns_of(topic: str, session: Session, report: ChapterReport) -> tuple[int, ...]:
    """The numbers of a chapter's turns. Raises `SapwoodError` if there are none."""
    if found := turns_on(topic, session, report):
        return found
    names = [each.name for each in report.chapters]
    close = nearest(topic, names) or tuple(names)[:3]
    raise SapwoodError(
        f"No turn mentions '{topic}'. Chapters are: {', '.join(close)}. Nothing was archived."
    )


def _write(
    source: SessionInput, topic: str, turns: tuple[int, ...], counter: Counter
) -> WrittenArchive:
    """Writes one archive; of a session that is not kept, only returns its text."""
    session = source.session
    made = archive_of(
        session,
        at=now(),
        topic=topic,
        turns=session.numbered(*turns),
        ledger=_ledger(source, turns if topic else ()),
    )
    tokens = sum(size_of(turn, counter).tokens for turn in session.numbered(*turns))
    if not source.kept:
        text = render_archive(made)
        return WrittenArchive(made.topic, turns, tokens, counter.exact, text=text)
    path = str(write_archive(archives_folder(), made))
    about = {"source": session.source, "session": session.id, "folder": session.folder}
    add_to_journal("archived", f"Archived topic: {made.topic}", path=path, **about)
    return WrittenArchive(made.topic, turns, tokens, counter.exact, path=path)


def _ledger(source: SessionInput, turns: Sequence[int]) -> Ledger:
    """The ledger of a session; with turns, only what these turns contributed."""
    session, whole = source.session, source.ledger()
    if not turns:
        return whole
    part = ledger_of(session.numbered(*turns), session.folder)
    return Ledger(
        files=part.files,
        decisions=tuple(each for each in whole.decisions if each.turn in turns),
        questions=tuple(each for each in whole.questions if each.turn in turns),
    )


_MAX_FILE_SIZE = 4_000_000


def hand_off(request: ContextRequest, source: SessionInput) -> WrittenHandoff:
    """Writes a package for another agent; of a session that is not kept, only returns it."""
    session = source.session
    target = " ".join(request.target_agent.split())[:60]
    if not target:
        raise SapwoodError(
            "Name the agent to hand off to, for example: sapwood context handoff reviewer"
        )
    if not session.turns:
        raise SapwoodError("There is nothing to hand off: the session has no turns yet.")
    handoff = handoff_of(
        session,
        target,
        at=now(),
        task=request.task,
        topic=next(iter(source.declared.goals), ""),
        ledger=source.ledger(),
        count=lambda path: count_lines(Path(session.folder), path) if session.folder else None,
    )
    text = render_handoff(handoff)
    if not source.kept:
        return WrittenHandoff(handoff, text)
    path = str(write_handoff(handoffs_folder(), handoff))
    message = f"Context handoff prepared for: {target}"
    about = {"source": session.source, "session": session.id, "folder": session.folder}
    add_to_journal("handed off", message, path=path, **about)
    return WrittenHandoff(handoff, text, path)


def write_handoff(folder: Path, handoff: Handoff) -> Path:
    """Writes the package to a new file, named after the day and the agent. Returns its path."""
    stem = "-".join(filter(None, (slug(handoff.made[:10]), "to", slug(handoff.target))))
    return write_new_file(folder, stem, render_handoff(handoff))


def count_lines(project: Path, path: str) -> int | None:
    """Returns the number of lines of a text file inside a project, or None."""
    try:
        root = project.resolve()
        file = (root / path).resolve()
        if not file.is_relative_to(root) or not file.is_file():
            return None
        if file.stat().st_size > _MAX_FILE_SIZE:
            return None
        content = file.read_bytes()
    except (OSError, ValueError):
        return None
    return None if b"\0" in content[:8_000] else len(content.splitlines())
