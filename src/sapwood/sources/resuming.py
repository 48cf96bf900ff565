"""The one command that resumes a conversation in the program where it ran."""

import shlex

from sapwood.core.session import Session

__all__ = ["resume_command", "resume_of"]

_COMMANDS = {
    "claude-code": "claude --resume",
    "codex": "codex resume",
    "gemini": "gemini --resume",
}


def resume_command(session: Session) -> str:
    """What to type to go on where it ran; empty when there is no such command.

    >>> resume_command(Session("codex", "01a1dc49"))
    'codex resume 01a1dc49'
    """
    return resume_of(session.source, session.parent or session.id)


def resume_of(source: str, session: str) -> str:
    """The same, from the names alone."""
    command = _COMMANDS.get(source)
    return f"{command} {shlex.quote(session)}" if command and session else ""
