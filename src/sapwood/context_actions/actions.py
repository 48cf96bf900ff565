"""Runs context actions: finds the session, does what the request asks, returns a typed answer."""

import asyncio
from pathlib import Path
from typing import Literal, assert_never

from msgspec import structs

from sapwood.analysis.chapters.chapter_builder import chapters_of
from sapwood.analysis.declared_notes import plan_of
from sapwood.analysis.focus import BackgroundTopic, FocusStack, unfocused
from sapwood.analysis.prune_advice import advise_pruning
from sapwood.analysis.session_search import SearchPassage, search_archives, search_session
from sapwood.analysis.window_breakdown import break_down, estimate
from sapwood.config.config_file import Config
from sapwood.config.folders import archives_folder
from sapwood.context_actions.archive_actions import archive, hand_off, resume
from sapwood.context_actions.archive_files import archived_topics, read_archives
from sapwood.context_actions.context_answers import ContextAnswer, Notes, SessionSearchResults
from sapwood.context_actions.context_request import ContextRequest
from sapwood.context_actions.session_finder import (
    Connect,
    NoSession,
    SessionFinder,
    agents_of_folders,
)
from sapwood.context_actions.session_input import SessionInput
from sapwood.context_actions.session_notes import SessionNotes
from sapwood.context_actions.turn_features_cache import TurnFeaturesCache
from sapwood.conversation.turn_search import with_places
from sapwood.core.errors import SapwoodError
from sapwood.journal import add_to_journal
from sapwood.tokens.counters import CachingCounter, counter_for
from sapwood.tokens.estimators import FeatureCounter

_NEW_SESSION_TURNS = 1
"""A session with no more turns than this has nothing to continue yet."""


class ContextActions:
    """Runs the requests of a person or a model that works in a folder.

    `connect` opens the database. `running` is the id of the session from which the request comes,
    if it comes from one. `by_model` says that a model asks: what it puts into focus holds for its
    own session only. With `only_project`, a search finds nothing of other projects.
    """

    def __init__(
        self,
        folder: Path,
        config: Config,
        connect: Connect,
        running: str = "",
        *,
        by_model: bool = False,
        only_project: bool = False,
    ) -> None:
        self._sessions = SessionFinder(folder, config, connect, running)
        self._notes = SessionNotes(config, connect)
        self._levels = config.context.levels
        self._by_model = by_model
        self._only_project = only_project

    async def do(self, request: ContextRequest) -> ContextAnswer:
        """Runs a request. Raises `NoSession` if it needs a session and there is none."""
        match request.action:
            case "focus" | "unfocus":
                return await self._focus(request)
            case "search":
                return await self._search(request)
            case "note":
                return await self._note(request)
            case "resume":
                return await self._resume(request)
            case _:
                source = await self._session(request)
                return await asyncio.to_thread(self._analyse, request, source)

    def _analyse(self, request: ContextRequest, source: SessionInput) -> ContextAnswer:
        """The actions that read the whole session and run in a thread."""
        session = source.session
        counter = CachingCounter(counter_for(session.model))
        if request.action == "prune" and session.source != "sapwood":
            counter = CachingCounter(FeatureCounter())  # as in the warnings of hooks
        match request.action:
            case "estimate":
                return estimate(
                    session,
                    counter,
                    total=source.total,
                    beside=source.beside,
                    levels=self._levels,
                )
            case "breakdown" | "drift" | "prune":
                return self._by_chapter(request.action, source, counter)
            case "ledger":
                return source.ledger()
            case "archive":
                return archive(request, source, counter)
            case "handoff":
                return hand_off(request, source)
            case "focus" | "unfocus" | "search" | "resume" | "note":
                raise AssertionError("`do` runs these")
            case _:
                assert_never(request.action)

    def _by_chapter(
        self,
        action: Literal["breakdown", "drift", "prune"],
        source: SessionInput,
        counter: CachingCounter,
    ) -> ContextAnswer:
        """The actions that need chapters. What is found out about a kept session is cached."""
        session = source.session
        name = counter.name
        cache = (
            TurnFeaturesCache(session.source, session.id, name, session.folder)
            if source.kept
            else None
        )
        if cache is not None:
            counter.counts.update(cache.counts)
        report = chapters_of(session, counter, source.declared, cache)
        match action:
            case "breakdown":
                answer = break_down(
                    session,
                    counter,
                    report,
                    total=source.total,
                    beside=source.beside,
                    levels=self._levels,
                )
            case "drift":
                answer = report
            case "prune":
                background = [topic.name for topic in source.focus.background]
                archived = archived_topics(session)
                answer = advise_pruning(session, counter, report, background, archived)
        if cache is not None:
            cache.save(counter.counts)
        return answer

    async def _session(self, request: ContextRequest) -> SessionInput:
        target = await self._sessions.find(request.session, request.transcript)
        source = await self._sessions.read(target)
        if not source.kept or source.session.source == "sapwood":
            return source
        said = await self._notes.read(source.session)
        return structs.replace(source, notes=said.notes, judged=said.judged, focus=said.focus)

    async def _session_or_none(self, request: ContextRequest) -> SessionInput | None:
        """The session; None if the request names none and the folder has none."""
        try:
            return await self._session(request)
        except NoSession:
            if request.session or request.transcript:
                raise
            return None

    async def _focus(self, request: ContextRequest) -> ContextAnswer:
        """Changes or shows the focus of the session."""
        source = await self._session(request)
        session, topic = source.session, request.topic
        focus = source.focus
        if topic and not source.kept:
            raise SapwoodError(
                "Focus cannot be saved for a transcript file. Name the session: --session ID"
            )
        about = {"folder": session.folder, "session": session.id}
        if request.action == "unfocus":
            unfocused(focus, topic)  # raises before a database is created
            focus = await self._notes.take_out_of_focus(session, topic, by_model=self._by_model)
            add_to_journal("unfocused", f"Sent to the background: {topic}", **about)
        elif topic:
            focus = await self._notes.put_into_focus(
                session, topic, request.priority, by_model=self._by_model
            )
            add_to_journal("focused", f"Focused on: {topic}", **about)
        archived = archived_topics(session)
        background = [
            BackgroundTopic(each.name, each.name.casefold() in archived)
            for each in focus.background
        ]
        return FocusStack(focus.topics, tuple(background))

    async def _note(self, request: ContextRequest) -> ContextAnswer:
        """Declares a note, or lists those in force."""
        source = await self._session(request)
        plan = plan_of(source.session)
        if not request.note:
            if request.text:
                raise SapwoodError(
                    "Say what kind of note it is: goal, decision, question or answer."
                )
            return Notes(source.notes, plan)
        if not source.kept:
            raise SapwoodError(
                "Notes cannot be saved for a transcript file. Name the session: --session ID"
            )
        notes = await self._notes.declare(
            source.session, request.note, request.text, request.replaces, by_model=self._by_model
        )
        return Notes(notes, plan)

    async def _search(self, request: ContextRequest) -> ContextAnswer:
        """Searches the session's turns first, then archives, then the log."""
        if not request.query.strip():
            raise SapwoodError(
                "There is nothing to search for. Give some words, for example: context search "
                "token refresh"
            )
        source = await self._session_or_none(request)
        found: list[SearchPassage] = []
        if source is not None:
            found += search_session(source.session, request.query)
        if source is None or source.kept:
            folders = self._project_folders(source)
            archives = read_archives(archives_folder())
            found += search_archives(
                ((path, each) for path, each in archives if not folders or each.project in folders),
                request.query,
            )
            if len(found) < request.limit:
                found += await self._search_log(request, folders)
        return SessionSearchResults(tuple(found[: request.limit]))

    def _project_folders(self, source: SessionInput | None) -> frozenset[str]:
        """The folders that a search is restricted to; none if it may find everything."""
        if not self._only_project:
            return frozenset()
        own = {source.session.folder} if source and source.session.folder else set[str]()
        return frozenset({*map(str, self._sessions.folders()), *own})

    async def _search_log(
        self, request: ContextRequest, folders: frozenset[str]
    ) -> list[SearchPassage]:
        async with self._sessions.connected() as space:
            if space is None:
                return []
            agents = await agents_of_folders(space, folders) if folders else None
            if agents is not None and not agents:
                return []
            hits = await space.log.search(
                space.space, request.query, agents=agents, limit=request.limit
            )
            hits = await with_places(space, hits)
        return [
            SearchPassage(hit.place or str(hit.ref), " ".join(hit.snippet.split()), hit.at)
            for hit in hits
        ]

    async def _resume(self, request: ContextRequest) -> ContextAnswer:
        source = await self._session_or_none(request)
        is_named = request.session or request.transcript
        if source and not is_named and len(source.session.turns) <= _NEW_SESSION_TURNS:
            source = await self._sessions.before(source.session) or source
        project = source.session.folder if source else await self._sessions.project()
        counter = CachingCounter(counter_for(source.session.model if source else ""))
        return await asyncio.to_thread(resume, request, source, project, counter)
