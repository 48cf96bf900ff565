"""Finds out whether Claude Code has a session open.

The program lists its processes in the folder `sessions` of its home, each with the session that it
has open. Versions without that list are found by their command line and open files. What cannot be
seen: a process of an old version that was started without the session's id and is not writing
right now, a process of another user, and a process on another machine that shares the home.
"""

import os
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

_PROGRAM = b"claude"


class OpenSession(Struct, frozen=True):
    """A process that has the session open, and whether it works on a turn now."""

    process: int
    is_busy: bool = False


class _Listed(Struct, rename="camel"):
    pid: int = 0
    session_id: str = ""
    proc_start: str = ""
    status: str = ""


def open_session(
    session: str, home: Path, transcript: Path, own: frozenset[int] = frozenset()
) -> OpenSession | None:
    """The process that has the session open; None if there is none.

    `home` is the home of Claude Code. `own` are processes that do not count.
    """
    for listed in _listed(home):
        if listed.session_id == session and listed.pid not in own and _is_alive(listed):
            return OpenSession(listed.pid, listed.status == "busy")
    return _found_in_proc(session, transcript, own) if sys.platform == "linux" else None


def _listed(home: Path) -> list[_Listed]:
    found: list[_Listed] = []
    for path in home.glob("sessions/*.json"):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=_Listed))
        except (OSError, msgspec.MsgspecError, ValueError):
            continue  # it is written just now, or has another form
    return found


def _is_alive(listed: _Listed) -> bool:
    """Whether the listed process still runs; a number that was given again is another process."""
    if sys.platform == "linux":
        started = _start_time(listed.pid)
        return bool(started) and (not listed.proc_start or listed.proc_start == started)
    try:
        os.kill(listed.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _start_time(pid: int) -> str:
    """When a process started, in ticks since the system did; empty if it ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    fields = status.rpartition(")")[2].split()  # the name before it may contain anything
    return "" if fields[0] in ("Z", "X") else fields[19]


def _found_in_proc(session: str, transcript: Path, own: frozenset[int]) -> OpenSession | None:
    wanted, target = session.encode(), os.path.realpath(transcript)
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in own or int(name) == os.getpid():
            continue
        try:
            command = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        arguments = command.split(b"\0")
        if not any(_PROGRAM in os.path.basename(each) for each in arguments[:2]):
            continue
        if wanted in arguments or _has_open(name, target):
            return OpenSession(int(name))
    return None


def _has_open(process: str, target: str) -> bool:
    folder = f"/proc/{process}/fd"
    try:
        return any(_link(f"{folder}/{each}") == target for each in os.listdir(folder))
    except OSError:
        return False  # it ended, or belongs to another user


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
