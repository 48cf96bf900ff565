"""Notes in the user's journal, with the time of now. One that cannot be written stops nothing."""

import time
from collections.abc import Iterator
from contextlib import suppress

from sapwood.app.folders import journal_file
from sapwood.garden.journal import Act, Deed, read_acts, write_act

__all__ = ["acts", "note", "now"]


def note(
    did: Deed, says: str, *, source: str = "", session: str = "", folder: str = "", path: str = ""
) -> None:
    """Adds an act to the journal."""
    with suppress(OSError):
        write_act(journal_file(), Act(now(), did, says, source, session, folder, path))


def acts() -> Iterator[Act]:
    """The acts in the user's journal, oldest first."""
    yield from read_acts(journal_file())


def now() -> str:
    """The time in ISO form, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
