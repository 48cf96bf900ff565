"""The journal: every action that Sapwood took for the user, one JSON object a line.

Lines are only added. A line that cannot be read, for example because the disk was full, is skipped.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, field

from sapwood.config.folders import journal_file
from sapwood.private_files import append_line, locked

JournalKind = Literal[
    "changed",
    "archived",
    "resumed",
    "warned",
    "indexed",
    "focused",
    "unfocused",
    "handed off",
    "judged",
    "forked",
    "installed",
    "uninstalled",
    "failed",
]

_MAX_MESSAGE = 2_000
"""Characters of a message that are kept, so that the system writes a line in one piece."""


class JournalEntry(Struct, frozen=True, omit_defaults=True):
    """One action: when (in ISO form), of which kind, a sentence, and the conversation it concerns.

    `path` is the file that was written, or the one that a failure is about.
    """

    at: str
    kind: JournalKind = field(name="did")
    message: str = field(name="says")
    source: str = ""
    session: str = ""
    folder: str = ""
    path: str = ""


def add_to_journal(
    kind: JournalKind,
    message: str,
    *,
    source: str = "",
    session: str = "",
    folder: str = "",
    path: str = "",
) -> None:
    """Adds an entry with the present time. A journal that cannot be written is ignored."""
    with suppress(OSError):
        entry = JournalEntry(now(), kind, message, source, session, folder, path)
        append_entry(journal_file(), entry)


def append_entry(file: Path, entry: JournalEntry) -> None:
    """Adds an entry. Several processes may write at once."""
    kept = msgspec.structs.replace(entry, message=entry.message[:_MAX_MESSAGE])
    with locked(file):  # an erasure replaces the file
        append_line(file, msgspec.json.encode(kept))


def read_entries(file: Path) -> Iterator[JournalEntry]:
    """Every entry, the oldest first; none if there is no journal."""
    decoder = msgspec.json.Decoder(JournalEntry)
    try:
        lines = file.open("rb")
    except FileNotFoundError:
        return
    with lines:
        for line in lines:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                yield decoder.decode(line)


def entries() -> Iterator[JournalEntry]:
    """The entries of the user's journal, oldest first."""
    yield from read_entries(journal_file())


def now() -> str:
    """The time in ISO form, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
