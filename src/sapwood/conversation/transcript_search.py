"""Searches the sessions of all programs on this machine, in their own files, without an import.

Files are read one after the other, and only those that contain a word of the query are parsed. Of
what was read, only the turns that have a word stay in memory, up to a limit.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import structs

from sapwood.conversation.turn_search import passes
from sapwood.core.event_texts import event_texts
from sapwood.core.events import SYSTEM, Recorded, Size, TurnRecorded
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.log_values import SearchHit
from sapwood.core.search_query import read_query
from sapwood.core.search_ranking import CandidateEvent, grouped, search_events
from sapwood.core.search_terms import folded_letters
from sapwood.programs.registry import program
from sapwood.programs.transcripts.discovery import NotATranscript, discover
from sapwood.programs.transcripts.session_files import FoundSession
from sapwood.programs.transcripts.session_reader import read_events
from sapwood.programs.transcripts.transcript_events import TranscriptTurn

_MAX_KEPT = 4_000


def search_transcripts(
    query: str, *, limit: int = 20, progress: Callable[[int, int], None] = lambda _read, _all: None
) -> list[SearchHit]:
    """The turns of all sessions that answer a query, those of one session together, best first.

    The agent of a hit is the path of the transcript, and its version the number of the turn.
    `progress` is called with the number of sessions that were read, and of all.
    """
    asked = read_query(query)
    needles = [term for key in asked.keys for term in key.terms]
    kept: list[tuple[int, CandidateEvent]] = []
    names: dict[str, str] = {}
    sessions = discover()
    for number, session in enumerate(sessions, start=1):
        names[str(session.path)] = f"{session.source} {session.id}"
        for turn in _turns(session, needles):
            letters = folded_letters(event_texts(turn.event).search)
            present = sum(needle in letters for needle in needles)
            if present and passes(asked, [turn]):
                kept.append((present, CandidateEvent(turn, turn.version)))
        if len(kept) > 2 * _MAX_KEPT:  # those with the most words; of equal ones, the newest
            kept = sorted(kept, key=lambda each: each[0], reverse=True)[:_MAX_KEPT]
        progress(number, len(sessions))
    hits = search_events(asked, [each for _, each in kept])[:limit]
    return grouped(structs.replace(hit, name=names[hit.ref.agent]) for hit in hits)


def _turns(session: FoundSession, needles: Sequence[str]) -> Iterator[Recorded]:
    """The turns of a session as events; none if its file has no word of the query."""
    try:
        if not any(_may_contain(each, needles) for each in _contents(session)):
            return
        events = read_events(session.path, session.source)
    except (OSError, NotATranscript):
        return  # deleted or damaged meanwhile: the others can still be searched
    agent, command = AgentId(str(session.path)), CommandId("")
    turns = (each for each in events if isinstance(each, TranscriptTurn))
    for number, each in enumerate(turns, start=1):
        status = "interrupted" if each.status == "open" else each.status
        event = TurnRecorded(None, each.prompt, each.items, Size(0, ""), status)
        yield Recorded(agent, number, event, each.first.at, SYSTEM, command)


def _contents(session: FoundSession) -> Iterator[bytes]:
    """The bytes of a session: those of each file, or those of its rows in a database."""
    sessions = program(session.source).sessions
    if sessions.in_database:
        yield b"\n".join(row for _, row, _ in sessions.rows(session.path))
    else:
        yield from (file.read_bytes() for _, file in sessions.parts_of(session.path))


def _may_contain(content: bytes, needles: Sequence[str]) -> bool:
    """Whether a session has one of the terms. Other letters than ASCII may be escaped in it."""
    if not all(needle.isascii() for needle in needles):
        return True
    content = content.lower()
    return not content.isascii() or any(needle.encode() in content for needle in needles)
