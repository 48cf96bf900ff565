"""Runs git without the user's git variables, hooks, prompts or configured programs.

Reads objects from git, one after the other and in chunks.
"""

import os
import shutil
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import IO

_PASSED_ON = frozenset(
    {
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
        *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
    }
)
_FIXED = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
}
_OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_TIMEOUT = 120.0

IGNORE_FILE = ".gitignore"
LARGEST_IGNORE_FILE = 1_000_000
"""Git reads each ignore file whole into memory, before it looks at sizes."""


class GitError(Exception):
    """Git failed; the message is the line in which it says why."""


class GitTimeout(GitError):
    """Git was ended, because it took too long; it would take as long again."""


def environment_for_git() -> dict[str, str]:
    """The environment for git, without variables that name another repository, index or program."""
    passed_on = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _PASSED_ON
    }
    return passed_on | _FIXED


def with_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The variables for these settings of git, which overrule those of every configuration."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


class Git:
    """Runs git in one folder, with these variables in addition to the environment."""

    def __init__(self, folder: str, variables: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = environment_for_git() | dict(variables)

    def run(self, *arguments: str, stdin: bytes = b"", codes: tuple[int, ...] = (0,)) -> bytes:
        """Runs a git command and returns its output.

        Raises `GitError` if git cannot be run or its exit code is not one of `codes`.
        """
        return self.run_with_warnings(*arguments, stdin=stdin, codes=codes)[0]

    def run_with_warnings(
        self, *arguments: str, stdin: bytes = b"", codes: tuple[int, ...] = (0,)
    ) -> tuple[bytes, bytes]:
        """Runs a git command and returns its output and its warnings. Files are made private.

        Raises `GitError` if git cannot be run or its exit code is not one of `codes`.
        """
        try:
            result = subprocess.run(
                self.command(*arguments),
                cwd=self.folder,
                env=self.environment,
                input=stdin,
                capture_output=True,
                timeout=_TIMEOUT,
                check=False,
                umask=0o077,
            )
        except subprocess.TimeoutExpired as error:
            raise GitTimeout(f"git {arguments[0]} took longer than {_TIMEOUT:g} seconds") from error
        except OSError as error:
            raise GitError(f"git cannot be run: {error.strerror}") from error
        if result.returncode not in codes:
            raise GitError(_problem(result.stderr) or f"git {arguments[0]} failed")
        return result.stdout, result.stderr

    def command(self, *arguments: str) -> list[str]:
        """The command line."""
        program = shutil.which("git", path=self.environment.get("PATH"))
        if program is None:
            raise GitError("git is not installed")
        return [program, *_OPTIONS, *arguments]


def _problem(errors: bytes) -> str:
    """The line with git's fatal error, or else the last line of its errors."""
    lines = errors.decode(errors="replace").strip().splitlines()
    fatal = [line for line in lines if line.startswith("fatal: ")]
    return (fatal or lines or [""])[-1].removeprefix("fatal: ").removeprefix("error: ")


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
