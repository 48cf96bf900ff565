"""Reads and finds the transcripts of agent programs, without changing them.

Names are imported when they are first used, because every call of a hook pays for its imports.
"""

TYPE_CHECKING = False  # as in `typing`, whose import would cost more than this module
if TYPE_CHECKING:
    from sapwood.programs.transcripts.detection import NotATranscript
    from sapwood.programs.transcripts.discovery import (
        ProgramHomes,
        discover,
        newest_session,
        program_homes,
        subagents_of,
    )
    from sapwood.programs.transcripts.imported_ids import imported_agent_id
    from sapwood.programs.transcripts.row_file import FilePosition, RowFile
    from sapwood.programs.transcripts.session_files import FoundSession
    from sapwood.programs.transcripts.session_reader import (
        detect_file,
        read_session,
        read_subagents,
        session_id,
        tail_session,
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
    "session_id",
    "subagents_of",
    "tail_session",
]

_MODULES = {
    "sapwood.programs.transcripts.detection": "NotATranscript",
    "sapwood.programs.transcripts.discovery": (
        "ProgramHomes newest_session discover program_homes subagents_of"
    ),
    "sapwood.programs.transcripts.row_file": "FilePosition RowFile",
    "sapwood.programs.transcripts.imported_ids": "imported_agent_id",
    "sapwood.programs.transcripts.session_files": "FoundSession",
    "sapwood.programs.transcripts.session_reader": (
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
