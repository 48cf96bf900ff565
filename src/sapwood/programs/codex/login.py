"""Whether somebody has logged in to Codex."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from sapwood.config.toml_edit import parse_toml
from sapwood.programs.codex.program import PROGRAM

_KEYS = ("CODEX_API_KEY", "OPENAI_API_KEY")


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
