"""The errand that finds words: in the session, in archives, and in everything that is kept."""

from sapwood.app.connection import Connection
from sapwood.app.folders import archives_folder
from sapwood.app.gardening.answers import Found
from sapwood.app.gardening.subject import Subject
from sapwood.core.errors import SapwoodError
from sapwood.garden.archiving import read_archives
from sapwood.garden.searching import Passage, search_archives, search_session, words_of

__all__ = ["search"]


async def search(
    query: str, limit: int, subject: Subject | None, connection: Connection | None
) -> Found:
    """The session's own turns first, then archives, then the log of all agents."""
    words = words_of(query)
    if not words:
        raise SapwoodError("What is to be found? Give words, such as: context search token refresh")
    found: list[Passage] = []
    if subject is not None:
        found += search_session(subject.session, words)
    if subject is None or subject.kept:
        found += search_archives(read_archives(archives_folder()), words)
        if connection is not None and len(found) < limit:
            hits = await connection.log.search(connection.space, query, limit=limit)
            found += (Passage(str(hit.ref), " ".join(hit.snippet.split()), hit.at) for hit in hits)
    return Found(tuple(found[:limit]))
