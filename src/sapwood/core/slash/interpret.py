"""From a command as it was typed to the command that `decide` understands.

Commands that only show something, or that need a model or a workspace, are not decided by the
core: for them `interpret` returns None and the face that read them goes on.
"""

import re

import msgspec
from msgspec import Struct

from sapwood.core.commands import (
    AddPin,
    Archive,
    Clear,
    Command,
    Configure,
    Fork,
    KeepLast,
    Kill,
    ReadMail,
    Redo,
    RemovePin,
    Rewind,
    Send,
    SetMark,
    Succeed,
    Undo,
)
from sapwood.core.ids import AgentId
from sapwood.core.refusals import BadArguments, BadSetting, Refusal, nearest
from sapwood.core.settings import SettingsChange
from sapwood.core.slash.script import Run
from sapwood.core.titles import title_of

__all__ = ["Fresh", "interpret", "kept_turns", "names_agent"]

_NUMBER = re.compile(r"[0-9]+")
_MOST = 10**9
_GOAL = re.compile(r"(?:^|\s)--(?:\s|$)")


class Fresh(Struct, frozen=True):
    """Ids for what a command may create, chosen by the caller."""

    agent: AgentId
    mail: str


def names_agent(run: Run) -> str | None:
    """What was typed for another agent (id, short id or name), in commands that take one."""
    words = run.args.split()
    return words[0] if words and run.command.name in ("send", "kill") else None


def kept_turns(run: Run) -> int | Refusal:
    """How many turns `/compact --keep N` leaves as they are."""
    match run.args.split():
        case []:
            return 0
        case ["--keep", number] if _NUMBER.fullmatch(number):
            return min(int(number), _MOST)
        case _:
            return _usage(run, "Only a number of turns to keep can be given.")


def interpret(
    run: Run, agent: AgentId, fresh: Fresh, *, goal: str = "", other: AgentId | None = None
) -> Command | Refusal | None:
    """What the typed command asks of `agent`.

    `goal` is the text that stood before a fork, `other` the agent that `names_agent` named.
    """
    words = run.args.split()
    if words and not run.command.usage:
        return _usage(run, f"/{run.command.name} stands alone.")
    match run.command.name:
        case "mark":
            return _at_most_one(run, words) or SetMark(agent, words[0] if words else "")
        case "clear":
            return _clear(run, words, agent)
        case "rewind":
            return _at_most_one(run, words) or Rewind(agent, words[0] if words else None)
        case "undo":
            return Undo(agent)
        case "redo":
            return Redo(agent)
        case "fork":
            return _fork(run, agent, fresh, goal)
        case "send":
            return _send(run, agent, fresh, other)
        case "check-mail":
            return _check_mail(run, words, agent)
        case "kill":
            return _kill(run, words, agent, other)
        case "new":
            return Succeed(agent, fresh.agent)
        case "archive":
            return Archive(agent)
        case "pin":
            name, text = _parted(run)
            return AddPin(agent, name, text) if text else _usage(run, "A pin has name and text.")
        case "unpin":
            return RemovePin(agent, run.args) if words else _usage(run, "Which pin?")
        case "model":
            return Configure(agent, SettingsChange(model=run.args)) if words else None
        case "system":
            return Configure(agent, SettingsChange(system=run.args)) if words else None
        case "config":
            return _config(run, agent) if words else None
        case _:
            return None


def _clear(run: Run, words: list[str], agent: AgentId) -> Command | Refusal:
    if not words:
        return Clear(agent)
    if len(words) > 1:
        return _usage(run, "One number or one mark, please.")
    if _NUMBER.fullmatch(words[0]):
        count = int(words[0]) if len(words[0]) < 10 else _MOST
        return KeepLast(agent, count) if count else _usage(run, "N counts turns, from 1.")
    return Rewind(agent, words[0])


def _fork(run: Run, agent: AgentId, fresh: Fresh, goal: str) -> Command | Refusal:
    dashes = _GOAL.search(run.args)
    before = run.args[: dashes.start()] if dashes else run.args
    typed = run.args[dashes.end() :].strip() if dashes else ""
    marks = before.split()
    if len(marks) > 1:
        return _usage(run, "One mark, please; a goal comes after --.")
    mark = marks[0] if marks else None
    whole = "\n\n".join(text for text in (goal, typed) if text)
    return Fork(agent, fresh.agent, mark, whole, delegated=bool(goal), name=title_of(whole))


def _send(run: Run, agent: AgentId, fresh: Fresh, other: AgentId | None) -> Command | Refusal:
    _, text = _parted(run)
    if other is None or not text:
        return _usage(run, "Mail needs a receiver and a message.")
    return Send(other, fresh.mail, text, sender=agent)


def _kill(run: Run, words: list[str], agent: AgentId, other: AgentId | None) -> Command | Refusal:
    if other is None or len(words) != 1:
        return _usage(run, "Which agent?")
    return Kill(other, by=agent)


def _check_mail(run: Run, words: list[str], agent: AgentId) -> Command | Refusal | None:
    if words == ["--peek"]:
        return None
    return _usage(run, "Mail is read all at once.") if words else ReadMail(agent)


def _config(run: Run, agent: AgentId) -> Command | Refusal:
    """`/config cap 50000`; a setting with several values takes them one after the other."""
    name, text = _parted(run)
    names = SettingsChange.__struct_fields__
    if name not in names:
        known = " or ".join(nearest(name, names)) or ", ".join(names)
        return _usage(run, f"There is no setting '{name[:60]}'; there is {known}.")
    if not text:
        return _usage(run, f"Which value for {name}?")
    value = text.split() if name == "levels" else text
    try:
        change = msgspec.convert({name: value}, SettingsChange, strict=False)
    except msgspec.ValidationError:
        rule = "three numbers such as 0.5 0.65 0.85" if name == "levels" else "a number such as 0.6"
        return BadSetting(name, rule if name in ("levels", "low_water") else "a whole number")
    return Configure(agent, change)


def _parted(run: Run) -> tuple[str, str]:
    """The first word of the arguments, and all that follows it."""
    first, *rest = run.args.split(maxsplit=1) or [""]
    return first, rest[0] if rest else ""


def _at_most_one(run: Run, words: list[str]) -> Refusal | None:
    return _usage(run, "One name at most, please.") if len(words) > 1 else None


def _usage(run: Run, reason: str) -> BadArguments:
    return BadArguments(run.command.line, reason)
