"""Runs errands: finds the session that is meant, does what is asked, and answers with a value."""

import asyncio
from pathlib import Path
from typing import Literal, assert_never

from sapwood.app.config import Config
from sapwood.app.gardening.answers import Answer
from sapwood.app.gardening.errand import Errand
from sapwood.app.gardening.errors import NoSession
from sapwood.app.gardening.handing import hand_off
from sapwood.app.gardening.keeping import archive, resume
from sapwood.app.gardening.knowing import KnownTurns
from sapwood.app.gardening.looking import breakdown_of, drift_in, estimate_of, prune_in
from sapwood.app.gardening.searching import search
from sapwood.app.gardening.sessions import Sessions
from sapwood.app.gardening.subject import Subject
from sapwood.app.project_focus import focus_on, read_stack, unfocus
from sapwood.core.counting import Counter
from sapwood.core.ledger import ledger_of
from sapwood.garden.focus import BackgroundTopic, Focus, FocusedTopic
from sapwood.tokens import RememberingCounter, counter_for

__all__ = ["Gardener"]

_JUST_BEGUN = 1
"""Turns of a session that has nothing to go on with yet."""


class Gardener:
    """Does errands for whoever works in a folder, perhaps from within a running session."""

    def __init__(self, folder: Path, config: Config, running: str = "") -> None:
        self._config = config
        self._sessions = Sessions(folder, config, running)
        self._levels = config.context.levels

    async def do(self, errand: Errand) -> Answer:
        """Does an errand. Raises `NoSession` where it needs a session and there is none."""
        match errand.action:
            case "focus" | "unfocus":
                return await self._focus(errand)
            case "search":
                return await self._search(errand)
            case "resume":
                return await self._resume(errand)
            case _:
                subject = await self._subject(errand)
                stack = await read_stack(self._config, subject.session.folder)
                focus = _with_declared(stack, subject)
                return await asyncio.to_thread(self._work, errand, subject, focus)

    def _work(self, errand: Errand, subject: Subject, focus: Focus) -> Answer:
        session = subject.session
        counter = RememberingCounter(counter_for(session.model))
        match errand.action:
            case "estimate":
                return estimate_of(subject, counter, self._levels)
            case "breakdown" | "drift" | "prune":
                return self._looked(errand.action, subject, counter, focus)
            case "ledger":
                return ledger_of(session)
            case "archive":
                return archive(errand, subject, counter, focus)
            case "handoff":
                return hand_off(errand, subject, focus)
            case "focus" | "unfocus" | "search" | "resume":
                raise AssertionError("done elsewhere")
            case _:
                assert_never(errand.action)

    def _looked(
        self,
        action: Literal["breakdown", "drift", "prune"],
        subject: Subject,
        counter: Counter,
        focus: Focus,
    ) -> Answer:
        """What is told by topics. Those of a transcript that is only shown leave no trace."""
        known = KnownTurns(subject.session, counter.name) if subject.kept else None
        match action:
            case "breakdown":
                answer = breakdown_of(subject, counter, focus, self._levels, known)
            case "drift":
                answer = drift_in(subject, counter, focus, known)
            case "prune":
                answer = prune_in(subject, counter, focus, known)
        if known is not None:
            known.save()
        return answer

    async def _subject(self, errand: Errand) -> Subject:
        return await self._sessions.read(
            await self._sessions.find(errand.session, errand.transcript)
        )

    async def _subject_if_any(self, errand: Errand) -> Subject | None:
        """The session, unless none was named and none is here."""
        try:
            return await self._subject(errand)
        except NoSession:
            if errand.session or errand.transcript:
                raise
            return None

    async def _focus(self, errand: Errand) -> Answer:
        """The stack belongs to the project, so a session is needed only if one was named."""
        if errand.session or errand.transcript:
            project = (await self._subject(errand)).session.folder
        else:
            project = await self._sessions.project()
        if errand.action == "unfocus":
            return await unfocus(self._config, errand.topic, project)
        if not errand.topic:
            return await read_stack(self._config, project)
        return await focus_on(self._config, errand.topic, errand.priority, project)

    async def _search(self, errand: Errand) -> Answer:
        subject = await self._subject_if_any(errand)
        async with self._sessions.connected() as held:
            return await search(errand.query, errand.limit, subject, held)

    async def _resume(self, errand: Errand) -> Answer:
        subject = await self._subject_if_any(errand)
        named = errand.session or errand.transcript
        if subject and not named and len(subject.session.turns) <= _JUST_BEGUN:
            subject = await self._sessions.before(subject.session) or subject
        project = subject.session.folder if subject else await self._sessions.project()
        stack = await read_stack(self._config, project)
        focus = _with_declared(stack, subject) if subject else stack
        counter = RememberingCounter(counter_for(subject.session.model if subject else ""))
        return await asyncio.to_thread(resume, errand, subject, project, counter, focus)


def _with_declared(stack: Focus, subject: Subject) -> Focus:
    """The stack of the project, with the topics that an own agent's log declares below."""
    known = {each.name.casefold() for each in (*stack.topics, *stack.background)}
    last = len(stack.topics)
    declared = [name for name in subject.focus if name.casefold() not in known]
    away = [name for name in subject.background if name.casefold() not in known]
    return Focus(
        (*stack.topics, *(FocusedTopic(n, priority=last + i) for i, n in enumerate(declared, 1))),
        (*stack.background, *map(BackgroundTopic, away)),
    )
