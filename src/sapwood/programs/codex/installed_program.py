"""The installed Codex: where it is, its version, and whether somebody has logged in."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from sapwood.config.toml_parser import parse_toml
from sapwood.programs.agent_provider import ProgramInfo
from sapwood.programs.codex.program import PROGRAM
from sapwood.programs.installed_programs import printed_version

TRIED = frozenset({"0.163.0"})
"""The versions with which changing a thread was tried, by `just providers-e2e`."""

_KEYS = ("CODEX_API_KEY", "OPENAI_API_KEY")

_known: dict[tuple[str, int], str] = {}


def find_codex(environ: Mapping[str, str]) -> ProgramInfo | None:
    """The program that SAPWOOD_CODEX names, else `codex` on the PATH; None if there is none."""
    path = PROGRAM.executable_path(environ)
    version = _version(path, environ) if path else ""
    if path is None or not version:
        return None
    return ProgramInfo(PROGRAM.name, path, version, version in TRIED, is_logged_in(environ))


def _version(path: str, environ: Mapping[str, str]) -> str:
    try:
        key = (path, os.stat(path).st_mtime_ns)
    except OSError:
        return ""
    if key not in _known:
        _known[key] = printed_version(path, environ)
    return _known[key]


def is_logged_in(environ: Mapping[str, str]) -> bool | None:
    """Whether there are credentials; None if a provider of the user's own needs others."""
    home = PROGRAM.home(environ)
    if any(environ.get(key) for key in _KEYS) or _has_credentials(home / "auth.json"):
        return True
    return None if _has_own_provider(home / "config.toml") else False


def _has_credentials(path: Path) -> bool:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, object])
    except (OSError, msgspec.MsgspecError):
        return False
    return bool(found.get("tokens") or found.get("OPENAI_API_KEY"))


def _has_own_provider(path: Path) -> bool:
    try:
        provider = parse_toml(path.read_text("utf-8")).get("model_provider", "openai")
    except (OSError, ValueError):
        return False
    return provider != "openai"
