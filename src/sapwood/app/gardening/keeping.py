"""Errands that keep what would be lost: archives, and the prompt that brings it back."""

from collections.abc import Sequence

from sapwood.app.folders import archives_folder
from sapwood.app.gardening.answers import Archived, Archives, Resumption
from sapwood.app.gardening.errand import Errand
from sapwood.app.gardening.looking import drift_in
from sapwood.app.gardening.subject import Subject
from sapwood.app.journaling import note, now
from sapwood.core.counting import Counter
from sapwood.core.errors import SapwoodError
from sapwood.core.ledger import Ledger, ledger_of
from sapwood.core.measure import size_of
from sapwood.core.refusals import nearest
from sapwood.core.session import Session
from sapwood.garden.archive import Archive
from sapwood.garden.archiving import archive_of, read_archives, render_archive, write_archive
from sapwood.garden.drift import Drift
from sapwood.garden.focus import Focus, names_in_focus
from sapwood.garden.resuming import resumption_prompt
from sapwood.garden.searching import search_session, words_of

__all__ = ["archive", "archives_for", "resume"]

_ARCHIVES = 3


def archive(errand: Errand, subject: Subject, counter: Counter, focus: Focus) -> Archives:
    """Archives what is in view, a topic, every topic out of focus, or every topic."""
    session = subject.session
    if not session.turns:
        raise SapwoodError("There is nothing to archive: nothing was said yet.")
    chosen = _chosen(errand, subject, counter, focus)
    made = [_archived(subject, topic, turns, counter) for topic, turns in chosen.items()]
    return Archives(tuple(made))


def resume(
    errand: Errand, subject: Subject | None, project: str, counter: Counter, focus: Focus
) -> Resumption:
    """The prompt, of the session if there is one, and of the archives of its project."""
    session = subject.session if subject else Session("sapwood", "", project)
    archives = archives_for(session, project)
    if not session.turns and not archives:
        raise SapwoodError("There is nothing to go on with: no session and no archive is here.")
    prompt = resumption_prompt(
        session, counter, focus=names_in_focus(focus), archives=archives, budget=errand.budget
    )
    count = counter.count(prompt)
    return Resumption(prompt, count.tokens, count.exact, session.id)


def archives_for(session: Session, project: str) -> list[Archive]:
    """The newest archives of a session; of its project, where it has none."""
    here = [archive for _, archive in read_archives(archives_folder())]
    own = [archive for archive in here if session.id and archive.session == session.id]
    beside = [archive for archive in here if project and archive.project == project]
    return (own or beside)[:_ARCHIVES]


def _chosen(
    errand: Errand, subject: Subject, counter: Counter, focus: Focus
) -> dict[str, tuple[int, ...]]:
    """Topics and the turns, counted from 1, that belong to them."""
    session = subject.session
    if not (errand.topic or errand.background or errand.all):
        numbers = session.numbers
        in_view = dict.fromkeys(numbers[place] for place in session.places_in_view)
        return {"": tuple(in_view or dict.fromkeys(numbers))}
    drift = drift_in(subject, counter, focus)
    if errand.topic:
        return {errand.topic: _turns_of(errand.topic, session, drift)}
    if errand.all:
        names = [topic.name for topic in drift.topics]
    else:
        known = {topic.name.casefold() for topic in drift.topics}
        out = [each.name for each in focus.background if not each.archived]
        names = [name for name in (*out, *drift.archive) if name.casefold() in known]
        names = list(dict.fromkeys(names))
        if not names:
            raise SapwoodError(
                "No topic is in the background or off the task. Nothing was archived."
            )
    return {name: _turns_of(name, session, drift) for name in names}


def _turns_of(topic: str, session: Session, drift: Drift) -> tuple[int, ...]:
    """The turns of a topic: by its name, else those that speak of it."""
    names = {each.name.casefold(): each.name for each in drift.topics}
    name = names.get(topic.casefold())
    if name is not None:
        return tuple(place.turn for place in drift.turns if place.topic == name)
    spoken = [int(p.where.split()[1].rstrip(",")) for p in search_session(session, words_of(topic))]
    if spoken:
        return tuple(sorted(spoken))
    close = nearest(topic, list(names.values())) or tuple(names.values())[:3]
    raise SapwoodError(
        f"Nothing was said of '{topic}'. Topics are: {', '.join(close)}. Nothing was archived."
    )


def _archived(subject: Subject, topic: str, turns: tuple[int, ...], counter: Counter) -> Archived:
    session = subject.session
    kept = archive_of(
        session,
        at=now(),
        topic=topic,
        turns=session.numbered(*turns),
        ledger=_ledger(session, turns if topic else ()),
    )
    tokens = sum(size_of(turn, counter).tokens for turn in session.numbered(*turns))
    told = Archived(kept.topic, turns, tokens, counter.exact)
    if not subject.kept:
        return Archived(kept.topic, turns, tokens, counter.exact, text=render_archive(kept))
    path = str(write_archive(archives_folder(), kept))
    says = f"Archived topic: {told.topic}"
    note(
        "archived",
        says,
        source=session.source,
        session=session.id,
        folder=session.folder,
        path=path,
    )
    return Archived(kept.topic, turns, tokens, counter.exact, path=path)


def _ledger(session: Session, turns: Sequence[int]) -> Ledger:
    """The ledger of a session; with turns given, of those alone."""
    whole = ledger_of(session)
    if not turns:
        return whole
    part = ledger_of(session.numbered(*turns), session.folder)
    return Ledger(
        files=part.files,
        decisions=tuple(each for each in whole.decisions if each.turn in turns),
        questions=tuple(each for each in whole.questions if each.turn in turns),
    )
