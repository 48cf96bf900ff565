"""The installed Claude Code: its path and login, and where it keeps its sessions."""

import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from sapwood.core.model_calls import Failure
from sapwood.programs.claude_code.program import PROGRAM
from sapwood.programs.program import user_home

_MAX_NAME = 200
_NOT_PLAIN = re.compile(r"[^a-zA-Z0-9]")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def program_path(environ: Mapping[str, str]) -> str | None:
    """The program that SAPWOOD_CLAUDE names, else the one on the PATH; None if there is none."""
    found = PROGRAM.executable_path(environ)
    if found or environ.get(PROGRAM.executable_variable):
        return found
    beside = user_home(environ) / ".claude" / "local" / "claude"
    return str(beside) if os.access(beside, os.X_OK) else None


def project_folder(folder: str) -> str:
    """The name of the folder in which the program keeps the sessions of a project's folder.

    >>> project_folder("/srv/my project")
    '-srv-my-project'
    """
    whole = unicodedata.normalize("NFC", os.path.realpath(folder))
    plain = _NOT_PLAIN.sub("-", whole)
    if len(plain) <= _MAX_NAME:
        return plain
    return f"{plain[:_MAX_NAME]}-{_short_hash(whole)}"


def session_path(session: str, folder: str, environ: Mapping[str, str]) -> Path:
    """The transcript of a session: where it is, else where the program would write it."""
    projects = PROGRAM.home(environ) / "projects"
    if re.fullmatch(r"[A-Za-z0-9-]+", session) is None:
        raise Failure("other", f"'{session}' is not the id of a Claude Code session.")
    expected = projects / project_folder(folder) / f"{session}.jsonl"
    if expected.exists():
        return expected
    return next(iter(sorted(projects.glob(f"*/{session}.jsonl"))), expected)


def is_logged_in(environ: Mapping[str, str]) -> bool | None:
    """Whether there are credentials; None if they may be in the keychain of the system."""
    keys = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
    if any(environ.get(key) for key in keys):
        return True
    home = PROGRAM.home(environ)
    if (home / ".credentials.json").exists():
        return True
    return None if os.uname().sysname == "Darwin" else False


def _short_hash(text: str) -> str:
    """The program's own hash of a long path: 32 bits, in base 36."""
    number = 0
    for char in text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass"):
        number = (number * 31 + ord(char)) & 0xFFFFFFFF
    number = abs(number - (1 << 32) if number >= 1 << 31 else number)
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
