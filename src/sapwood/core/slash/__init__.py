"""Slash commands: the registry, the parser of submissions, and what each typed command asks."""

from sapwood.core.slash.interpret import Fresh, interpret, kept_turns, names_agent
from sapwood.core.slash.registry import BY_NAME, COMMANDS, SlashCommand, for_models, names
from sapwood.core.slash.script import Run, Say, Script, Step, parse

__all__ = [
    "BY_NAME",
    "COMMANDS",
    "Fresh",
    "Run",
    "Say",
    "Script",
    "SlashCommand",
    "Step",
    "for_models",
    "interpret",
    "kept_turns",
    "names",
    "names_agent",
    "parse",
]
