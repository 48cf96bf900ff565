"""The codes that the program ends with. They are a promise to scripts: none ever changes."""

from enum import IntEnum

__all__ = ["MEANINGS", "Exit"]


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NO_MODEL = 3
    DATABASE = 4
    INTERRUPTED = 5
    TIMED_OUT = 6
    UNREACHABLE = 7
    NO_SESSION = 8


MEANINGS: dict[Exit, str] = {
    Exit.OK: "done",
    Exit.FAILED: "refused, or the turn failed; the message says why",
    Exit.USAGE: "the command line or the configuration is wrong",
    Exit.NO_MODEL: "no model, no such model, no key for it, or a key that was refused",
    Exit.DATABASE: "the database cannot be read or written",
    Exit.INTERRUPTED: "interrupted; what was there is kept",
    Exit.TIMED_OUT: "the time given by --timeout is up; what was there is kept",
    Exit.UNREACHABLE: "the model is out of reach or overloaded; try again later",
    Exit.NO_SESSION: "there is no such session or transcript, or none in this folder",
}
