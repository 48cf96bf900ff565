"""Finds the sessions of other programs on this machine, by file name, time and first rows."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG

from msgspec import Struct, structs

from sapwood.sources.codex.segment_files import codex_thread
from sapwood.sources.detection import HEAD

_FIRST_BYTES = 16 * 1024
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,128}")
_LONGEST_SLUG = 200
_SLUG = re.compile(r"[^A-Za-z0-9]")
_CWD = re.compile(rb'"cwd":\s?("(?:[^"\\]|\\.)*")')
_SESSION = re.compile(rb'"sessionId":\s?("(?:[^"\\]|\\.)*")')


class FoundSession(Struct, frozen=True):
    """A transcript. `folder` is where the session ran; `updated` is in microseconds since 1970."""

    source: str
    id: str
    path: Path
    folder: str
    updated: int
    size: int


class ProgramHomes(Struct, frozen=True):
    """The folder in which each program keeps its sessions."""

    claude: Path
    codex: Path
    gemini: Path


def program_homes(
    environ: Mapping[str, str] = os.environ, home: Path | None = None
) -> ProgramHomes:
    """The folders of the programs: from environment variables, else in the user's home."""
    home = home or Path.home()
    return ProgramHomes(
        claude=Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude"),
        codex=Path(environ.get("CODEX_HOME") or home / ".codex"),
        gemini=Path(environ.get("GEMINI_CLI_HOME") or home) / ".gemini",
    )


def discover(homes: ProgramHomes | None = None, folder: Path | None = None) -> list[FoundSession]:
    """All sessions, or those that ran in a folder, the newest first. Subagents are left out."""
    return list(_newest_first(homes or program_homes(), folder))


def newest_session(folder: Path, homes: ProgramHomes | None = None) -> FoundSession | None:
    """The newest session that ran in a folder; None if there is none."""
    return next(_newest_first(homes or program_homes(), folder), None)


def subagents_of(found: FoundSession) -> list[FoundSession]:
    """The transcripts of a session's subagents, which lie beside its own."""
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
    """Whether a name from a file is safe as a part of a path."""
    return bool(_PLAIN.fullmatch(name))


def _newest_first(homes: ProgramHomes, folder: Path | None) -> Iterator[FoundSession]:
    """Opens each file only when it is needed, so finding the newest session is fast."""
    listed = [
        *_listed("claude-code", _claude_files(homes.claude, folder)),
        *_listed("codex", homes.codex.glob("sessions/*/*/*/rollout-*.jsonl")),
        *_listed("codex", homes.codex.glob("archived_sessions/rollout-*.jsonl")),
        *_listed("gemini", homes.gemini.glob("tmp/*/chats/session-*.json")),
        *_listed("gemini", homes.gemini.glob("tmp/*/chats/session-*.jsonl")),
    ]
    seen: set[str] = set()
    for found in sorted(listed, key=lambda each: (-each.updated, str(each.path))):
        if found.source == "codex" and found.id in seen:
            continue  # an earlier file of the same thread
        seen.add(found.id)
        opened = _with_first_rows(found)
        if opened and (folder is None or _ran_in(opened, folder)):
            yield opened


def _listed(source: str, paths: Iterable[Path]) -> Iterator[FoundSession]:
    for path in paths:
        with suppress(OSError):
            status = path.stat()
            if S_ISREG(status.st_mode) and status.st_size:
                updated = status.st_mtime_ns // 1000
                yield FoundSession(source, _id_of(source, path), path, "", updated, status.st_size)


def _claude_files(home: Path, folder: Path | None) -> Iterator[Path]:
    slug = "*" if folder is None else _SLUG.sub("-", str(folder))[:_LONGEST_SLUG]
    names = (
        f"projects/{slug}*/*.jsonl" if len(slug) == _LONGEST_SLUG else f"projects/{slug}/*.jsonl"
    )
    return (path for path in home.glob(names) if not path.name.startswith("agent-"))


def _id_of(source: str, path: Path) -> str:
    if source == "codex":
        return codex_thread(path)[0]
    return path.stem.removeprefix("agent-")


def _with_first_rows(found: FoundSession) -> FoundSession | None:
    """The session with the folder from its first rows; None if the file cannot be read."""
    try:
        with found.path.open("rb") as file:
            head = file.read(_FIRST_BYTES)
            if not (cwd := _CWD.search(head)) and found.source != "gemini":
                head += file.read(HEAD - _FIRST_BYTES)
                cwd = _CWD.search(head)
    except OSError:
        return None
    if found.source == "gemini":
        return _gemini(found, head)
    return structs.replace(found, folder=_string(cwd))


def _gemini(found: FoundSession, head: bytes) -> FoundSession:
    """Gemini names folders by hash, and writes the project's path into a file beside the chats."""
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


def _ran_in(found: FoundSession, folder: Path) -> bool:
    if found.folder:
        return Path(found.folder) == folder
    if found.source == "gemini":
        return found.path.parents[1].name == sha256(str(folder).encode()).hexdigest()
    return found.source == "claude-code"
