"""Conversations of other programs, as Sapwood sees them: read, found, followed, never touched.

Names are imported when they are first used: a hook pays for every import, at every call.
"""

TYPE_CHECKING = False  # that of `typing`, whose import would cost more than all of this
if TYPE_CHECKING:
    from sapwood.sources.errors import NotATranscript
    from sapwood.sources.finding import Found, Homes, current, discover, homes_of, subagents_of
    from sapwood.sources.following import Place, Rows
    from sapwood.sources.naming import agent_of
    from sapwood.sources.resuming import resume_command, resume_of
    from sapwood.sources.sessions import (
        detected,
        read_session,
        read_subagents,
        session_id,
        tail_session,
    )

__all__ = [
    "Found",
    "Homes",
    "NotATranscript",
    "Place",
    "Rows",
    "agent_of",
    "current",
    "detected",
    "discover",
    "homes_of",
    "read_session",
    "read_subagents",
    "resume_command",
    "resume_of",
    "session_id",
    "subagents_of",
    "tail_session",
]

_HOMES = {
    "sapwood.sources.errors": "NotATranscript",
    "sapwood.sources.finding": "Found Homes current discover homes_of subagents_of",
    "sapwood.sources.following": "Place Rows",
    "sapwood.sources.naming": "agent_of",
    "sapwood.sources.resuming": "resume_command resume_of",
    "sapwood.sources.sessions": "detected read_session read_subagents session_id tail_session",
}

if not TYPE_CHECKING:  # so that a type checker still reports a name that does not exist

    def __getattr__(name: str) -> object:
        for home, names in _HOMES.items():
            if name in names.split():
                from importlib import import_module

                return getattr(import_module(home), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
