"""What went wrong, in a sentence for somebody at a shell, with the code that goes with it.

Imported when something did.
"""

import errno
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.app.config import ConfigError
from sapwood.app.gardening.errors import NoSession
from sapwood.app.opening import is_full
from sapwood.cli.exits import Exit
from sapwood.cli.wording import for_shell
from sapwood.core.calling import Failure
from sapwood.core.errors import LogError, RefusedError, SapwoodError
from sapwood.sources.errors import NotATranscript

if TYPE_CHECKING:
    from sapwood.cli.invocation import Invocation

__all__ = ["code_of", "explained"]


def explained(error: Exception, invocation: "Invocation") -> tuple[str, Exit]:
    """The sentence and the exit code for an error."""
    match error:
        case RefusedError():
            return for_shell(error.refusal), Exit.FAILED
        case Failure():
            return str(error), code_of(error.kind)
        case ConfigError():
            return str(error), Exit.USAGE
        case NoSession() | NotATranscript():
            return str(error), Exit.NO_SESSION
        case LogError():
            return _full(invocation) or str(error), Exit.DATABASE
        case SapwoodError():
            told, full = " ".join(str(error).split()), _full(invocation)
            return (f"{told} {full}", Exit.DATABASE) if full else (told, Exit.FAILED)
        case ModuleNotFoundError() if "pip install" in str(error):
            return str(error), Exit.FAILED
        case OSError(filename=str(name), strerror=str(why)):
            return f"{name}: {why}.", Exit.FAILED
        case OSError(errno=errno.ENOSPC):
            return "The disk is full. Free some space and try again.", Exit.FAILED
        case _:
            return _defect(error, invocation), Exit.FAILED


def code_of(kind: str | None) -> Exit:
    """The exit code for a failure of this kind; see `sapwood.core.calling.FailureKind`."""
    match kind:
        case "no_key" | "bad_key" | "no_model":
            return Exit.NO_MODEL
        case "no_network" | "overloaded" | "cut":
            return Exit.UNREACHABLE
        case _:
            return Exit.FAILED


def _full(invocation: "Invocation") -> str:
    """Many errors have this one cause, and do not know it. Empty while there is space."""
    folder = Path(invocation.config.address).expanduser().parent
    if not is_full(folder):
        return ""
    return (
        f"No space is left under {folder}. Everything acknowledged before is kept. "
        "Free some, then give the command again: that is safe."
    )


def _defect(error: Exception, invocation: "Invocation") -> str:
    """Something that nobody foresaw; the log file has it whole."""
    where = f" The details are in {invocation.log_file}." if invocation.log_file else ""
    return (
        f"Something went wrong that should not: {type(error).__name__}: {error}.{where} "
        "--debug shows them here; please report it."
    )
