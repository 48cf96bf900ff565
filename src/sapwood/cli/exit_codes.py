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
    Exit.NO_MODEL: "no model, no such model, no API key, or an API key that was refused",
    Exit.DATABASE: "the database cannot be read or written",
    Exit.INTERRUPTED: "interrupted; the partial reply is kept",
    Exit.TIMED_OUT: "the time given by --timeout is over; the partial reply is kept",
    Exit.UNREACHABLE: "the model cannot be reached or is overloaded; try again later",
    Exit.NO_SESSION: "there is no such session or transcript, or none in this folder",
    Exit.BLOCKED: (
        "tools were blocked: no rule allowed them and nobody could be asked here, or the turn "
        "waits for an answer elsewhere"
    ),
}
