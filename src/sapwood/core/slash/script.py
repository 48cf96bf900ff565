"""The one parser of submissions: what a person sends at once is a little script.

A line whose first word is a registered command is a command; everything else is text. Fenced
blocks, paths and lines that start with `//` stay text.
"""

import re

from msgspec import Struct

from sapwood.core.refusals import Refusal, UnknownCommand, nearest
from sapwood.core.slash.registry import BY_NAME, SlashCommand, names

__all__ = ["Run", "Say", "Script", "Step", "parse"]

_WORD = re.compile(r"/([A-Za-z][A-Za-z0-9_-]*)(?=\s|$)")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


class Say(Struct, frozen=True):
    """Text: a prompt, or the goal of the fork that follows it."""

    text: str
    goal: bool = False


class Run(Struct, frozen=True):
    """A command with its arguments as they were typed."""

    command: SlashCommand
    args: str = ""


Step = Say | Run
Script = tuple[Step, ...]


def parse(submission: str) -> Script | Refusal:
    """The steps of a submission, in order.

    >>> parse("/mark T")[0].command.name
    'mark'
    >>> [type(step).__name__ for step in parse("/mark T\\nFind the leak.\\n/fork T")]
    ['Run', 'Say', 'Run']
    >>> parse("/mrak T").close[0]
    'mark'
    """
    text = submission.strip("\r\n").rstrip()
    unknown = _unknown_one_liner(text)
    if unknown is not None:
        return unknown
    steps: list[Step] = []
    said: list[str] = []
    fence = ""
    for line in text.splitlines():
        fence = _fence_after(fence, line)
        run = None if fence else _command(line)
        if run is None:
            said.append(line if fence else _unescaped(line))
            continue
        _flush(said, steps)
        steps.append(run)
    _flush(said, steps)
    return _with_goals(steps)


def _unknown_one_liner(text: str) -> Refusal | None:
    if "\n" in text.strip():
        return None
    word = _WORD.match(text)
    if word is None or word[1] in BY_NAME:
        return None
    return UnknownCommand(word[0], nearest(word[1], names()))


def _command(line: str) -> Run | None:
    word = _WORD.match(line)
    command = BY_NAME.get(word[1]) if word else None
    return Run(command, line[word.end() :].strip()) if word and command else None


def _unescaped(line: str) -> str:
    return line[1:] if line.startswith("//") else line


def _fence_after(fence: str, line: str) -> str:
    """The fence that is open after this line; a closing fence still counts as inside."""
    found = _FENCE.match(line)
    if found is None:
        return fence if fence != "closed" else ""
    if not fence or fence == "closed":
        return found[1]
    closes = found[1].startswith(fence) and not line.strip().strip(fence[0])
    return "closed" if closes else fence


def _flush(said: list[str], steps: list[Step]) -> None:
    text = "\n".join(said).strip("\n")
    said.clear()
    if text.strip():
        steps.append(Say(text))


def _with_goals(steps: list[Step]) -> Script:
    """Text followed by a fork, before any other text, is that child's goal."""
    done: list[Step] = []
    forks = False
    for step in reversed(steps):
        if isinstance(step, Run):
            forks = forks or step.command.name == "fork"
            done.append(step)
        else:
            done.append(Say(step.text, goal=forks))
            forks = False
    return tuple(reversed(done))
