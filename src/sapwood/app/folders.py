"""Where Sapwood keeps what is not in the database: archives, focus, journal, what it installed.

Everything lies in the user's data folder, in files that people can read.
"""

import os
from pathlib import Path

from platformdirs import user_data_path

__all__ = [
    "archives_folder",
    "data_folder",
    "focus_file",
    "handoffs_folder",
    "journal_file",
]


def data_folder() -> Path:
    """The user's data folder, or the one that SAPWOOD_DATA names. It may not be there yet."""
    named = os.environ.get("SAPWOOD_DATA")
    return Path(named).expanduser() if named else user_data_path("sapwood", appauthor=False)


def archives_folder() -> Path:
    """Where archives of conversations are."""
    return data_folder() / "archives"


def handoffs_folder() -> Path:
    """Where packages for other agents are."""
    return data_folder() / "handoffs"


def focus_file() -> Path:
    """Where the focus stack is."""
    return data_folder() / "focus.json"


def journal_file() -> Path:
    """Where acts on the user's behalf are told."""
    return data_folder() / "journal.jsonl"
