"""Where the commands of a line ran, and where the shell is after it.

A `cd` holds to the end of its line or of the subshell that it stands in. Some programs keep the
folder for the next line too, and say so when they go back.
"""

import re
from collections.abc import Sequence

from sapwood.core.ledger.acts.act import Ran
from sapwood.core.ledger.acts.outcomes import Ended
from sapwood.core.ledger.acts.paths import joined
from sapwood.core.ledger.acts.shell import Simple, Word
from sapwood.core.ledger.acts.wrappers import unwrapped

__all__ = ["Shells", "enters", "folders_of"]

_WENT_BACK = re.compile(r"(?m)^Shell cwd was reset to (\S.*?)\s*\Z")
_HOME = "~"


def enters(command: Simple) -> bool:
    """Whether the command goes to another folder."""
    return [word.text for word in unwrapped(command.words)[:1]] in (["cd"], ["pushd"])


def folders_of(commands: Sequence[Simple], folder: str, how: Ended) -> list[str]:
    """The folder that each command ran in, then the one in which the line ended."""
    shells, came_from = [folder], folder
    found: list[str] = []
    for place, command in enumerate(commands):
        while len(shells) <= command.depth:
            shells.append(shells[-1])
        del shells[command.depth + 1 :]
        here = shells[-1]
        found.append(here)
        failed = how.outcome == "failed" and place == len(commands) - 1
        if enters(command) and not failed and _holds(command, how.output):
            shells[-1] = _entered(unwrapped(command.words), here, came_from)
            came_from = here
    return [*found, shells[0]]


class Shells:
    """Where the lines of a session run, one after the other: in its folder, or where one led to."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._kept = folder

    def folder_of(self, ran: Ran, commands: Sequence[Simple], how: Ended) -> str:
        """The folder in which a line began that runs these commands."""
        start = self._kept if ran.keeps else self._folder
        folder = joined(start, ran.folder) if ran.folder else start
        if ran.keeps:
            self._kept = _folder_after(commands, folder, how)
        return folder


def _folder_after(commands: Sequence[Simple], folder: str, how: Ended) -> str:
    if how.handle:
        return folder  # it went to the background with a shell of its own
    if back := _WENT_BACK.search(how.output[-1_000:]):
        return back[1]
    return folders_of(commands, folder, how)[-1]


def _holds(command: Simple, output: str) -> bool:
    """Not in a pipe, which is a shell of its own, nor where it was the second choice or failed."""
    if command.before in ("|", "|&", "||") or command.after in ("|", "|&", "&"):
        return False
    return "cd: " not in output or not any(f"cd: {text}: " in output for text in command.texts)


def _entered(words: Sequence[Word], here: str, came_from: str) -> str:
    if len(words) == 1 and words[0].text == "cd":
        return _HOME
    if [word.text for word in words[1:]] == ["-"]:
        return came_from
    given = [word for word in words[1:] if not word.text.startswith("-")]
    return joined(here, given[0].text) if given and given[0].plain else here
