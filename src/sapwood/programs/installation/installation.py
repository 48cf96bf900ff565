"""An installation as a value: what it will change, and the record of what it changed."""

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct

from sapwood.config.folders import data_folder
from sapwood.programs.installation.file_edits import FileEdit, read_bytes


class InstallPlan(Struct, frozen=True):
    """The plugin files to write into Sapwood's `folders`, and the edit of the user's settings file.

    `notes` are for the user. `empty` are folders to remove if they are empty afterwards.
    """

    files: tuple[FileEdit, ...]
    settings: FileEdit | None
    folders: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    empty: tuple[Path, ...] = ()

    @property
    def edits(self) -> tuple[FileEdit, ...]:
        """All edits."""
        return self.files if self.settings is None else (*self.files, self.settings)


class SettingsRecord(Struct, frozen=True):
    """The settings file: its content before (None for no file), and a hash of the new content."""

    path: str
    before: bytes | None
    after: str


class InstallRecord(Struct, frozen=True):
    """One installation: Sapwood's files, the user's settings file, and the folders it created."""

    agent: str
    version: str
    files: tuple[str, ...] = ()
    settings: SettingsRecord | None = None
    folders: tuple[str, ...] = ()


def fingerprint(content: bytes) -> str:
    """A hash that shows whether a file has changed since."""
    return hashlib.sha256(content).hexdigest()


def record_file(agent: str) -> Path:
    """The file with the record of a program's installation."""
    return data_folder() / "installed" / f"{agent}.json"


def read_record(agent: str) -> InstallRecord | None:
    """The record; None if nothing is installed or the file cannot be decoded."""
    content = read_bytes(record_file(agent))
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=InstallRecord)
    except msgspec.MsgspecError:
        return None
