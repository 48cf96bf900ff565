"""Where Sapwood keeps what is not in the database: archives, focus, journal, what it installed.

Everything lies in the user's data folder, in files that people can read; only what was found out
about turns (`known`) is for programs, and may be deleted at any time.
"""

import os
import sys
from pathlib import Path

__all__ = [
    "archives_folder",
    "config_folder",
    "data_folder",
    "focus_file",
    "focus_stamp_file",
    "handoffs_folder",
    "journal_file",
    "known_folder",
]


def data_folder() -> Path:
    """The user's data folder, or the one that SAPWOOD_DATA names. It may not be there yet."""
    named = os.environ.get("SAPWOOD_DATA")
    return Path(named).expanduser() if named else _user_folder("data", ".local/share")


def config_folder() -> Path:
    """The user's configuration folder."""
    return _user_folder("config", ".config")


def _user_folder(kind: str, below_home: str) -> Path:
    """What platformdirs says. On Linux without its import, which takes as long as a whole hook."""
    if sys.platform == "linux":
        given = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
        base = Path(given) if os.path.isabs(given) else Path("~", below_home).expanduser()
        return base / "sapwood"
    import platformdirs

    place = platformdirs.PlatformDirs("sapwood", appauthor=False)
    return place.user_data_path if kind == "data" else place.user_config_path


def archives_folder() -> Path:
    """Where archives of conversations are."""
    return data_folder() / "archives"


def handoffs_folder() -> Path:
    """Where packages for other agents are."""
    return data_folder() / "handoffs"


def focus_file() -> Path:
    """Where an earlier version kept the focus stack, which is in the log now."""
    return data_folder() / "focus.json"


def focus_stamp_file() -> Path:
    """An empty file, written whenever a focus stack changes on this machine."""
    return data_folder() / "focus.changed"


def journal_file() -> Path:
    """Where acts on the user's behalf are told."""
    return data_folder() / "journal.jsonl"


def known_folder() -> Path:
    """Where that is kept which was found out about turns."""
    return data_folder() / "known"
