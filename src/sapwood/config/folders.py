"""The folders and files in which Sapwood keeps everything that is not in the database.

Everything is in the user's data folder, in files that people can read. Only the cache of turn
features (`known`) is binary; it may be deleted at any time.
"""

import os
import sys
from pathlib import Path

_FULL_BELOW_BYTES = 100_000


def data_folder() -> Path:
    """The folder that SAPWOOD_DATA names, else the user's data folder. It may not exist yet."""
    named = os.environ.get("SAPWOOD_DATA")
    return Path(named).expanduser() if named else _user_folder("data", ".local/share")


def config_folder() -> Path:
    """The user's configuration folder."""
    return _user_folder("config", ".config")


def _user_folder(kind: str, below_home: str) -> Path:
    """The folder that platformdirs returns; on Linux without its import, which is slow."""
    if sys.platform == "linux":
        base = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
        folder = Path(base) if os.path.isabs(base) else Path("~", below_home).expanduser()
        return folder / "sapwood"
    import platformdirs

    folders = platformdirs.PlatformDirs("sapwood", appauthor=False)
    return folders.user_data_path if kind == "data" else folders.user_config_path


def archives_folder() -> Path:
    """The folder of archived conversations."""
    return data_folder() / "archives"


def checkpoints_folder() -> Path:
    """The folder of checkpoints: a store for each workspace."""
    return data_folder() / "checkpoints"


def sandbox_folder() -> Path:
    """The folder that keeps what commands of each workspace may reach."""
    return data_folder() / "sandbox"


def handoffs_folder() -> Path:
    """The folder of handoffs to other agents."""
    return data_folder() / "handoffs"


def erasures_file() -> Path:
    """The list of what was erased: the file SAPWOOD_ERASURES, else one in the data folder."""
    named = os.environ.get("SAPWOOD_ERASURES")
    return Path(named).expanduser() if named else data_folder() / "erasures.jsonl"


def focus_stamp_file() -> Path:
    """An empty file that is touched when a focus, a note or a judgement changes on this machine."""
    return data_folder() / "focus.changed"


def journal_file() -> Path:
    """The file of the journal."""
    return data_folder() / "journal.jsonl"


def pending_folder() -> Path:
    """Commands that wait for the import of their sessions."""
    return data_folder() / "pending"


def session_locks_folder() -> Path:
    """The locks of sessions that are being imported or changed. Its files are empty."""
    return data_folder() / "locks"


def clean_results_folder() -> Path:
    """The folder that remembers which tool results have nothing to mask."""
    return data_folder() / "clean"


def turn_features_folder() -> Path:
    """The folder of the turn feature cache."""
    return data_folder() / "known"


def is_full(folder: Path) -> bool:
    """Whether the disk of a folder is full; False if that cannot be found out."""
    import shutil

    try:
        return shutil.disk_usage(folder).free <= _FULL_BELOW_BYTES
    except OSError:
        return False
