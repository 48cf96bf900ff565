"""All agent programs by name, and the program that a model name means.

A new program is its folder and its name here. Its value is imported when it is asked for.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple

from sapwood.plugins import load_plugin, plugin_names
from sapwood.programs.program import Part, Program

PROGRAM_NAMES = ("claude-code", "codex", "gemini", "opencode", "pi")
"""The names that users type, in the order in which the programs are listed."""


@cache
def program(name: str) -> Program:
    """The program of this name: one of `PROGRAM_NAMES`, or that of a plug-in.

    Raises `LookupError` if there is none, and `PluginError` if it cannot be loaded.
    """
    if name not in PROGRAM_NAMES:
        found = load_plugin("programs", name)
        if not isinstance(found, Program):
            raise LookupError(f"there is no program '{name}'")
        return found
    folder = name.replace("-", "_")
    value: Program = import_module(f"sapwood.programs.{folder}.program").PROGRAM
    return value


def programs_with(part: Part) -> tuple[Program, ...]:
    """The programs that have this part. Only the sessions of a program of a plug-in are used."""
    known = map(program, PROGRAM_NAMES)
    added = _plugin_programs() if part == "sessions" else ()
    return tuple(each for each in (*known, *added) if part in each.parts)


def _plugin_programs() -> Iterator[Program]:
    """The programs of plug-ins, without those that cannot be loaded: the doctor names them."""
    for name in plugin_names("programs"):
        if name not in PROGRAM_NAMES:
            from sapwood.core.errors import PluginError  # not before: hooks pay for every import

            try:
                yield program(name)
            except (LookupError, PluginError):
                continue


def runs_turns(name: str) -> bool:
    """Whether this names a program that can run turns, so that its sessions can be changed too."""
    return name in PROGRAM_NAMES and program(name).runs_turns


def program_title(name: str) -> str:
    """The title of a program for people; an unknown name is its own title."""
    if name in PROGRAM_NAMES:
        return program(name).title
    return next((each.title for each in _plugin_programs() if each.name == name), name)


def program_of_transcript(path: str) -> str:
    """The program that gives its transcripts such a name; empty if none does.

    >>> program_of_transcript("/srv/rollout-2026-11-15T20-34-54-01a1e0eb.jsonl")
    'codex'
    """
    name = path.replace("\\", "/").rpartition("/")[2]
    found = (each for each in in_question_order() if re.fullmatch(each.transcript_names, name))
    return next((each.name for each in found), "")


def in_question_order() -> Iterator[Program]:
    """All programs; those whose transcripts may look like those of others come last."""
    yield from sorted(map(program, PROGRAM_NAMES), key=lambda each: each.asked_last)


def resume_command_for(name: str, session: str) -> str:
    """The command that resumes a session in its own program; empty if there is none.

    >>> resume_command_for("codex", "01a1dc49")
    'codex resume 01a1dc49'
    >>> resume_command_for("claude-code", "--dangerously-skip-permissions")
    ''
    """
    return program(name).resume_command(session) if name in PROGRAM_NAMES else ""


class ProgramExecutor(NamedTuple):
    """A program that runs turns, and the model that it should use; empty for its own choice."""

    program: str
    model: str = ""

    @property
    def title(self) -> str:
        """The name of the program for people."""
        return program(self.program).title


def program_executor(name: str) -> ProgramExecutor | None:
    """The program that a model name means; None if it means a model.

    >>> program_executor("codex:gpt-5-codex")
    ProgramExecutor(program='codex', model='gpt-5-codex')
    >>> program_executor("claude-opus-5-5") is None
    True
    """
    head, _, model = name.strip().partition(":")
    return ProgramExecutor(head, model.strip()) if runs_turns(head) else None
