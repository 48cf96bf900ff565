"""The installed Claude Code: its path, version and login, and where it keeps its sessions."""

import os
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from sapwood.core.model_calls import Failure
from sapwood.private_files import replace_file
from sapwood.programs.agent_provider import ProgramInfo
from sapwood.programs.claude_code.program import PROGRAM
from sapwood.programs.installed_programs import printed_version
from sapwood.programs.program import user_home

TRIED = frozenset({"2.1.325"})
"""The versions whose sessions are changed in place: exactly those that the proofs run."""

_LONGEST_NAME = 200
_NOT_PLAIN = re.compile(r"[^a-zA-Z0-9]")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def find_program(environ: Mapping[str, str], cache: Path) -> ProgramInfo | None:
    """The program that SAPWOOD_CLAUDE names, else the one on the PATH; None if there is none.

    It is started once to ask for its version, which is kept in the file `cache`.
    """
    path = _program_path(environ)
    if path is None:
        return None
    version = _version(path, environ, cache)
    return ProgramInfo(PROGRAM.name, path, version, version in TRIED, _is_logged_in(environ))


def project_folder(folder: str) -> str:
    """The name of the folder in which the program keeps the sessions of a project's folder.

    >>> project_folder("/srv/my project")
    '-srv-my-project'
    """
    whole = unicodedata.normalize("NFC", os.path.realpath(folder))
    plain = _NOT_PLAIN.sub("-", whole)
    if len(plain) <= _LONGEST_NAME:
        return plain
    return f"{plain[:_LONGEST_NAME]}-{_short_hash(whole)}"


def session_path(session: str, folder: str, environ: Mapping[str, str]) -> Path:
    """The transcript of a session: where it is, else where the program would write it."""
    projects = PROGRAM.home(environ) / "projects"
    if re.fullmatch(r"[A-Za-z0-9-]+", session) is None:
        raise Failure("other", f"'{session}' is not the id of a Claude Code session.")
    expected = projects / project_folder(folder) / f"{session}.jsonl"
    if expected.exists():
        return expected
    return next(iter(sorted(projects.glob(f"*/{session}.jsonl"))), expected)


def _program_path(environ: Mapping[str, str]) -> str | None:
    found = PROGRAM.executable_path(environ)
    if found or environ.get(PROGRAM.executable_variable):
        return found
    beside = user_home(environ) / ".claude" / "local" / "claude"
    return str(beside) if os.access(beside, os.X_OK) else None


def _version(path: str, environ: Mapping[str, str], cache: Path) -> str:
    real = os.path.realpath(path)
    status = os.stat(real)
    key = f"{real} {status.st_size} {status.st_mtime_ns}"
    try:
        known = msgspec.json.decode(cache.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError, ValueError):
        known = {}
    if key not in known:
        known = {key: printed_version(path, environ)}
        if known[key]:
            with suppress(OSError):  # then it is asked again next time
                replace_file(cache, msgspec.json.encode(known))
    return known[key]


def _is_logged_in(environ: Mapping[str, str]) -> bool | None:
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
