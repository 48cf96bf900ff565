"""The journal: every act that Sapwood took on the user's behalf, one JSON object a line.

Acts are only ever added. A line that cannot be read, because a disk was full say, is passed over.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

__all__ = ["DEEDS", "Act", "Deed", "read_acts", "write_act"]

Deed = Literal[
    "archived",
    "resumed",
    "warned",
    "indexed",
    "focused",
    "unfocused",
    "handed off",
    "forked",
    "installed",
    "uninstalled",
    "failed",
]
DEEDS: tuple[Deed, ...] = get_args(Deed)

_LONGEST = 2_000
"""Characters of a sentence that are kept: a line is written in one piece."""


class Act(Struct, frozen=True, omit_defaults=True):
    """One act: when (in ISO form), what, in which words, and on which conversation.

    `path` is the file that was made, or what a failure was about.
    """

    at: str
    did: Deed
    says: str
    source: str = ""
    session: str = ""
    folder: str = ""
    path: str = ""


def write_act(file: Path, act: Act) -> None:
    """Adds an act. Processes may write at once: each line goes to the end in one piece."""
    kept = msgspec.structs.replace(act, says=act.says[:_LONGEST])
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, msgspec.json.encode(kept) + b"\n")
    finally:
        os.close(handle)


def read_acts(file: Path) -> Iterator[Act]:
    """Every act, the oldest first."""
    decoder = msgspec.json.Decoder(Act)
    try:
        lines = file.open("rb")
    except FileNotFoundError:
        return
    with lines:
        for line in lines:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                yield decoder.decode(line)
