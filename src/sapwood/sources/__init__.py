"""Conversations of other programs, as Sapwood sees them: read, found, followed, never touched."""

from sapwood.sources.errors import NotATranscript
from sapwood.sources.finding import Found, Homes, current, discover, homes_of
from sapwood.sources.following import Place, Rows
from sapwood.sources.resuming import resume_command
from sapwood.sources.sessions import read_session, read_subagents, tail_session

__all__ = [
    "Found",
    "Homes",
    "NotATranscript",
    "Place",
    "Rows",
    "current",
    "discover",
    "homes_of",
    "read_session",
    "read_subagents",
    "resume_command",
    "tail_session",
]
