"""Reads and finds the transcripts of Claude Code, Codex and Gemini CLI, without changing them.

Names are imported when they are first used, because every call of a hook pays for its imports.
"""

TYPE_CHECKING = False  # as in `typing`, whose import would cost more than this module
if TYPE_CHECKING:
    from sapwood.sources.detection import NotATranscript
    from sapwood.sources.discovery import (
        FoundSession,
        ProgramHomes,
        discover,
        newest_session,
        program_homes,
        subagents_of,
    )
    from sapwood.sources.row_file import FilePosition, RowFile
    from sapwood.sources.session_reader import (
        detect_file,
        read_session,
        read_subagents,
        session_id,
        tail_session,
    )
    from sapwood.sources.source_programs import (
        imported_agent_id,
        resume_command,
        resume_command_for,
    )

__all__ = [
    "FilePosition",
    "FoundSession",
    "NotATranscript",
    "ProgramHomes",
    "RowFile",
    "detect_file",
    "discover",
    "imported_agent_id",
    "newest_session",
    "program_homes",
    "read_session",
    "read_subagents",
    "resume_command",
    "resume_command_for",
    "session_id",
    "subagents_of",
    "tail_session",
]

_MODULES = {
    "sapwood.sources.detection": "NotATranscript",
    "sapwood.sources.discovery": (
        "FoundSession ProgramHomes newest_session discover program_homes subagents_of"
    ),
    "sapwood.sources.row_file": "FilePosition RowFile",
    "sapwood.sources.source_programs": "imported_agent_id resume_command resume_command_for",
    "sapwood.sources.session_reader": (
        "detect_file read_session read_subagents session_id tail_session"
    ),
}

if not TYPE_CHECKING:  # so that a type checker still reports a name that does not exist

    def __getattr__(name: str) -> object:
        for module, names in _MODULES.items():
            if name in names.split():
                from importlib import import_module

                return getattr(import_module(module), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
