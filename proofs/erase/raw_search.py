"""Searches for markers where data can hide: raw files, git objects, and a dump of the database."""

import os
import re
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

_MARKER = re.compile(rb"mk[0-9a-f]{24}")
_PIECE = 8 * 1024 * 1024
_OVERLAP = 64


def found_in_bytes(data: bytes, erased: frozenset[bytes]) -> set[bytes]:
    """The erased markers in some bytes, also of a word index, which keeps ends of words only."""
    return {found for found in _MARKER.findall(data) if found in erased}


def found_in_files(folders: Iterable[Path], erased: frozenset[bytes]) -> dict[str, set[bytes]]:
    """The erased markers in the raw files below some folders, by file."""
    found: dict[str, set[bytes]] = {}
    for folder in folders:
        for file in (each for each in folder.rglob("*") if each.is_file()):
            markers = set[bytes]()
            for piece in _pieces(file):
                markers |= found_in_bytes(piece, erased)
            if markers:
                found[str(file.relative_to(folder))] = markers
    return found


def _pieces(file: Path) -> Iterator[bytes]:
    """The content of a file in overlapping pieces; nothing if it has gone meanwhile."""
    try:
        with file.open("rb") as source:
            tail = b""
            while piece := source.read(_PIECE):
                yield tail + piece
                tail = piece[-_OVERLAP:]
    except OSError:
        return


def found_in_stores(folder: Path, erased: frozenset[bytes]) -> set[bytes]:
    """The erased markers in the git objects of all checkpoint stores, which are compressed."""
    found: set[bytes] = set()
    for store in folder.iterdir() if folder.is_dir() else ():
        ran = subprocess.run(
            ["git", "--git-dir", str(store), "cat-file", "--batch", "--batch-all-objects"],
            capture_output=True,
            check=True,
        )
        found |= found_in_bytes(ran.stdout, erased)
    return found


def dump_of(address: str) -> bytes:
    """The whole database as text, as a backup has it."""
    if "://" not in address:
        with closing(sqlite3.connect(address)) as connection:
            return "\n".join(connection.iterdump()).encode(errors="replace")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    path = os.pathsep.join([*map(str, reversed(programs)), os.environ.get("PATH", "")])
    return subprocess.run(
        ["pg_dump", "--no-owner", address],
        capture_output=True,
        check=True,
        env={**os.environ, "PATH": path},
    ).stdout
