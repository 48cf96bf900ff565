"""Finds the sessions that the programs left on this machine, by names, times and first lines."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG

from msgspec import Struct, structs

from sapwood.sources.detecting import HEAD

__all__ = ["Found", "Homes", "current", "discover", "homes_of", "subagents_of"]

_GLANCE = 16 * 1024
_UUID = 36
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,128}")
_LONGEST_SLUG = 200
_SLUG = re.compile(r"[^A-Za-z0-9]")
_CWD = re.compile(rb'"cwd":\s?("(?:[^"\\]|\\.)*")')
_SESSION = re.compile(rb'"sessionId":\s?("(?:[^"\\]|\\.)*")')


class Found(Struct, frozen=True):
    """A session on disk. `folder` is where it ran, `updated` in microseconds since 1970."""

    source: str
    id: str
    path: Path
    folder: str
    updated: int
    size: int


class Homes(Struct, frozen=True):
    """Where each program keeps what it remembers."""

    claude: Path
    codex: Path
    gemini: Path


def homes_of(environ: Mapping[str, str] = os.environ, home: Path | None = None) -> Homes:
    """Where the programs keep their sessions: as the environment says, else in the user's home."""
    home = home or Path.home()
    return Homes(
        claude=Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude"),
        codex=Path(environ.get("CODEX_HOME") or home / ".codex"),
        gemini=Path(environ.get("GEMINI_CLI_HOME") or home) / ".gemini",
    )


def discover(homes: Homes | None = None, folder: Path | None = None) -> list[Found]:
    """All sessions, or those that ran in a folder, newest first. Subagents are not listed."""
    return list(_newest_first(homes or homes_of(), folder))


def current(folder: Path, homes: Homes | None = None) -> Found | None:
    """The newest session of a folder."""
    return next(_newest_first(homes or homes_of(), folder), None)


def subagents_of(found: Found) -> list[Found]:
    """The transcripts that the subagents of a session left beside it."""
    path = found.path
    match found.source:
        case "claude-code":
            files = path.with_suffix("").glob("subagents/agent-*.jsonl")
        case "gemini":
            files = (path.parent / found.id).glob("*.jsonl") if _is_plain(found.id) else ()
        case _:
            files = ()
    listed = sorted(_listed(found.source, files), key=lambda each: str(each.path))
    return [structs.replace(each, folder=found.folder) for each in listed]


def _is_plain(name: str) -> bool:
    """Whether a name that stood in a file can be part of a path."""
    return bool(_PLAIN.fullmatch(name))


def _newest_first(homes: Homes, folder: Path | None) -> Iterator[Found]:
    """Looks into a file only when its turn comes: whoever wants the newest waits for few."""
    listed = [
        *_listed("claude-code", _claude_files(homes.claude, folder)),
        *_listed("codex", homes.codex.glob("sessions/*/*/*/rollout-*.jsonl")),
        *_listed("codex", homes.codex.glob("archived_sessions/rollout-*.jsonl")),
        *_listed("gemini", homes.gemini.glob("tmp/*/chats/session-*.json")),
        *_listed("gemini", homes.gemini.glob("tmp/*/chats/session-*.jsonl")),
    ]
    for found in sorted(listed, key=lambda each: (-each.updated, str(each.path))):
        looked = _look_into(found)
        if looked and (folder is None or _ran_in(looked, folder)):
            yield looked


def _listed(source: str, paths: Iterable[Path]) -> Iterator[Found]:
    for path in paths:
        with suppress(OSError):
            status = path.stat()
            if S_ISREG(status.st_mode) and status.st_size:
                updated = status.st_mtime_ns // 1000
                yield Found(source, _id_of(source, path), path, "", updated, status.st_size)


def _claude_files(home: Path, folder: Path | None) -> Iterator[Path]:
    slug = "*" if folder is None else _SLUG.sub("-", str(folder))[:_LONGEST_SLUG]
    names = (
        f"projects/{slug}*/*.jsonl" if len(slug) == _LONGEST_SLUG else f"projects/{slug}/*.jsonl"
    )
    return (path for path in home.glob(names) if not path.name.startswith("agent-"))


def _id_of(source: str, path: Path) -> str:
    stem = path.stem.removeprefix("agent-")
    return stem[-_UUID:] if source == "codex" else stem


def _look_into(found: Found) -> Found | None:
    """The same with what the first rows say; None when it cannot be read."""
    try:
        with found.path.open("rb") as file:
            head = file.read(_GLANCE)
            if not (cwd := _CWD.search(head)) and found.source != "gemini":
                head += file.read(HEAD - _GLANCE)
                cwd = _CWD.search(head)
    except OSError:
        return None
    if found.source == "gemini":
        return _gemini(found, head)
    return structs.replace(found, folder=_string(cwd))


def _gemini(found: Found, head: bytes) -> Found:
    """Gemini names its folders by hash, and leaves the path in a file beside the chats."""
    root = ""
    with suppress(OSError):
        root = (found.path.parents[1] / ".project_root").read_text("utf-8", "replace").strip()
    return structs.replace(found, id=_string(_SESSION.search(head)) or found.id, folder=root)


def _string(found: "re.Match[bytes] | None") -> str:
    if found is None:
        return ""
    try:
        return str(json.loads(found[1].decode("utf-8", "replace")))
    except ValueError:
        return ""


def _ran_in(found: Found, folder: Path) -> bool:
    if found.folder:
        return Path(found.folder) == folder
    if found.source == "gemini":
        return found.path.parents[1].name == sha256(str(folder).encode()).hexdigest()
    return found.source == "claude-code"
