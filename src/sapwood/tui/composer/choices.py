"""What can be completed where the cursor is: commands from the registry, then their arguments."""

import re
from collections.abc import Sequence

from msgspec import Struct

from sapwood.core.settings import SettingsChange
from sapwood.core.slash import BY_NAME, COMMANDS, SlashCommand

__all__ = ["Choice", "Known", "choices"]

_PLACEHOLDER = re.compile(r"[A-Z]+")


class Choice(Struct, frozen=True):
    """One line of the list: what is typed by taking it, and what it says beside that."""

    word: str
    usage: str = ""
    help: str = ""


class Known(Struct, frozen=True):
    """Names that arguments can be, each with a few words on it."""

    marks: tuple[tuple[str, str], ...] = ()
    agents: tuple[tuple[str, str], ...] = ()
    models: tuple[tuple[str, str], ...] = ()
    pins: tuple[tuple[str, str], ...] = ()
    turns: tuple[tuple[str, str], ...] = ()


def choices(line: str, known: Known) -> list[Choice]:
    """What may follow, best first; nothing where somebody just writes.

    >>> [choice.word for choice in choices("/mar", Known())]
    ['/mark']
    >>> [choice.word for choice in choices("/rewind S", Known(marks=(("START", ""),)))]
    ['START']
    """
    if not line.startswith("/") or line.startswith("//"):
        return []
    name, space, rest = line[1:].partition(" ")
    if not space:
        return _commands(name)
    command = BY_NAME.get(name)
    words = rest.split(" ")
    return _arguments(command, words, known) if command else []


def _commands(typed: str) -> list[Choice]:
    starting = [each for each in COMMANDS if _starts(each, typed)]
    inside = [each for each in COMMANDS if typed in each.name and each not in starting]
    return [Choice(f"/{each.name}", each.usage, each.help) for each in (*starting, *inside)]


def _starts(command: SlashCommand, typed: str) -> bool:
    return any(name.startswith(typed) for name in (command.name, *command.aliases))


def _arguments(command: SlashCommand, words: Sequence[str], known: Known) -> list[Choice]:
    typed = words[-1].casefold()
    if len(words) > len(_PLACEHOLDER.findall(command.usage)):
        return []
    pairs = _pairs(command, known) if len(words) == 1 or command.name == "diff" else ()
    starting = [pair for pair in pairs if pair[0].casefold().startswith(typed)]
    inside = [pair for pair in pairs if typed in pair[0].casefold() and pair not in starting]
    found = [Choice(name, "", about) for name, about in (*starting, *inside)]
    return [] if [each.word for each in found] == [words[-1]] else found


def _pairs(command: SlashCommand, known: Known) -> Sequence[tuple[str, str]]:
    """The names that fit what the registry says of the first argument."""
    first = _PLACEHOLDER.findall(command.usage)
    match command.name, first:
        case "model", _:
            return known.models
        case "unpin", _:
            return known.pins
        case "config", _:
            return [(name, "") for name in SettingsChange.__struct_fields__]
        case "mark" | "pin", _:
            return ()
        case _, [*names] if "MARK" in names or names == ["A", "B"]:
            return known.marks
        case _, ["TURN"]:
            return known.turns
        case _, ["ID", *_]:
            return known.agents
        case _, ["COMMAND", *_]:
            return [(each.name, each.help) for each in COMMANDS]
        case _:
            return ()
