"""The exit codes of `sapwood`. Scripts rely on them, so none of them ever changes."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit code of a command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NO_MODEL = 3
    DATABASE = 4
    INTERRUPTED = 5
    TIMED_OUT = 6
    UNREACHABLE = 7
    NO_SESSION = 8
    BLOCKED = 9


MEANINGS: dict[Exit, str] = {
    Exit.OK: "done",
    Exit.FAILED: "refused, or the turn failed; the message gives the reason",
    Exit.USAGE: "the command line or the configuration is wrong",
    Exit.NO_MODEL: "no model is set or it is unknown, or its API key is missing or was rejected",
    Exit.DATABASE: "the database cannot be read or written",
    Exit.INTERRUPTED: "interrupted; the partial reply is kept",
    Exit.TIMED_OUT: "timed out (--timeout); the partial reply is kept",
    Exit.UNREACHABLE: "the model cannot be reached or is overloaded; try again later",
    Exit.NO_SESSION: "the session or transcript was not found, or this folder has none",
    Exit.BLOCKED: (
        "tools were blocked because no rule allowed them and nobody could be asked, or the turn "
        "is waiting for an answer elsewhere"
    ),
}
