"""What was installed where, kept so that it can be taken out byte for byte."""

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct

from sapwood.app.folders import data_folder
from sapwood.app.installing.edits import read_bytes

__all__ = ["Record", "SettingsRecord", "fingerprint", "read_record", "record_file"]


class SettingsRecord(Struct, frozen=True):
    """The user's own file as it was, None for no file, and a fingerprint of what was written."""

    path: str
    before: bytes | None
    after: str


class Record(Struct, frozen=True):
    """One installation: the files that are ours, the user's file, the folders that were made."""

    agent: str
    version: str
    files: tuple[str, ...] = ()
    settings: SettingsRecord | None = None
    folders: tuple[str, ...] = ()


def fingerprint(content: bytes) -> str:
    """What tells whether a file is still as it was written."""
    return hashlib.sha256(content).hexdigest()


def record_file(agent: str) -> Path:
    """Where the record of an agent's installation is."""
    return data_folder() / "installed" / f"{agent}.json"


def read_record(agent: str) -> Record | None:
    """The record, or None if nothing is installed or it cannot be read."""
    content = read_bytes(record_file(agent))
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=Record)
    except msgspec.MsgspecError:
        return None
