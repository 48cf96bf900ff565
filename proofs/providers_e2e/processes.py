"""The processes of a program that run in one home."""

import os
import signal
from pathlib import Path

from proofs.agents_e2e.home import Home
from sapwood.programs import registry


def program_processes(home: Home, program: str | None) -> list[int]:
    """The ids of the program's processes in this home; without a program, of all processes."""
    mark = f"HOME={home.root}\0".encode()
    wanted = registry.program(program).executable.encode() if program else None
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            environ = (folder / "environ").read_bytes()
            words = (folder / "cmdline").read_bytes().split(b"\0")[:2]
        except OSError:
            continue  # it ended, or is not ours
        names = [os.path.basename(word) for word in words]  # the second is the script of Node
        if mark in environ and (wanted is None or wanted in names):
            found.append(int(folder.name))
    return found


def kill_program(home: Home, program: str) -> int:
    """Kills every process of the program in this home; returns how many there were."""
    processes = program_processes(home, program)
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return len(processes)
