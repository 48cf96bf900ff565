"""From a command as it was typed to the command that `decide` understands.

Commands that only show something, or that need a model or a workspace, are not decided by the
core: for them `interpret` returns None and the face that read them goes on.
"""

import re

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
from sapwood.core.refusals import BadArguments, Refusal
from sapwood.core.settings import SettingsChange
from sapwood.core.slash.script import Run

__all__ = ["Fresh", "interpret", "names_agent"]

_NUMBER = re.compile(r"\d+")
_GOAL = re.compile(r"(?:^|\s)--(?:\s|$)")


class Fresh(Struct, frozen=True):
    """Ids for what a command may create, chosen by the caller."""

    agent: AgentId
    mail: str


def names_agent(run: Run) -> str | None:
    """What was typed for another agent (id, short id or name), in commands that take one."""
    words = run.args.split()
    return words[0] if words and run.command.name in ("send", "kill") else None


def interpret(
    run: Run, agent: AgentId, fresh: Fresh, *, goal: str = "", other: AgentId | None = None
) -> Command | Refusal | None:
    """What the typed command asks of `agent`.

    `goal` is the text that stood before a fork, `other` the agent that `names_agent` named.
    """
    words = run.args.split()
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
            return None if words == ["--peek"] else ReadMail(agent)
        case "kill":
            return _kill(run, words, agent, other)
        case "new":
            return Succeed(agent, fresh.agent)
        case "archive":
            return Archive(agent)
        case "pin":
            name, _, text = run.args.partition(" ")
            return (
                AddPin(agent, name, text.strip())
                if text.strip()
                else _usage(run, "A pin has a name and a text.")
            )
        case "unpin":
            return RemovePin(agent, run.args) if words else _usage(run, "Which pin?")
        case "model":
            return Configure(agent, SettingsChange(model=run.args)) if words else None
        case "system":
            return Configure(agent, SettingsChange(system=run.args)) if words else None
        case _:
            return None


def _clear(run: Run, words: list[str], agent: AgentId) -> Command | Refusal:
    if not words:
        return Clear(agent)
    if len(words) > 1:
        return _usage(run, "One number or one mark, please.")
    if _NUMBER.fullmatch(words[0]):
        count = int(words[0])
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
    return Fork(agent, fresh.agent, mark, whole, delegated=bool(goal))


def _send(run: Run, agent: AgentId, fresh: Fresh, other: AgentId | None) -> Command | Refusal:
    _, _, text = run.args.partition(" ")
    if other is None or not text.strip():
        return _usage(run, "Mail needs a receiver and a message.")
    return Send(other, fresh.mail, text.strip(), sender=agent)


def _kill(run: Run, words: list[str], agent: AgentId, other: AgentId | None) -> Command | Refusal:
    if other is None or len(words) != 1:
        return _usage(run, "Which agent?")
    return Kill(other, by=agent)


def _at_most_one(run: Run, words: list[str]) -> Refusal | None:
    return _usage(run, "One name at most, please.") if len(words) > 1 else None


def _usage(run: Run, reason: str) -> BadArguments:
    return BadArguments(run.command.line, reason)
