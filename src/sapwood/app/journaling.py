"""Notes in the user's journal, with the time of now. One that cannot be written stops nothing."""

import time
from contextlib import suppress

from sapwood.app.folders import journal_file
from sapwood.garden.journal import Act, Deed, write_act

__all__ = ["note", "now"]


def note(
    did: Deed, says: str, *, source: str = "", session: str = "", folder: str = "", path: str = ""
) -> None:
    """Adds an act to the journal."""
    with suppress(OSError):
        write_act(journal_file(), Act(now(), did, says, source, session, folder, path))


def now() -> str:
    """The time in ISO form, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
