"""Running git: without the user's environment for it, hooks, prompts or configured programs."""

import os
import shutil
import subprocess
from collections.abc import Mapping

__all__ = ["Git", "GitError", "environment_for_git"]

_KEPT = frozenset(
    {
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
        *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
    }
)
_OURS = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
}
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_SECONDS = 120.0


class GitError(Exception):
    """Git did not do what was asked; the message is the line in which it said why."""


def environment_for_git(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that git gets: none that leads it to another repository, index or program."""
    kept = {
        name: value
        for name, value in environment.items()
        if not name.startswith("GIT_") or name in _KEPT
    }
    return kept | _OURS


class Git:
    """The program, run in one folder with these variables besides the usual ones."""

    def __init__(self, folder: str, variables: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = environment_for_git() | dict(variables)

    def run(self, *arguments: str, given: bytes = b"", codes: tuple[int, ...] = (0,)) -> bytes:
        """What it wrote. Raises `GitError` when it cannot be run or ends with another code."""
        try:
            ended = subprocess.run(
                self.command(*arguments),
                cwd=self.folder,
                env=self.environment,
                input=given,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise GitError(f"git {arguments[0]} took longer than {_SECONDS:g} seconds") from error
        except OSError as error:
            raise GitError(f"git cannot be run: {error.strerror}") from error
        if ended.returncode not in codes:
            raise GitError(_problem(ended.stderr) or f"git {arguments[0]} failed")
        return ended.stdout

    def command(self, *arguments: str) -> list[str]:
        """The command line."""
        program = shutil.which("git", path=self.environment.get("PATH"))
        if program is None:
            raise GitError("git is not installed")
        return [program, *_QUIET, *arguments]


def _problem(errors: bytes) -> str:
    """What git died of, or else the last thing it complained of."""
    lines = errors.decode(errors="replace").strip().splitlines()
    fatal = [line for line in lines if line.startswith("fatal: ")]
    return (fatal or lines or [""])[-1].removeprefix("fatal: ").removeprefix("error: ")
