"""Deletes what the data folder of this machine has of an erased conversation.

These are private copies of sessions of other programs, archives, memories of hooks, cached features
of turns, and lines of the journal. The transcripts of the other programs themselves belong to those
programs and stay. What is named by an id goes with any agent of that id, of whatever space: all of
it was made from a log, and can be made again.
"""

import asyncio
import os
import shutil
from hashlib import blake2b
from pathlib import Path

import msgspec

from sapwood.analysis.handoff import session_of_handoff
from sapwood.config.folders import (
    archives_folder,
    data_folder,
    handoffs_folder,
    journal_file,
    turn_features_folder,
)
from sapwood.context_actions.archive_files import read_archives
from sapwood.context_actions.hook_memory import HookMemory, hook_memory_folder
from sapwood.core.erasure import ErasureItem
from sapwood.core.ids import Space
from sapwood.journal import JournalEntry
from sapwood.private_files import locked, replace_file

_COPIES = ("sessions", "programs")
_journal_entry = msgspec.json.Decoder(JournalEntry)


async def erase_local_files(space: Space, item: ErasureItem) -> None:
    """Deletes the files of this agent and of its sessions. Raises `OSError`."""
    await asyncio.to_thread(_erase, item)


def _erase(item: ErasureItem) -> None:
    sessions = {session for _, session in item.outside.sessions if _is_name(session)}
    names = {item.agent, *sessions}
    for session in sessions:
        _erase_copies(session)
    for name in names:
        shutil.rmtree(HookMemory(hook_memory_folder(), name).folder, ignore_errors=True)
    for program, session in (*item.outside.sessions, ("sapwood", item.agent)):
        digest = blake2b(f"{program}/{session}".encode(), digest_size=16).hexdigest()
        (turn_features_folder() / f"{digest}.msgpack").unlink(missing_ok=True)
    for path, archive in list(read_archives(archives_folder())):
        if archive.session in names:
            path.unlink(missing_ok=True)
    _erase_handoffs(names)
    _erase_journal_lines(names)


def _is_name(session: str) -> bool:
    """Whether the id can be a part of a file's name; an id of 8 characters is long enough."""
    return len(session) >= 8 and not set(session) & set("/\\*?[]\0") and session not in (".", "..")


def _erase_copies(session: str) -> None:
    """Deletes private copies: `SESSION.jsonl`, `SESSION.2.jsonl`, `rollout-…-SESSION.jsonl`."""
    for kind in _COPIES:
        for path in (data_folder() / kind).glob(f"*/*{session}*"):
            path.unlink(missing_ok=True)


def _erase_handoffs(names: set[str]) -> None:
    """Deletes handoffs of the agent or of a session of it: what their heads say."""
    for path in _files(handoffs_folder()):
        if session_of_handoff(path.read_text(encoding="utf-8", errors="replace")) in names:
            path.unlink(missing_ok=True)


def _files(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in os.listdir(folder) if (folder / name).is_file()]
    except OSError:
        return []


def _erase_journal_lines(names: set[str]) -> None:
    file = journal_file()
    if not file.exists():
        return
    with locked(file):
        lines = file.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if not _is_about(line, names)]
        if len(kept) < len(lines):
            replace_file(file, b"".join(kept))


def _is_about(line: bytes, names: set[str]) -> bool:
    try:
        return _journal_entry.decode(line).session in names
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
