"""Messages and exit codes for errors, with the next command to type. Imported after an error."""

import errno
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sapwood.cli.exit_codes import Exit
from sapwood.config.config_file import ConfigError
from sapwood.config.folders import is_full
from sapwood.context_actions.session_finder import NoSession
from sapwood.core import refusals
from sapwood.core.errors import LogError, RefusedError, SapwoodError
from sapwood.core.model_calls import Failure
from sapwood.programs.transcripts.discovery import NotATranscript
from sapwood.workspace.permissions.permission_rules import RuleError

if TYPE_CHECKING:
    from sapwood.cli.invocation import Invocation


def shell_message(refusal: refusals.Refusal) -> str:
    """Returns the message of a refusal, with the next command as it is typed in a shell."""
    match refusal:
        case refusals.UnknownAgent(agent, close):
            instead = (
                f"Did you mean {' or '.join(close)}?" if close else "Type: sapwood agents --all"
            )
            return f"There is no agent '{agent[:60]}'. {instead}"
        case refusals.ModelNeeded(command, agent):
            return f"{command} needs a model. To run it, type: sapwood {command[1:]} {agent}"
        case refusals.NoSuchCall(agent, version):
            return (
                f"Version {version} of {agent} is not a model call. To list the calls, type: "
                f"sapwood replay {agent} --calls"
            )
        case refusals.TurnIsOpen(command):
            name = _typed_agent()
            return (
                f"{command} does not work while a turn is open. Wait until it ends, continue it "
                f"with 'sapwood run --agent {name}', or stop it with 'sapwood interrupt {name}'."
            )
        case refusals.Imported(agent, source):
            return (
                f"Agent '{agent}' was imported from {source} and continues there. To continue "
                f"here, fork it: sapwood fork {agent}."
            )
        case refusals.NotRunning(agent, "archived"):
            return (
                f"Agent '{agent}' is archived. You can still read its log. To continue it, type: "
                f"sapwood do {agent} /unarchive; to continue a copy: sapwood fork {agent}"
            )
        case refusals.NotRunning(agent, status):
            return (
                f"Agent '{agent}' is {status}. You can still read its log; to continue from it, "
                f"type: sapwood fork {agent}"
            )
        case _:
            return refusal.sentence


_SLASH = re.compile(
    r"(?<![\w/])(?<!done: )/(clear|drop|rewind|edit|compact|undo|redo|bring|load|mark|fork)\b"
)


def in_shell(message: str, session: str = "") -> str:
    """The message of a command on a session, with other commands as they are typed in a shell.

    `session` is what the person named it by, if they did: other commands would take the newest.
    What was undone keeps its name: it may be a command of the program itself.

    >>> in_shell("Dropped turn 2. /undo or /load 2 brings it back.")
    'Dropped turn 2. sapwood undo or sapwood bring 2 brings it back.'
    >>> in_shell("Type /drop 4-8.", "4cfa19")
    'Type sapwood drop --session 4cfa19 4-8.'
    """
    named = f" --session {shlex.quote(session)}" if session else ""
    return _SLASH.sub(lambda found: f"sapwood {found[1].replace('load', 'bring')}{named}", message)


def _typed_agent() -> str:
    """The agent as it was typed for this command, quoted for a shell; else a placeholder."""
    context = click.get_current_context(silent=True)
    typed = context.params.get("agent") if context else None
    return shlex.quote(typed) if isinstance(typed, str) and typed else "AGENT"


def error_message(error: Exception, invocation: "Invocation") -> tuple[str, Exit]:
    """Returns the message and the exit code for an error."""
    match error:
        case RefusedError():
            return shell_message(error.refusal), Exit.FAILED
        case Failure():
            return str(error), exit_code_for(error.kind)
        case ConfigError() | RuleError():
            return str(error), Exit.USAGE
        case NoSession() | NotATranscript():
            return str(error), Exit.NO_SESSION
        case LogError():
            return _disk_full(invocation) or str(error), Exit.DATABASE
        case SapwoodError():
            text, full = " ".join(str(error).split()), _disk_full(invocation)
            return (f"{text} {full}", Exit.DATABASE) if full else (text, Exit.FAILED)
        case ModuleNotFoundError() if "pip install" in str(error):
            return str(error), Exit.FAILED
        case OSError(errno=errno.ENOSPC):
            if full := _disk_full(invocation):
                return full, Exit.DATABASE
            return "The disk is full. Free some space and try again.", Exit.FAILED
        case FileNotFoundError() if _folder_is_gone():
            return (
                "This folder no longer exists. Change to another one and try again.",
                Exit.FAILED,
            )
        case RuntimeError() if "home directory" in str(error):
            return (
                "A path starts with ~ and a name that is no user of this machine. Write the whole "
                "path.",
                Exit.USAGE,
            )
        case OSError(filename=str(name), strerror=str(why)):
            return f"{name}: {why}.", Exit.FAILED
        case _:
            return _defect(error, invocation), Exit.FAILED


def _folder_is_gone() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def exit_code_for(kind: str | None) -> Exit:
    """Returns the exit code for a kind of failure; see `sapwood.core.model_calls.FailureKind`."""
    match kind:
        case "no_key" | "bad_key" | "no_model":
            return Exit.NO_MODEL
        case "no_network" | "overloaded" | "cut":
            return Exit.UNREACHABLE
        case _:
            return Exit.FAILED


def _disk_full(invocation: "Invocation") -> str:
    """Returns the message for a full disk, the unnamed cause of many errors; empty if it is not."""
    folder = Path(invocation.config.address).expanduser().parent
    if not is_full(folder):
        return ""
    return (
        f"There is no disk space left at {folder}. Everything stored so far is kept. Free some "
        "space and run the command again; that is safe."
    )


def _defect(error: Exception, invocation: "Invocation") -> str:
    """Returns the message for an error that is a defect of Sapwood."""
    where = f" The details are in {invocation.log_file}." if invocation.log_file else ""
    return (
        f"Unexpected error: {type(error).__name__}: {error}.{where} "
        "--debug prints them here. Please report it."
    )
