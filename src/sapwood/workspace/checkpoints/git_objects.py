"""Reads objects from git, one after the other and in chunks."""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO

from sapwood.workspace.checkpoints.git_command import Git, GitError

_CHUNK = 1 << 20


class ObjectReader:
    """Reads objects by id, in chunks, from one git process."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self._stdin = stdin
        self._stdout = stdout

    def __call__(self, object_: bytes) -> Generator[bytes]:
        """Yields the content of an object. Raises `GitError` if it does not exist."""
        self._stdin.write(object_ + b"\n")
        self._stdin.flush()
        head = self._stdout.readline().split()
        if len(head) != 3:
            raise GitError(f"the repository lacks {object_.decode()}")
        left = int(head[2])
        try:
            while left:
                piece = self._stdout.read(min(left, _CHUNK))
                if not piece:
                    raise GitError("git ended early")
                left -= len(piece)
                yield piece
        finally:  # also if the caller stops early, so that the next object starts at its beginning
            self._stdout.read(left + 1)


@contextmanager
def object_reader(git: Git) -> Generator[ObjectReader]:
    """Yields a reader for the objects that this git can read."""
    with subprocess.Popen(
        git.command("cat-file", "--batch"),
        cwd=git.folder,
        env=git.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield ObjectReader(process.stdin, process.stdout)
        finally:
            process.stdin.close()
            process.stdout.close()
            process.wait()
